"""Makes a record of a machine, from a checkout: python -m benchmarks.record --out FOLDER"""

import sys

import tyro

from azjax.errors import UserError
from benchmarks.record.record import RecordBenchmark


def main() -> int:
    """Makes the record, and returns the exit code."""
    try:
        tyro.cli(RecordBenchmark).run()
    except UserError as error:
        print(f"record: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
