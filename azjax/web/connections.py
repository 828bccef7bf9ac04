"""Connections of the local server: how many may be open, and how long a client may take."""

import asyncio
import itertools
import json
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 256
REQUEST_S = 10.0  # for the head of a request, and for a client that stops reading its answer

_order = itertools.count()  # a clock would give the same time to several connections
_REFUSAL = json.dumps({"error": "The server has too many open connections."}).encode()
_REFUSED = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 2\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(_REFUSAL), _REFUSAL)
)


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 that closes connections of idle and of slow clients.

    When MAX_CONNECTIONS are open, a new connection replaces the one that has been without a request
    for the longest time. If all of them have a request, the new connection is refused.
    """

    _idle_since: int | None = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            mine = [it for it in self.connections if isinstance(it, LimitedProtocol)]
            idle = {it._idle_since: it for it in mine if it._idle_since is not None}
            if not idle:
                self.connections.discard(self)
                transport.write(_REFUSED)
                transport.close()
                return
            oldest = idle[min(idle)]
            self.connections.discard(oldest)
            oldest.transport.abort()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop()
        self._timer = self.loop.call_later(REQUEST_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop()
        self._watch()

    def _watch(self) -> None:
        """Starts the clock while a request is due, and stops it while one is answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            if self._idle_since is not None:
                self._stop()
        elif self._idle_since is None and not self.transport.is_closing():
            self._stop()
            self._idle_since = next(_order)
            self._timer = self.loop.call_later(REQUEST_S, self.transport.abort)

    def _stop(self) -> None:
        self._idle_since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
