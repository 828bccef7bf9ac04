"""The local server under clients that are slow, many, or gone."""

import contextlib
import http.client
import json
import socket
import struct
import threading
import time

import pytest

from azjax.engine.anytime import make_anytime_search
from azjax.web import server
from tests.web.sites import listening, untrained

pytest.importorskip("uvicorn")

TIMEOUT_S = 60
PAGE = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def post(path, body, length=None):
    """Returns the bytes of a request; `length` may announce more than `body` has."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body) if length is None else length}\r\n\r\n{body}".encode()


SEARCH = post("/api/search", '{"moves": [], "simulations": 8}')
POSITION = post("/api/position", '{"moves": []}')


@pytest.fixture
def port():
    app = server.make_app(make_anytime_search(untrained("tic_tac_toe")), about="a test")
    with listening(app) as port:
        yield port


@contextlib.contextmanager
def connect(port, data=b""):
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as client:
        client.sendall(data)
        yield client


def answer(client):
    """Returns the status and the body of an answer."""
    with http.client.HTTPResponse(client) as found:
        found.begin()
        return found.status, found.read()


def wait_for_a_search(port):
    """Asks for a search until it is answered."""
    deadline, status = time.monotonic() + TIMEOUT_S, 503
    while status == 503:
        assert time.monotonic() < deadline
        with connect(port, SEARCH) as client:
            status = int(client.recv(12)[-3:])
    assert status == 200


@pytest.fixture
def endless(monkeypatch):
    """Replaces searches by ones that end only with the test."""
    ended = threading.Event()

    def search(*_):
        while not ended.is_set():
            time.sleep(0.01)
            yield {"simulations": 1}

    monkeypatch.setattr(server, "search_position", search)
    yield
    ended.set()


@pytest.mark.parametrize("reset", [True, False])
def test_a_client_that_goes_away_prints_nothing(port, capfd, reset):
    search = post("/api/search", '{"moves": [], "simulations": 512}')
    requests = [(PAGE, 0), (POSITION, 0), (POSITION[:-3], 0.05), *[(search, 0.01)] * 10]
    for data, pause in requests:
        with connect(port, data) as client:
            time.sleep(pause)
            if reset:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_for_a_search(port)
    assert capfd.readouterr() == ("", "")


def test_a_body_that_never_comes_is_not_waited_for(port, monkeypatch):
    monkeypatch.setattr(server, "_REQUEST_S", 0.3)
    with connect(port, POSITION[:-3]) as client:
        status, body = answer(client)
    assert status == 408
    assert "within 0.3 seconds" in json.loads(body)["error"]


def test_a_connection_without_a_next_request_is_closed(monkeypatch):
    monkeypatch.setattr(server, "_REQUEST_S", 1)
    app = server.make_app(make_anytime_search(untrained("tic_tac_toe")), about="a test")
    with listening(app) as port, connect(port, PAGE) as client:
        assert answer(client)[0] == 200
        assert client.recv(1) == b""


def test_a_connection_too_many_is_refused(monkeypatch):
    monkeypatch.setattr(server, "_MAX_CONNECTIONS", 2)
    app = server.make_app(make_anytime_search(untrained("tic_tac_toe")), about="a test")
    with listening(app) as port, connect(port), connect(port, PAGE) as client:
        assert answer(client)[0] == 503


def test_searches_beyond_the_limit_are_asked_to_come_again(port, endless):
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(connect(port, SEARCH)) for _ in range(8)]
        for client in running:
            assert client.recv(12) == b"HTTP/1.1 200"
        with connect(port, SEARCH) as ninth, http.client.HTTPResponse(ninth) as found:
            found.begin()
            assert found.status == 503
            assert found.getheader("retry-after") == "2"
            assert json.loads(found.read()) == {
                "error": "8 other searches are running; try again soon."
            }
        with connect(port, POSITION) as client:
            assert answer(client)[0] == 200
        running[0].close()  # its place is free again
        wait_for_a_search(port)
