"""The local server of `azjax play RUN --web`: the page, and its search in JAX.

The server keeps no games: the page sends all moves of a game with every request.
"""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import jax
from azjax_envs import Game

from azjax.chance import most_entries
from azjax.engine.anytime import AnytimeSearch, make_anytime_search
from azjax.errors import UserError
from azjax.files.game_record import start_game
from azjax.players.exact import ExactChancePlayer, ExactPlayer, ExactTablePlayer
from azjax.players.network_players import SearchPlayer
from azjax.web.api import (
    IllegalMove,
    describe_position,
    num_entries,
    search_position,
)
from azjax.web.exact_api import PerfectPlay, describe_perfect_play
from azjax.web.page import render_page
from azjax.web.page_data import describe_game, title_of

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send
    from uvicorn import Config

    Answer = Callable[[dict[str, Any]], Awaitable[Response]]

HOST, PORT = "127.0.0.1", 8765
_MAX_BYTES = 1 << 16  # of a request, and of its head
_MAX_CONNECTIONS = 256
_MAX_SEARCHES = 8  # at the same time; they take turns
_MAX_START = 200  # letters of a position
_REQUEST_S = 10.0  # for the body of a request, and for the next one on an open connection
_RETRY_S = 2  # after which a page asks again
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class _BadRequest(Exception):
    """A request that is not valid, with the HTTP status of the answer."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


def serve(
    player: SearchPlayer | ExactPlayer | ExactChancePlayer | ExactTablePlayer,
    *,
    about: str,
    port: int | None,
    browser: bool,
    announce: Callable[[str], None] = lambda text: None,
) -> None:
    """Serves the page until Ctrl-C.

    Args:
      about: a text about the player, folded under the page's heading.
      port: a port of 127.0.0.1; None for PORT or, if it is taken, any free port.
      announce: called with a line before the search is compiled, and when the server is ready.

    Raises:
      UserError: packages are missing, or the port is taken.
    """
    if isinstance(player, SearchPlayer):
        search = make_anytime_search(player)
    else:
        search = PerfectPlay(player)
    app = make_app(search, about=about)
    import uvicorn

    listener = _listen(port)
    address = f"http://{HOST}:{listener.getsockname()[1]}/"
    announce(f"{player.game.name}: preparing {player.name} ...")
    with ThreadPoolExecutor(1) as another:  # XLA compiles on a second core
        described = another.submit(describe_position, search, [])
        if isinstance(search, AnytimeSearch):
            rolled = start_game(search.game).roll_by(jax.random.key(0))
            search.warm_up(rolled.current.state)
        found = described.result()
    rolls = [roll["action"] for roll in found["rolls"] or ()][:1]
    list(search_position(search, rolls, 1))
    announce(f"play at {address} (Ctrl-C to stop)")
    if browser:
        # The listener queues the browser's request until the server runs. In a thread, because a
        # text browser in the terminal returns only when it is closed.
        threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
    uvicorn.Server(make_config(app)).run(sockets=[listener])


def make_config(app: Starlette) -> Config:
    """Returns the settings of the server, with its limits of connections and of time."""
    import uvicorn

    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        log_level="error",
        access_log=False,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=int(_REQUEST_S),
        h11_max_incomplete_event_size=_MAX_BYTES,
    )


def make_app(search: AnytimeSearch | PerfectPlay, *, about: str) -> Starlette:
    """Returns the ASGI application: `/`, `/api/position` and `/api/search`, and nothing else."""
    try:
        import uvicorn  # noqa: F401  (so that it is missed here, not later)
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.requests import ClientDisconnect
        from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
        from starlette.routing import Route
    except ImportError as error:
        raise UserError(f'{error}: --web needs pip install "azjax[serve]"') from error
    if isinstance(search, PerfectPlay):
        description = describe_game(search.game, 1) | describe_perfect_play()
    else:
        description = describe_game(search.game, search.num_simulations)
    allowed = [level["simulations"] for level in description["levels"]]
    page = render_page(
        search.game, title=title_of(search.game), about=about, setup={"game": description}, files={}
    )
    one_at_a_time, free = asyncio.Lock(), asyncio.Semaphore(_MAX_SEARCHES)

    async def in_turn(work: Callable[..., Any], *arguments: Any) -> Any:
        async with one_at_a_time:
            return await run_in_threadpool(work, *arguments)

    async def send_page(request: Request) -> Response:
        return HTMLResponse(page, headers=_HEADERS)

    def endpoint_of(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        """Returns an endpoint that answers valid requests by `answer` and others by an error."""

        async def endpoint(request: Request) -> Response:
            try:
                _check_origin(request)
                return await answer(_read_json(request, await _body(request)))
            except _BadRequest as error:
                retry = {"Retry-After": str(_RETRY_S)} if error.status == 503 else {}
                return JSONResponse({"error": str(error)}, error.status, headers=_HEADERS | retry)
            except IllegalMove as error:
                return JSONResponse({"error": str(error)}, 400, headers=_HEADERS)
            except ClientDisconnect:
                return Response(status_code=400)  # which nobody reads

        return endpoint

    async def send_position(body: dict[str, Any]) -> Response:
        moves, start = _read_game(search.game, body, "moves")
        found = await in_turn(describe_position, search, moves, start)
        return JSONResponse(found, headers=_HEADERS)

    async def send_search(body: dict[str, Any]) -> Response:
        moves, start = _read_game(search.game, body, "moves", "simulations")
        simulations = body["simulations"]
        if type(simulations) is not int or simulations not in allowed:
            listed = ", ".join(map(str, allowed))
            raise _BadRequest(400, f"simulations must be one of {listed}, not {simulations!r:.40}")
        if free.locked():
            raise _BadRequest(503, f"{_MAX_SEARCHES} other searches are running; try again soon.")
        await free.acquire()
        reports = search_position(search, moves, simulations, start)

        def finish() -> None:
            reports.close()
            free.release()

        try:
            first = await in_turn(next, reports)
        except BaseException:
            finish()
            raise

        async def lines() -> AsyncIterator[str]:
            report = first
            while report is not None:
                yield json.dumps(report) + "\n"
                report = await in_turn(next, reports, None)

        class SearchResponse(StreamingResponse):
            async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
                # When the page closes the connection, the search stops.
                try:
                    await super().__call__(scope, receive, send)
                finally:
                    finish()

        return SearchResponse(lines(), media_type="application/x-ndjson", headers=_HEADERS)

    return Starlette(
        routes=[
            Route("/", send_page),
            Route("/api/position", endpoint_of(send_position), methods=["POST"]),
            Route("/api/search", endpoint_of(send_search), methods=["POST"]),
        ],
        # Rejects pages of another site whose name was made to point here (DNS rebinding).
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
    )


def _check_origin(request: Request) -> None:
    # Browsers name the page that sends a request; other programs send no origin.
    own = f"http://{request.headers['host']}"
    if request.headers.get("origin", own) != own:
        raise _BadRequest(403, "a request must come from this server's own page")


async def _body(request: Request) -> bytes:
    body = b""
    try:
        async with asyncio.timeout(_REQUEST_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > _MAX_BYTES:
                    raise _BadRequest(413, f"a request must have at most {_MAX_BYTES} bytes")
    except TimeoutError:
        raise _BadRequest(408, f"a request must arrive within {_REQUEST_S:g} seconds") from None
    return body


def _read_json(request: Request, body: bytes) -> dict[str, Any]:
    # Pages of other sites cannot send this type without a preflight request, which fails here.
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise _BadRequest(415, "a request must have the type application/json")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _BadRequest(400, "a request must be JSON") from error
    if not isinstance(value, dict):
        raise _BadRequest(400, 'a request must be an object: {"moves": [...]}')
    return value


def _read_game(game: Game, body: dict[str, Any], *keys: str) -> tuple[list[int], str]:
    """Returns the moves of a request, and the position before them as text, "" if left out."""
    start = body.pop("start", "")
    if not isinstance(start, str) or len(start) > _MAX_START:
        raise _BadRequest(400, f"start must be a text of at most {_MAX_START} letters")
    if set(body) != set(keys):
        raise _BadRequest(400, f"the keys must be {' and '.join(keys)}")
    moves = body["moves"]
    if not isinstance(moves, list) or not all(type(move) is int for move in moves):
        raise _BadRequest(400, "moves must be a list of actions")
    most, count = most_entries(game), num_entries(game)
    if len(moves) > most:
        raise _BadRequest(400, f"a game has at most {most} moves, not {len(moves)}")
    if not all(0 <= move < count for move in moves):
        raise _BadRequest(400, f"actions must be from 0 to {count - 1}")
    return moves, start


def _listen(port: int | None) -> socket.socket:
    if port is not None and not 1 <= port <= 65535:
        raise UserError(f"--port {port}: must be from 1 to 65535")
    bind = functools.partial(socket.create_server, backlog=64)
    try:
        return bind((HOST, PORT if port is None else port))
    except OSError as error:
        if port is not None:
            reason = error.strerror or error
            raise UserError(f"--port {port}: {reason}; choose another port") from error
        return bind((HOST, 0))
