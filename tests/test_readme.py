"""The README's snippets run, its figures equal the records, and it is short."""

import json
import re
from pathlib import Path

import pytest

from azjax.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
README = (ROOT / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL))
GAMES = {
    "tic-tac-toe": "tic_tac_toe",
    "connect four": "connect_four",
    "dots and boxes": "dots_and_boxes",
    "Kalah": "mancala",
    "Gardner's chess": "gardner_chess",
    "go 9x9": "go_9x9",
}


@pytest.mark.parametrize("snippet", PYTHON, ids=lambda text: text.split("\n")[0])
def test_python_snippets_run(snippet, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})
    losses = [float(x) for x in re.findall(r"loss (\S+)", capsys.readouterr().out)]
    assert losses[0] > 2 > 1 > losses[-1] > 0, "it does not learn"


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("play runs/connect_four --web", "serve"),
        ("web RUN --out", "web"),
        ("report runs/connect_four", "exact"),
        ("plan connect_four", "plan-tpu"),
        ("plan connect_four", "plan-gpu"),
    ],
)
def test_what_needs_an_extra_says_so_beside_the_command(command, extra):
    assert any(command in line and f'".[{extra}]"' in line for line in SHELL.splitlines())


def test_commands_train_and_measure(tmp_path, monkeypatch, capsys):
    """Returns the README's commands, for a shortened run of another name."""
    monkeypatch.chdir(tmp_path)
    config = str(ROOT / "configs" / "tic_tac_toe.toml")
    run = str(tmp_path / "runs" / "short")
    small = ["--selfplay.parallel-games", "8", "--learning.batch-size", "8"]
    small += ["--replay.min-positions", "64", "--network.channels", "16"]
    small += ["--learning.updates-per-cycle", "1", "--search.num-simulations", "4"]
    small += ["--evaluation.every", "0", "--cycles", "3"]
    assert COMMANDS["train"]([config, "--run-dir", run, *small]) is None
    COMMANDS["eval"]([f"{run}:4", "--against", "random", "--games", "8"])
    COMMANDS["match"]([f"{run}:4", f"{run}:policy", "--games", "8"])
    COMMANDS["report"]([run, "--simulations", "4", "--games", "8", "--baselines", "random"])
    assert (tmp_path / "runs" / "short" / "report.json").is_file()
    assert "mistakes" in capsys.readouterr().out


def test_every_command_is_named():
    named = set(re.findall(r"\b[a-z]+\b", SHELL))
    assert set(COMMANDS) <= named
    targets = re.findall(r"^make (\w+)", SHELL, flags=re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets == ["train", "test"]
    assert all(f"\n{target}:" in makefile for target in targets)


def test_ci_runs_the_readme_test_command():
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_it_is_short():
    assert len(README.splitlines()) <= 130
    assert len(README.split()) <= 1000


def table(heading):
    """Returns the cells of the table below a heading, without its two head rows."""
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line[1:-1].split("|") for line in section.splitlines() if line.startswith("|")]
    return rows[2:]


def test_the_speeds_are_the_records():
    measured = {}
    for file in RESULTS.glob("side_by_side*.json"):
        measured |= {k: v for k, v in json.loads(file.read_text()).items() if isinstance(v, dict)}
    units = {"M": 1e6, "k": 1e3}
    for game, *cells in table("Games"):
        record = measured[GAMES.get(game, game)]
        for program, cell in zip(("azjax", "pgx", "OpenSpiel"), cells, strict=True):
            assert bool(cell) == (program in record), (game, program)
            if cell:
                number, unit = re.match(r"([\d.]+) ([Mk])", cell).groups()
                digits = len(number.partition(".")[2])
                rate = record[program]["steps a second"] / units[unit]
                assert f"{rate:.{digits}f}" == number, (game, program)


def mistakes(record, player, *, suites=slice(0, 1), report="report.json"):
    """Returns a player's mistakes and positions in some suites of a recorded report."""
    players = json.loads((RESULTS / record / report).read_text())["players"]
    (found,) = (entry for entry in players if entry["name"] == player)
    scores = found["scores"][suites]
    return sum(s["mistakes"] for s in scores), sum(s["positions"] for s in scores)


def test_the_results_are_the_records():
    results = {game: result for game, _, result in table("Results")}
    count, positions = mistakes("tic_tac_toe_2_cores", "search:32")
    assert results["tic-tac-toe"] == f"{count} mistakes in all {positions:,} positions"
    count, positions = mistakes("connect_four_2_cores", "search:64")
    uct, _ = mistakes("connect_four_2_cores", "uct:1000")
    larger = "connect_four_larger_fewer_resigned_2_cores"
    fast, _ = mistakes(larger, "search:64")
    slow, _ = mistakes(larger, "search:600", report="report_600.json")
    seeds = [mistakes(f"connect_four_seed_{seed}_1_core", "search:64")[0] for seed in (1, 2)]
    two_hours = f"118 min with 13 layers: {fast}, with 600 simulations {slow}"
    others = f"UCT-1000: {uct}; {two_hours}"
    each = f"{count}, {seeds[0]} and {seeds[1]} mistakes"
    text = f"{each} in {positions:,} scored positions by seed ({others})"
    assert results["connect four"] == text
    count, positions = mistakes("dots_and_boxes_4x4_1_core", "search:64", suites=slice(1, 2))
    text = f"{count} mistakes in {positions:,} endgames of its own games"
    assert results["dots and boxes 4x4"] == text
    report = json.loads((RESULTS / "hex_6x6_1_core" / "report.json").read_text())
    for player in report["players"][:2]:  # with search, and without
        (first,) = (v for v in player["values"] if v["suite"] == "the start and all first moves")
        assert first["right"] == first["positions"] == 37
    told = "the start and all 36 first moves judged correctly, also without search"
    assert results["hex 6x6"] == told
    fast, full = (match_of("cards/go_9x9.json", f"search:{n}") for n in (64, 400))
    assert fast["player_b"] == full["player_b"] == "gtp:gnugo --level 10"
    told = f"{fast['score']:.1%} of 100 games against GNU Go level 10"
    assert results["go 9x9"] == f"{told} (400 simulations: {full['score']:.1%})"
    assert fast["games"] == full["games"] == 100
    fast, full = (match_of("cards/gardner_chess.json", f"search:{n}") for n in (64, 400))
    assert fast["player_b"] == full["player_b"] == "uci:fairy-stockfish?depth=2"
    told = f"{fast['score']:.1%} of {fast['games']} games against Fairy-Stockfish at depth 2"
    shown = f"(400 simulations: {full['score']:.1%} of {full['games']})"
    assert results["Gardner's chess"] == f"{told} {shown}"
    match = match_of("gomoku_1_core/report.json")
    assert (match["player_a"], match["player_b"]) == ("search:64", "uct:1000")
    text = f"{match['score']:.1%} of {match['games']} games against UCT-1000"
    assert results["gomoku 15x15"] == text


def match_of(file, player="search:64"):
    """Returns the only match of a player in a recorded report."""
    players = json.loads((RESULTS / file).read_text())["players"]
    (match,) = next(entry["matches"] for entry in players if entry["name"] == player)
    return match
