import io
import json

import numpy as np
import pytest
from rich.console import Console

from azjax.config.toml import save_config
from azjax.errors import UserError
from azjax.evaluation.run_report import report_run, solve_game
from azjax.players.load import load_player, player_from_spec, untrained_player
from azjax.training import loop as train_module
from azjax.training.loop import train
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
    out = console()
    card = report_run(
        str(run), beside=("uct:8",), against=("random",), games=16, own_games=16, console=out
    )
    assert card.game == "tic_tac_toe"
    names = [player.name for player in card.players]
    assert names == ["search:4", "policy", "untrained search:4", "uct:8"]
    # Every reachable state in which there is a move: 5478 less 958 ends.
    assert [player.positions for player in card.players] == [4520] * 4
    for player in card.players:
        assert 0 < player.mistakes < 4520
        assert all(score.illegal == 0 for score in player.scores)
        rulers = [score.ruler for score in player.scores]
        assert rulers == ["all reachable positions", "positions of search:4's games"]
        assert player.scores[1].positions > 30
    judged = [[score.positions for score in player.values] for player in card.players]
    assert judged == [[4520, card.players[0].scores[1].positions]] * 3 + [[]]
    assert all(0 < player.values[0].right < 4520 for player in card.players[:3])
    matches = [[x.num_games for x in player.matches] for player in card.players]
    assert matches == [[16], [16], [], []]
    written = json.loads((run / "report.json").read_text())
    assert written.pop("cycle") == int(max((run / "checkpoints").glob("[0-9]*")).name)
    assert written == json.loads(json.dumps(card.to_dict()))
    text = out.file.getvalue()
    for word in ("search:4", "policy", "untrained", "random", "wrong values"):
        assert word in text


def test_a_perfect_player_beside_makes_no_mistake(run):
    card = report_run(
        str(run),
        beside=("exact",),
        against=(),
        own_games=0,
        console=console(),
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
    fresh, known = tiny.leaves(control.variables), tiny.leaves(beginning.variables)
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
    player = player_from_spec(f"{run}{spec}")
    assert type(player).__name__ == kind
    if simulations:
        assert player.config.num_simulations == simulations
    newest = tiny.leaves(load_player(run).variables)
    same = all((x == newest[name]).all() for name, x in tiny.leaves(player.variables).items())
    assert same == ("@" not in spec) or "best" in spec


def test_a_player_has_fewer_simulations_than_its_run_began_with(tmp_path):
    search = {"num_simulations": 8, "start_simulations": 4}
    save_config(
        tiny.config(search=search, evaluation={"num_simulations": 2}), tmp_path / "config.toml"
    )
    assert untrained_player(tmp_path).config.num_simulations == 2


def test_mistakes_of_a_spec(run):
    from azjax_envs import make

    for spec in (":0", ":many", "@newest"):
        with pytest.raises(UserError, match=r"RUN@CYCLE|number of simulations"):
            player_from_spec(f"{run}{spec}")
    with pytest.raises(UserError, match="plays tic_tac_toe, not connect_four"):
        player_from_spec(str(run), make("connect_four"))


def test_solve_prints_the_known_values():
    out = console()
    solve_game("tic_tac_toe", console=out)
    text = out.file.getvalue()
    assert "tic_tac_toe: a draw" in text
    assert "states: 5478" in text
    assert "terminal: 958" in text
    moves = text[text.index("value of first moves") :].splitlines()[0]
    assert moves.count("+0") == 9


def test_solve_as_json(capsys):
    solve_game("dots_and_boxes_1x2", as_json=True)
    facts = json.loads(capsys.readouterr().out)
    # Seven edges and two boxes: the result is the sign of the margin.
    assert abs(facts["margin"]) <= 2
    assert facts["value"] == np.sign(facts["margin"])
    assert len(facts["value_of_first_moves"]) == 7
    assert max(facts["value_of_first_moves"].values()) == facts["value"]
    assert max(facts["margin_of_first_moves"].values()) == facts["margin"]


def test_solve_refuses_what_it_cannot_do():
    with pytest.raises(UserError, match="tic_tac_toe"):
        solve_game("tic_tac_to", console=console())
