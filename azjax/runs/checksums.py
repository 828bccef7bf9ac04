"""Checksums of a checkpoint's files, so that damaged values are never loaded.

OCDBT has checksums of its index, but none of the arrays' data: of 150 bits flipped at random in a
checkpoint, 8 gave other values without any error (benchmarks/soak/flips.py).
"""

import hashlib
import json
from pathlib import Path

CHECKSUMS_FILE = "checksums.json"


def write_checksums(folder: Path) -> None:
    """Writes the checksums of the files in the items of a checkpoint, its subfolders."""
    files = [file for file in sorted(folder.glob("*/**/*")) if file.is_file()]
    found = {file.relative_to(folder).as_posix(): _checksum(file) for file in files}
    (folder / CHECKSUMS_FILE).write_text(json.dumps(found, indent=1, sort_keys=True))


def find_damage(folder: Path, *items: str) -> str | None:
    """Says what is wrong with the files of some items of a checkpoint; None if nothing is."""
    try:
        recorded = dict(json.loads((folder / CHECKSUMS_FILE).read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return f"{CHECKSUMS_FILE} is missing or damaged"
    for item in items:
        known = [name for name in recorded if name.startswith(f"{item}/")]
        for name in known:
            try:
                intact = _checksum(folder / name) == recorded[name]
            except OSError:
                return f"{name} is missing or cannot be read"
            if not intact:
                return f"{name} is not as it was written"
        if not known:
            return f"the part {item} is missing"
    return None


def _checksum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
