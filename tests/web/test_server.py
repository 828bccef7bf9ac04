"""The local server: its answers, and its errors."""

import http.client
import json
import queue
import socket
import threading
import time
import urllib.request
import webbrowser

import numpy as np
import pytest
from azjax_envs.game import legal_actions

from azjax.engine.anytime import make_anytime_search
from azjax.errors import UserError
from azjax.players.load import load_player
from azjax.web import api, server
from azjax.web.exact_api import PerfectPlay
from tests.web.sites import listening, untrained

uvicorn = pytest.importorskip("uvicorn")
testclient = pytest.importorskip("starlette.testclient")

BIG = '{"moves": [' + "0, " * 40_000 + "0]}"


@pytest.fixture(scope="module")
def client():
    app = server.make_app(make_anytime_search(untrained("tic_tac_toe")), about="a test")
    return testclient.TestClient(app, base_url="http://127.0.0.1")


def test_the_page_has_no_imports(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "<title>Tic tac toe</title>" in page.text
    assert 'data-action="8"' in page.text
    policy = page.headers["content-security-policy"].split("; ")
    for rule in ("default-src", "frame-ancestors", "form-action", "base-uri"):
        assert f"{rule} 'none'" in policy
    for script in ("import ", "export "):
        assert f"\n{script}" not in page.text


def test_positions_are_those_of_the_game(client):
    game, moves = untrained("tic_tac_toe").game, []
    state = game.init()
    for action in (4, 0, 2, 6, 3, 5, 1, 7, 8):
        answer = client.post("/api/position", json={"moves": moves}).json()
        assert answer["player"] == int(game.current_player(state))
        assert answer["view"] == np.asarray(game.view(state)).tolist()
        assert [m["action"] for m in answer["moves"]] == legal_actions(game, state)
        assert [m["name"] for m in answer["moves"]] == [
            game.action_to_string(state, a) for a in legal_actions(game, state)
        ]
        assert not answer["over"]
        state, moves = game.step(state, action), [*moves, action]
    answer = client.post("/api/position", json={"moves": moves}).json()
    assert answer["over"]
    assert answer["score"] is None
    assert answer["winning"] == []
    assert answer["returns"] == np.asarray(game.returns(state)).tolist()
    assert answer["moves"] == []


@pytest.mark.parametrize(
    ("game", "moves", "results"),
    [
        ("tic_tac_toe", [0, 1, 3], {"a3": "loss in 4 plies", "c3": "loss in 2 plies"}),
        ("tic_tac_toe", [0, 1, 3, 2], {"a3": "win in 1 ply", "b2": "win in 3 plies"}),
        ("dots_and_boxes_1x1", [], {"h-1-1": "loss"}),
    ],
)
def test_the_page_of_a_perfect_player_tells_the_results_of_moves(game, moves, results):
    player = load_player("exact", game=game)
    app = server.make_app(PerfectPlay(player), about="perfect")
    with testclient.TestClient(app, base_url="http://127.0.0.1") as client:
        assert "the perfect player" in client.get("/").text
        found = client.post("/api/position", json={"moves": moves}).json()
        answer = client.post("/api/search", json={"moves": moves, "simulations": 1}).json()
    assert len(answer["results"]) == len(found["moves"])
    assert results.items() <= dict(answer["results"]).items()
    best = answer["results"][0][1]
    chosen = next(m["name"] for m in found["moves"] if m["action"] == answer["action"])
    assert dict(answer["results"])[chosen] == best
    assert found["value"] == answer["value"]


def test_the_end_of_a_game_comes_with_its_line_or_its_points(client):
    answer = client.post("/api/position", json={"moves": [0, 3, 1, 4, 2]}).json()
    assert answer["winning"] == [0, 1, 2]
    search = make_anytime_search(untrained("dots_and_boxes_2x2"))
    answer = api.describe_position(search, range(search.game.num_actions))
    assert answer["over"]
    assert sum(answer["score"]) == 4
    assert answer["winning"] is None


def test_a_search_finds_the_winning_move(client):
    player = untrained("tic_tac_toe")
    # The second player has a2 and b2 and is to move.
    moves, state = [0, 3, 8, 4, 7], player.game.init()
    for action in moves:
        state = player.game.step(state, action)
    response = client.post("/api/search", json={"moves": moves, "simulations": 32})
    answer = json.loads(response.text.splitlines()[-1])
    analysis = make_anytime_search(player).start(state).run(32).analysis()
    assert answer["action"] == analysis.action == 5
    assert answer["value"] == pytest.approx(-1)  # from player 0's perspective
    visits = dict(answer["visits"])
    assert [visits.get(action, 0) for action in range(9)] == analysis.visits.tolist()
    assert answer["line"] == ["c2"]


def test_a_long_search_sends_reports(client, monkeypatch):
    monkeypatch.setattr(api, "_REPORT_S", 0.0)
    response = client.post("/api/search", json={"moves": [4], "simulations": 512})
    assert response.headers["content-type"].startswith("application/x-ndjson")
    reports = [json.loads(line) for line in response.text.splitlines()]
    counts = [report["simulations"] for report in reports]
    assert counts == sorted(set(counts))
    assert counts[-1] == 512
    assert len(counts) > 2
    for report in reports:
        assert set(report) == {"action", "visits", "value", "line", "simulations", "ms"}
        assert sum(count for _, count in report["visits"]) == report["simulations"]


def test_closing_the_page_stops_its_search(monkeypatch):
    searching, stopped = threading.Event(), threading.Event()

    def endless(*_):
        try:
            while not stopped.is_set():
                searching.set()
                time.sleep(0.01)
                yield {"simulations": 1}
        finally:
            stopped.set()

    monkeypatch.setattr(server, "search_position", endless)
    app = server.make_app(make_anytime_search(untrained("tic_tac_toe")), about="")
    with listening(app) as port:
        page = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = json.dumps({"moves": [], "simulations": 512})
        page.request("POST", "/api/search", body, {"content-type": "application/json"})
        answer = page.getresponse()
        assert json.loads(answer.readline()) == {"simulations": 1}
        assert searching.is_set()
        assert not stopped.is_set()
        answer.close()
        page.close()
        gone = stopped.wait(60)
        stopped.set()  # otherwise a failing test would never end
        assert gone
        # The next request is answered.
        page = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        page.request("POST", "/api/position", '{"moves": []}', {"content-type": "application/json"})
        assert page.getresponse().status == 200
        page.close()


def test_a_text_browser_is_answered_before_it_is_closed(monkeypatch):
    servers, statuses, closed = [], queue.SimpleQueue(), threading.Event()

    class RecordedServer(uvicorn.Server):
        def __init__(self, config):
            super().__init__(config)
            servers.append(self)

    def browse(address):
        with urllib.request.urlopen(address, timeout=30) as page:
            statuses.put(page.status)
        servers[0].should_exit = True
        closed.wait()

    monkeypatch.setattr(uvicorn, "Server", RecordedServer)
    monkeypatch.setattr(webbrowser, "open", browse)
    server.serve(untrained("tic_tac_toe"), about="", port=None, browser=True)
    closed.set()
    assert statuses.get_nowait() == 200


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("", 400, "must be JSON"),
        ("{", 400, "must be JSON"),
        ("[" * 30_000, 400, "must be JSON"),
        ("[]", 400, "must be an object"),
        ("{}", 400, "the keys must be moves"),
        ('{"moves": [], "more": 1}', 400, "the keys must be moves"),
        ('{"moves": [], "start": 1}', 400, "start must be a text"),
        (json.dumps({"moves": [], "start": 201 * "x"}), 400, "at most 200 letters"),
        ('{"moves": [], "start": "x"}', 400, "positions of tic_tac_toe have no text"),
        ('{"moves": "0"}', 400, "list of actions"),
        ('{"moves": [true]}', 400, "list of actions"),
        ('{"moves": [1.0]}', 400, "list of actions"),
        ('{"moves": [-1]}', 400, "must be from 0 to 8"),
        ('{"moves": [9]}', 400, "must be from 0 to 8"),
        ('{"moves": [99999999999999999999]}', 400, "must be from 0 to 8"),
        ('{"moves": [4, 4]}', 400, "move 2, action 4, is not legal"),
        ('{"moves": [0, 3, 1, 4, 2, 5]}', 400, "move 6, action 5, is not legal"),
        (json.dumps({"moves": [0] * 10}), 400, "at most 9 moves"),
        (BIG, 413, "at most 65536 bytes"),
    ],
)
def test_malformed_requests_get_one_line(client, body, status, words):
    headers = {"content-type": "application/json"}
    answer = client.post("/api/position", content=body, headers=headers)
    assert answer.status_code == status
    assert words in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_only_the_offered_strengths_are_allowed(client):
    for simulations in (10**9, 0, "8", True, None):
        body = {"moves": [], "simulations": simulations}
        answer = client.post("/api/search", json=body)
        assert answer.status_code == 400
        assert "one of 1, 8, 32, 128, 512" in answer.json()["error"]
    over = {"moves": [0, 3, 1, 4, 2], "simulations": 8}
    assert "the game is over" in client.post("/api/search", json=over).json()["error"]


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api/../README.md", "/x"],
)
def test_no_files_are_served(client, path):
    assert client.get(path).status_code == 404


def test_requests_of_other_sites_are_errors(client):
    assert client.get("/api/position").status_code == 405
    assert client.post("/api/position", content='{"moves": []}').status_code == 415
    plain = {"content-type": "text/plain"}
    answer = client.post("/api/position", content='{"moves": []}', headers=plain)
    assert answer.status_code == 415
    assert client.get("/", headers={"host": "elsewhere.example"}).status_code == 400
    for path in ("/api/position", "/api/search"):
        for origin in (
            "http://elsewhere.example",
            "null",
            "http://127.0.0.1:1",
            "https://127.0.0.1",
        ):
            body = {"moves": []} | ({"simulations": 8} if "search" in path else {})
            answer = client.post(path, json=body, headers={"origin": origin})
            assert answer.status_code == 403
            assert "this server's own page" in answer.json()["error"]
    own = {"origin": "http://127.0.0.1"}
    assert client.post("/api/position", json={"moves": []}, headers=own).status_code == 200


def test_errors_of_ports():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"--port {port}: .*another port"):
            server._listen(port)
    with pytest.raises(UserError, match="must be from 1 to 65535"):
        server._listen(70_000)
    with server._listen(None) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_a_position_in_text_is_the_start():
    search = make_anytime_search(untrained("gardner_chess"))
    start = "4k/5/5/P4/4K w - - 0 1"
    found = api.describe_position(search, [], start)
    assert {move["name"] for move in found["moves"]} == {"a2a3", "e1d1", "e1d2", "e1e2"}
    with pytest.raises(api.IllegalMove, match="rank 1 has 'X'"):
        api.describe_position(search, [], start.replace("K", "X"))
    [*_, last] = api.search_position(search, [], 4, start)
    assert last["simulations"] == 4
