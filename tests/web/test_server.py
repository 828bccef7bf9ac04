"""The local server: what it answers, and what it refuses."""

import dataclasses
import http.client
import json
import queue
import socket
import threading
import time
import urllib.request
import webbrowser

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs.game import legal_actions

from azjax.errors import UserError
from azjax.search.anytime import make_thinker
from azjax.web import api as thinking
from azjax.web import server
from tests.web.sites import listening, untrained

uvicorn = pytest.importorskip("uvicorn")
testclient = pytest.importorskip("starlette.testclient")

BIG = '{"moves": [' + "0, " * 40_000 + "0]}"


@pytest.fixture(scope="module")
def client():
    app = server.make_app(make_thinker(untrained("tic_tac_toe")), about="a test")
    return testclient.TestClient(app, base_url="http://127.0.0.1")


def test_the_page_carries_all_that_it_needs(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "<title>Tic tac toe</title>" in page.text
    assert 'data-action="8"' in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for script in ("import ", "export "):
        assert f"\n{script}" not in page.text


def test_positions_are_those_of_the_game(client):
    game, moves = untrained("tic_tac_toe").game, []
    state = game.init()
    for action in (4, 0, 2, 6, 3, 5, 1, 7, 8):
        answer = client.post("/api/look", json={"moves": moves}).json()
        assert answer["player"] == int(game.current_player(state))
        assert answer["view"] == np.asarray(game.view(state)).tolist()
        assert [m["action"] for m in answer["moves"]] == legal_actions(game, state)
        assert [m["name"] for m in answer["moves"]] == [
            game.action_to_string(state, a) for a in legal_actions(game, state)
        ]
        assert not answer["over"]
        state, moves = game.step(state, action), [*moves, action]
    answer = client.post("/api/look", json={"moves": moves}).json()
    assert answer["over"]
    assert answer["returns"] == np.asarray(game.returns(state)).tolist()
    assert answer["moves"] == []


def test_a_search_finds_the_winning_move_and_says_what_it_expects(client):
    player = untrained("tic_tac_toe")
    # The second player has a2 and b2 and is to move.
    moves, state = [0, 3, 8, 4, 7], player.game.init()
    for action in moves:
        state = player.game.step(state, action)
    response = client.post("/api/think", json={"moves": moves, "simulations": 32})
    answer = json.loads(response.text.splitlines()[-1])
    player = dataclasses.replace(
        player,
        config=dataclasses.replace(player.config, num_simulations=32, algorithm="puct"),
    )
    analysis = jax.jit(player.analyse)(
        jax.random.PRNGKey(0), jax.tree.map(lambda x: jnp.asarray(x)[None], state)
    )
    assert answer["action"] == analysis.action[0] == 5
    assert answer["value"] == pytest.approx(-1)  # player 0's
    visits = dict(answer["visits"])
    assert [visits.get(action, 0) for action in range(9)] == analysis.visits[0].tolist()
    assert answer["line"] == ["c2"]


def test_a_long_search_reports_on_the_way(client, monkeypatch):
    monkeypatch.setattr(thinking, "_REPORT_S", 0.0)
    response = client.post("/api/think", json={"moves": [4], "simulations": 512})
    assert response.headers["content-type"].startswith("application/x-ndjson")
    reports = [json.loads(line) for line in response.text.splitlines()]
    counts = [report["simulations"] for report in reports]
    assert counts == sorted(set(counts))
    assert counts[-1] == 512
    assert len(counts) > 2
    for report in reports:
        assert set(report) == {"action", "visits", "value", "line", "simulations", "ms"}
        assert sum(count for _, count in report["visits"]) == report["simulations"]


def test_a_page_that_goes_away_stops_its_search(monkeypatch):
    searching, stopped = threading.Event(), threading.Event()

    def endless(*_):
        try:
            while not stopped.is_set():
                searching.set()
                time.sleep(0.01)
                yield {"simulations": 1}
        finally:
            stopped.set()

    monkeypatch.setattr(server, "think", endless)
    app = server.make_app(make_thinker(untrained("tic_tac_toe")), about="")
    with listening(app) as port:
        page = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        question = json.dumps({"moves": [], "simulations": 512})
        page.request("POST", "/api/think", question, {"content-type": "application/json"})
        answer = page.getresponse()
        assert json.loads(answer.readline()) == {"simulations": 1}
        assert searching.is_set()
        assert not stopped.is_set()
        answer.close()
        page.close()
        gone = stopped.wait(60)
        stopped.set()  # or nothing would end it
        assert gone
        # The next question is answered.
        page = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        page.request("POST", "/api/look", '{"moves": []}', {"content-type": "application/json"})
        assert page.getresponse().status == 200
        page.close()


def test_a_browser_in_the_terminal_is_answered_before_it_is_quit(monkeypatch):
    servers, seen, quit_browser = [], queue.SimpleQueue(), threading.Event()

    class Kept(uvicorn.Server):
        def __init__(self, config):
            super().__init__(config)
            servers.append(self)

    def browse(address):
        with urllib.request.urlopen(address, timeout=30) as page:
            seen.put(page.status)
        servers[0].should_exit = True
        quit_browser.wait()

    monkeypatch.setattr(uvicorn, "Server", Kept)
    monkeypatch.setattr(webbrowser, "open", browse)
    server.serve(untrained("tic_tac_toe"), about="", port=None, browser=True)
    quit_browser.set()
    assert seen.get_nowait() == 200


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("", 400, "is JSON"),
        ("{", 400, "is JSON"),
        ("[" * 30_000, 400, "is JSON"),
        ("[]", 400, "an object"),
        ("{}", 400, "wanted: moves"),
        ('{"moves": [], "more": 1}', 400, "wanted: moves"),
        ('{"moves": "0"}', 400, "list of actions"),
        ('{"moves": [true]}', 400, "list of actions"),
        ('{"moves": [1.0]}', 400, "list of actions"),
        ('{"moves": [-1]}', 400, "from 0 to 8"),
        ('{"moves": [9]}', 400, "from 0 to 8"),
        ('{"moves": [99999999999999999999]}', 400, "from 0 to 8"),
        ('{"moves": [4, 4]}', 400, "move 2, action 4, is not legal"),
        ('{"moves": [0, 3, 1, 4, 2, 5]}', 400, "move 6, action 5, is not legal"),
        (json.dumps({"moves": [0] * 10}), 400, "at most 9 moves"),
        (BIG, 413, "at most 65536 bytes"),
    ],
)
def test_malformed_questions_are_refused_in_one_line(client, body, status, words):
    headers = {"content-type": "application/json"}
    answer = client.post("/api/look", content=body, headers=headers)
    assert answer.status_code == status
    assert words in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_only_offered_strengths_are_searched(client):
    for simulations in (10**9, 0, "8", True, None):
        question = {"moves": [], "simulations": simulations}
        answer = client.post("/api/think", json=question)
        assert answer.status_code == 400
        assert "one of 1, 8, 32, 128, 512" in answer.json()["error"]
    over = {"moves": [0, 3, 1, 4, 2], "simulations": 8}
    assert "the game is over" in client.post("/api/think", json=over).json()["error"]


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api/../README.md", "/x"],
)
def test_there_are_no_files_to_reach(client, path):
    assert client.get(path).status_code == 404


def test_questions_of_other_sites_are_refused(client):
    assert client.get("/api/look").status_code == 405
    assert client.post("/api/look", content='{"moves": []}').status_code == 415
    plain = {"content-type": "text/plain"}
    answer = client.post("/api/look", content='{"moves": []}', headers=plain)
    assert answer.status_code == 415
    assert client.get("/", headers={"host": "elsewhere.example"}).status_code == 400


def test_a_taken_port_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"--port {port}: .*another port"):
            server._listen(port)
    with pytest.raises(UserError, match="from 1 to 65535"):
        server._listen(70_000)
    with server._listen(None) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
