import io
import json

import numpy as np
import pytest
from azjax_envs import make
from rich.console import Console

from azjax.cli.main import main
from azjax.errors import UserError
from azjax.evaluation.run_report import report_run, save_report
from azjax.exact.solver import facts_text, solve
from azjax.players.load import load_player, untrained_player
from azjax.running import loop as train_module
from azjax.running.loop import train
from tests import tiny


def console():
    return Console(file=io.StringIO(), width=160)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_module, "make_trainer", tiny.shared_make_trainer)
        folder = tmp_path_factory.mktemp("report") / "run"
        train(tiny.config(), folder, console=console())
    return folder


def test_report_of_a_run(run):
    said = []
    card = report_run(
        run,
        simulations=(4, 2),
        baselines=("uct:8",),
        against=("random",),
        games=16,
        own_games=16,
        progress=said.append,
    )
    assert said[0] == "looking for exact values of tic_tac_toe"
    assert "policy against random: 0 of 16 games" in said
    assert not (run / "report.json").exists()
    assert card.game == "tic_tac_toe"
    names = [player.name for player in card.players]
    assert names == ["search:4", "policy", "search:2", "untrained search:4", "uct:8"]
    # Every reachable state in which there is a move: 5478 less 958 ends.
    assert [player.positions for player in card.players] == [4520] * 5
    for player in card.players:
        assert 0 < player.mistakes < 4520
        assert all(score.illegal == 0 for score in player.scores)
        suites = [score.suite for score in player.scores]
        assert suites == ["all reachable positions", "positions of search:4's games"]
        assert player.scores[1].positions > 30
    judged = [[score.positions for score in player.values] for player in card.players]
    assert judged == [[4520, card.players[0].scores[1].positions]] * 4 + [[]]
    assert all(0 < player.values[0].right < 4520 for player in card.players[:4])
    matches = [[x.num_games for x in player.matches] for player in card.players]
    assert matches == [[16], [16], [], [], []]
    save_report(card, f"{run}@best")
    written = json.loads((run / "report.json").read_text())
    assert written == json.loads(json.dumps(card.to_dict()))
    assert card.cycle == written["cycle"] == int(max((run / "checkpoints").glob("[0-9]*")).name)
    for word in ("search:4", "policy", "untrained", "random", "wrong values"):
        assert word in str(card)
        assert word in card._repr_html_()


def test_a_perfect_baseline_makes_no_mistake(run):
    card = report_run(
        str(run),
        baselines=("exact",),
        against=(),
        own_games=0,
    )
    by_name = {player.name: player for player in card.players}
    assert by_name["exact"].mistakes == 0
    assert by_name["search:4"].mistakes > 0
    assert not by_name["search:4"].matches


def test_the_untrained_control_is_what_the_run_began_with(run):
    import jax

    control = untrained_player(run)
    trainer = tiny.trainer(1)
    beginning = trainer.init(jax.random.PRNGKey(0))
    fresh, known = tiny.leaves(control.variables), tiny.leaves(beginning.learner.variables)
    assert fresh.keys() == known.keys()
    for name, x in fresh.items():
        np.testing.assert_allclose(x, known[name], rtol=1e-6, err_msg=name)
    trained = tiny.leaves(load_player(run).variables)
    assert any((trained[name] != x).any() for name, x in fresh.items())


@pytest.mark.parametrize(
    ("spec", "kind", "simulations"),
    [
        ("", "SearchPlayer", 4),
        (":9", "SearchPlayer", 9),
        ("@3", "SearchPlayer", 4),
        ("@best:9", "SearchPlayer", 9),
        (":policy", "PolicyPlayer", None),
        ("@3:value", "ValuePlayer", None),
    ],
)
def test_players_of_a_run(run, spec, kind, simulations):
    player = load_player(f"{run}{spec}")
    assert type(player).__name__ == kind
    if simulations:
        assert player.config.num_simulations == simulations
    newest = tiny.leaves(load_player(run).variables)
    same = all((x == newest[name]).all() for name, x in tiny.leaves(player.variables).items())
    assert same == ("@" not in spec) or "best" in spec


def test_mistakes_of_a_spec(run):
    for spec in (":0", ":many", "@newest"):
        with pytest.raises(UserError, match=r"RUN@CYCLE|a number of simulations from 1"):
            load_player(f"{run}{spec}")
    with pytest.raises(UserError, match="plays tic_tac_toe, not connect_four"):
        load_player(str(run), game=make("connect_four"))


def test_solve_prints_the_known_values(capsys):
    assert main(["solve", "tic_tac_toe"]) == 0
    text = capsys.readouterr().out
    assert "tic_tac_toe: a draw" in text
    assert "states: 5478" in text
    assert "terminal: 958" in text
    assert text[text.index("value of first moves") :].count("+0") == 9
    assert "seconds" in text


def test_solve_as_json(capsys):
    assert main(["solve", "dots_and_boxes_1x2", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    # Seven edges and two boxes: the result is the sign of the margin.
    assert abs(facts["margin"]) <= 2
    assert facts["value"] == np.sign(facts["margin"])
    assert len(facts["value_of_first_moves"]) == 7
    assert max(facts["value_of_first_moves"].values()) == facts["value"]
    assert max(facts["margin_of_first_moves"].values()) == facts["margin"]


def test_a_solution_prints_itself():
    solution = solve(make("tic_tac_toe"))
    assert str(solution) == str(facts_text(solution.to_dict()))
    assert str(solution).startswith("tic_tac_toe: a draw\n")
    assert "tic_tac_toe: a draw" in solution._repr_html_()
