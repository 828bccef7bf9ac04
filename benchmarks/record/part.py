"""Runs one part of a record: python -m benchmarks.record.part SETTINGS FILE PART [NAME]"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.record.parts import KINDS, Settings, one_line


def main() -> int:
    """Runs the part and keeps its figures in the file, from the first one on."""
    settings, file, kind, *names = sys.argv[1:]
    started = time.monotonic()
    figures: dict[str, Any] = {"part": " ".join((kind, *names))}

    def say(**found: Any) -> None:
        figures.update(found | {"seconds": round(time.monotonic() - started, 1)})
        written = Path(f"{file}.new")
        written.write_text(json.dumps(figures, indent=1))
        os.replace(written, file)

    try:
        KINDS[kind](Settings(**json.loads(settings)), say, *names)
    except Exception as error:
        print(one_line(error), file=sys.stderr)
        say(problem=one_line(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
