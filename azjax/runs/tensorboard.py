"""The file of a run that TensorBoard reads."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.record_writer import RecordWriter

from azjax.runs.loggers import Value, tagged

_FLUSH_EVERY_S = 10.0


class TensorBoardFile:
    """Scalars for TensorBoard. They are secondary: without space, they end with one warning.

    tensorboardX's own writers leave the file open when the disk is full, or have a thread that dies
    with a traceback, after which the run waits for it.

    Args:
      folder: the folder, which is made if need be.
      first_step: of a resumed run, to hide the first version of the steps that it repeats; None
        for a new run.
      warn: called with a line when nothing can be written any more.
    """

    def __init__(self, folder: Path, *, first_step: int | None, warn: Callable[[str], None]):
        self._folder, self._warn = folder, warn
        self._writer: RecordWriter | None = None
        self._flushed = time.monotonic()
        with self._ending_without_space():
            folder.mkdir(parents=True, exist_ok=True)
            name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}"
            self._writer = RecordWriter(str(folder / name))
        self._write(Event(wall_time=time.time(), file_version="brain.Event:2"))
        if first_step is not None:
            self._write(Event(step=first_step, session_log=SessionLog(status=SessionLog.START)))

    def write(self, kind: str, cycle: int, scalars: Mapping[str, Value]) -> None:
        """Adds numbers; they are on disk some seconds later, or after `close`."""
        # One event for all takes half the time of one for each.
        values = [Summary.Value(tag=k, simple_value=v) for k, v in tagged(kind, scalars).items()]
        if values and kind != "start":
            self._write(Event(wall_time=time.time(), step=cycle, summary=Summary(value=values)))

    def close(self) -> None:
        """Writes what is left."""
        with self._ending_without_space():
            if self._writer is not None:
                self._writer.flush()
                self._writer.close()
        self._writer = None

    def _write(self, event: Event) -> None:
        with self._ending_without_space():
            if self._writer is not None:
                self._writer.write(event.SerializeToString())
                if time.monotonic() - self._flushed >= _FLUSH_EVERY_S:
                    self._flushed = time.monotonic()
                    self._writer.flush()

    @contextlib.contextmanager
    def _ending_without_space(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            writer, self._writer = self._writer, None
            if writer is not None:
                with contextlib.suppress(OSError):
                    writer.close()
            reason = error.strerror or error
            self._warn(f"{self._folder}: {reason}; the run goes on without TensorBoard")
