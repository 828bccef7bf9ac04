"""The process of one part of a record."""

import os
import signal
import subprocess
from pathlib import Path

from azjax.devices.cgroups import usable_memory
from benchmarks.record.parts import READY, one_line

_MEMORY = 4 * 2**30  # bytes of the host, of a part that waits


class Process:
    """The process of a part."""

    def __init__(self, words: list[str], environment: dict[str, str], log: Path, turn: str) -> None:
        self._log, self._turn = log, turn
        with open(log, "w") as output:
            self._process = subprocess.Popen(
                words, stdout=output, stderr=output, env=environment, start_new_session=True
            )

    @property
    def waits(self) -> bool:
        """Whether it has compiled, or has ended."""
        return self._process.poll() is not None or os.path.exists(self._turn + READY)

    @property
    def ended(self) -> bool:
        """Whether it has ended well."""
        return self._process.poll() == 0

    @property
    def failed(self) -> bool:
        """Whether it has ended with an error."""
        return bool(self._process.poll())

    def pause(self) -> None:
        """Lets it wait, while it compiles, until its turn."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Lets it go on; it is measured once it has compiled."""
        if self._turn and self._process.poll() is None:
            Path(self._turn).touch()
            os.killpg(self._process.pid, signal.SIGCONT)

    def join(self, seconds: float) -> str | None:
        """Waits for the end, for some seconds at most, and returns its problem in one line."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return "stopped at its time limit"
        lines = [x for x in self._log.read_text(errors="replace").splitlines() if x.strip()]
        return f"ended with code {code}: {one_line(lines[-1] if lines else '')}" if code else None

    def stop(self) -> None:
        """Ends it, with the processes that it has started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def most_at_once() -> int:
    """Returns how many parts the machine's memory holds at once, at least one."""
    return max(1, int((usable_memory() or 0) // _MEMORY))
