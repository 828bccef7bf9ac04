"""`azjax play RUN --web`: the page from a local server, with the search in JAX behind it.

The server keeps nothing of a game: a page sends all its moves with every question.
"""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from typing import Any

from azjax_envs import Game

from azjax.errors import UserError
from azjax.players.network_players import SearchPlayer
from azjax.search.anytime import Thinker, make_thinker
from azjax.web.api import IllegalMove, look, think
from azjax.web.page import render_page
from azjax.web.page_data import describe_game, title_of

HOST, PORT = "127.0.0.1", 8765
_MOST_BYTES = 1 << 16  # of a question
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
_HEADERS = {
    "Content-Security-Policy": _POLICY + "img-src data:; connect-src 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class _Refusal(Exception):
    """What is wrong with a question, with HTTP's code for it."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


def serve(player: SearchPlayer, *, about: str, port: int | None, browser: bool) -> None:
    """Serves the page until Ctrl-C.

    Args:
      player: plays and gives hints.
      about: a line under the page's heading.
      port: on 127.0.0.1; None for PORT, or any that is free.
      browser: open the page in a browser.

    Raises:
      UserError: packages are missing, or the port is taken.
    """
    thinker = make_thinker(player)
    app = make_app(thinker, about=about)
    import uvicorn

    listener = _listen(port)
    address = f"http://{HOST}:{listener.getsockname()[1]}/"
    print(f"{player.game.name}: preparing {player.name} ...", flush=True)
    look(thinker, [])
    list(think(thinker, [], 1))
    print(f"play at {address} (Ctrl-C to stop)", flush=True)
    if browser:
        # The listener queues its question. Beside the server, because a browser of the terminal
        # comes back only when it is quit.
        threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


def make_app(thinker: Thinker, *, about: str) -> Any:
    """The ASGI application: `/`, `/api/look` and `/api/think`, and nothing else.

    Raises:
      UserError: starlette and uvicorn are missing.
    """
    try:
        import uvicorn  # noqa: F401  (to miss it here rather than later)
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.requests import Request
        from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
        from starlette.routing import Route
    except ImportError as error:
        raise UserError(f'{error}: pip install "azjax[serve]" brings what --web needs') from error
    description = describe_game(thinker.game, thinker.config)
    allowed = [level["simulations"] for level in description["levels"]]
    page = render_page(
        thinker.game,
        title=title_of(thinker.game),
        about=about,
        setup={"game": description},
        files={},
    )
    one_at_a_time = threading.Lock()

    def locked(work: Callable[..., Any], *arguments: Any) -> Any:
        with one_at_a_time:
            return work(*arguments)

    async def send_page(request: Request) -> Response:
        return HTMLResponse(page, headers=_HEADERS)

    def refusing(answer: Callable[[dict[str, Any]], Any]) -> Callable:
        """An endpoint of `answer`, a coroutine from a question to a response."""

        async def endpoint(request: Request) -> Response:
            try:
                return await answer(_question(request, await _body(request)))
            except _Refusal as error:
                return JSONResponse({"error": str(error)}, error.status, headers=_HEADERS)
            except IllegalMove as error:
                return JSONResponse({"error": str(error)}, 400, headers=_HEADERS)

        return endpoint

    async def send_position(question: dict[str, Any]) -> Response:
        moves = _moves(thinker.game, question, "moves")
        found = await run_in_threadpool(locked, look, thinker, moves)
        return JSONResponse(found, headers=_HEADERS)

    async def send_search(question: dict[str, Any]) -> Response:
        moves = _moves(thinker.game, question, "moves", "simulations")
        simulations = question["simulations"]
        if type(simulations) is not int or simulations not in allowed:
            listed = ", ".join(map(str, allowed))
            raise _Refusal(400, f"simulations must be one of {listed}, not {simulations!r:.40}")
        reports = think(thinker, moves, simulations)
        first = await run_in_threadpool(locked, next, reports)

        async def lines() -> AsyncIterator[str]:
            # The page that closes the connection stops the search.
            report = first
            with contextlib.closing(reports):
                while report is not None:
                    yield json.dumps(report) + "\n"
                    report = await run_in_threadpool(locked, next, reports, None)

        return StreamingResponse(lines(), media_type="application/x-ndjson", headers=_HEADERS)

    return Starlette(
        routes=[
            Route("/", send_page),
            Route("/api/look", refusing(send_position), methods=["POST"]),
            Route("/api/think", refusing(send_search), methods=["POST"]),
        ],
        # A page of another site that made its name point here is refused.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
    )


async def _body(request: Any) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            raise _Refusal(413, f"a question has at most {_MOST_BYTES} bytes")
    return body


def _question(request: Any, body: bytes) -> dict[str, Any]:
    # Other sites' pages cannot send this type without asking first, which nothing here answers.
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise _Refusal(415, "a question is JSON, of the type application/json")
    try:
        question = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _Refusal(400, "a question is JSON; this is none") from error
    if not isinstance(question, dict):
        raise _Refusal(400, 'a question is an object: {"moves": [...]}')
    return question


def _moves(game: Game, question: dict[str, Any], *keys: str) -> list[int]:
    if set(question) != set(keys):
        raise _Refusal(400, f"wanted: {' and '.join(keys)}")
    moves = question["moves"]
    if not isinstance(moves, list) or not all(type(move) is int for move in moves):
        raise _Refusal(400, "moves must be a list of actions")
    if len(moves) > game.max_steps:
        raise _Refusal(400, f"a game has at most {game.max_steps} moves, not {len(moves)}")
    if not all(0 <= move < game.num_actions for move in moves):
        raise _Refusal(400, f"actions are from 0 to {game.num_actions - 1}")
    return moves


def _listen(port: int | None) -> socket.socket:
    if port is not None and not 1 <= port <= 65535:
        raise UserError(f"--port {port}: from 1 to 65535 is wanted")
    bind = functools.partial(socket.create_server, backlog=64)
    try:
        return bind((HOST, PORT if port is None else port))
    except OSError as error:
        if port is not None:
            reason = error.strerror or error
            raise UserError(f"--port {port}: {reason}; another port is wanted") from error
        return bind((HOST, 0))
