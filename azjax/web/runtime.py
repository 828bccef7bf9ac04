"""ONNX Runtime Web, which runs models in a browser: two files of its npm package."""

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from azjax.errors import UserError

VERSION = "1.30.0"
SCRIPT = "ort.wasm.bundle.min.mjs"
WASM = "ort-wasm-simd-threaded.wasm"
_PACKAGE = f"onnxruntime-web@{VERSION}"
_TIMEOUT_S = 300


def runtime_files(directory: Path | None) -> dict[str, bytes]:
    """Returns the contents of SCRIPT and WASM in a folder, by name.

    Without a folder they come from the cache, into which npm fetches them once.
    """
    if directory is not None:
        missing = [name for name in (SCRIPT, WASM) if not (directory / name).is_file()]
        if missing:
            raise UserError(
                f"{directory}: no {' and '.join(missing)} there; it must be the folder dist of "
                f"npm's {_PACKAGE}"
            )
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        directory = cache / "azjax" / _PACKAGE.replace("@", "-")
        if not all((directory / name).is_file() for name in (SCRIPT, WASM)):
            _fetch(directory)
    return {name: (directory / name).read_bytes() for name in (SCRIPT, WASM)}


def _fetch(directory: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise UserError(
            f"npm is missing, which fetches {_PACKAGE} once; install npm, or pass the package's "
            "folder dist as --runtime DIR"
        )
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", _PACKAGE, "--silent", "--pack-destination", folder]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S
            )
        except subprocess.TimeoutExpired as error:
            raise UserError(f"npm pack {_PACKAGE}: no answer in {_TIMEOUT_S} s") from error
        archives = list(Path(folder).glob("*.tgz"))
        if done.returncode or not archives:
            reason = (done.stderr.strip().splitlines() or ["npm wrote nothing"])[-1]
            raise UserError(f"npm pack {_PACKAGE}: {reason}; or pass its folder as --runtime DIR")
        directory.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archives[0]) as archive:
            for name in (SCRIPT, WASM):
                content = archive.extractfile(f"package/dist/{name}")
                assert content is not None, name
                # Renamed when complete, so that the cache never holds a broken copy.
                partial = directory / f".{name}.{os.getpid()}"
                partial.write_bytes(content.read())
                partial.replace(directory / name)
