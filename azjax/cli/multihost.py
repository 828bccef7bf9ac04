"""What a process does when another process of its run is lost: it says which, and ends."""

import contextlib
import re
import threading
import time
from collections.abc import Iterator

import jax
from jax.experimental import multihost_utils

from azjax.cli.exit import end_saying
from azjax.errors import UserError
from azjax.runs.checkpoint import SaveError

_ASK_EVERY_S = 1.0
_LAST_S = 2.0  # in which the others leave; JAX aborts them when process 0 is gone
# What messages between processes raise when one of them is gone.
_LOST_PROCESS = re.compile(r"Gloo|NCCL|Connection (closed|reset)|[Hh]eartbeat|UNAVAILABLE|Socket")


@contextlib.contextmanager
def lost_peers_named(heartbeat_timeout: float) -> Iterator[None]:
    """Ends this process with one line and exit code 2 if another process of the run is lost.

    That is one which is silent for `heartbeat_timeout` seconds. Does nothing if there is only this
    process. If process 0 is lost, which leads the others, JAX itself says so and aborts them.
    """
    if jax.process_count() == 1:
        yield
        return
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(ended,), daemon=True)
    watch.start()
    try:
        yield
        multihost_utils.sync_global_devices("azjax: all processes have ended the run")
    except (RuntimeError, ValueError) as error:
        # Processes write checkpoints together, so a loss can show as one that was not written.
        own = isinstance(error, UserError) and not isinstance(error, SaveError)
        if not own and _LOST_PROCESS.search(str(error)):
            watch.join(2 * heartbeat_timeout)  # it ends this process when it knows which was lost
        raise
    finally:
        ended.set()
        if jax.process_index() == 0:
            time.sleep(_LAST_S)
        else:
            jax.distributed.shutdown()


def _watch(ended: threading.Event) -> None:
    everyone, lost = set(range(jax.process_count())), list[int]()
    while not lost and not ended.wait(_ASK_EVERY_S):
        # The context raises if it loses a process, and the next one tells which.
        with contextlib.suppress(Exception), multihost_utils.live_devices(jax.devices()) as live:
            lost = sorted(everyone - {device.process_index for device in live})
    if ended.wait(_ASK_EVERY_S):
        return
    if jax.process_index() == 0:
        time.sleep(_LAST_S)
    end_saying(
        f"azjax: process{'es' * (len(lost) > 1)} {', '.join(map(str, lost))} of the run stopped, "
        "so this one stops, too; look at that one's messages, and start all of them again with "
        "azjax resume",
        2,
    )
