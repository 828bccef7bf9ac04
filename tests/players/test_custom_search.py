"""Players of runs and files whose `[search] module` names a search of the user's own."""

import jax
import numpy as np
import pytest
from azjax_envs import init_batch, make

import azjax
from azjax.cli.web import load_search_player
from azjax.engine.player_search import PlayerSearch, make_engine_search
from azjax.errors import UserError
from azjax.evaluation.rating import rate_run
from azjax.evaluation.run_report import report_run
from azjax.notebook.trees import search_tree
from azjax.players.load import export_player, untrained_player
from tests import tiny

GAME = make("tic_tac_toe")
KEY = jax.random.key(0)
HERE = "tests.players.test_custom_search"


def last_move(*arguments, **options):
    """A search that always plays the last legal move, as no other would."""
    result = azjax.search.search(*arguments, **options)
    legal = jax.vmap(arguments[0].legal_action_mask)(arguments[4])
    action = (legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)).astype(np.int32)
    return result._replace(action=action)


CONFIG = tiny.config(
    cycles=1, search={"module": f"{HERE}:last_move", "num_simulations": 2}, evaluation={"every": 0}
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("custom") / "run"
    azjax.train(CONFIG, folder)
    return folder


@pytest.fixture
def warned():
    return []


def plays_last(player):
    return np.asarray(azjax.act(player, KEY, init_batch(GAME, KEY, 2))).tolist() == [8, 8]


def test_a_run_is_played_by_its_own_search(run, warned):
    player = azjax.load_player(run, warn=warned.append)
    assert plays_last(player)
    assert plays_last(untrained_player(run, simulations=1))
    engine = make_engine_search(player)
    assert isinstance(engine, PlayerSearch)
    decision = engine.start(GAME.init())
    assert decision.analysis().action == 8
    assert decision.analysis().visits.sum() >= 2
    assert engine.start(GAME.init(), root_actions=(2, 3)).analysis().action in (2, 3)
    with pytest.raises(UserError, match="searches by a function of its own, which shows no tree"):
        search_tree(player, GAME.init(), KEY)
    assert warned == []


def test_pages_say_that_they_search_otherwise(run, capsys):
    load_search_player(str(run))
    assert f"{run}: its own search is not used" in capsys.readouterr().err


def test_another_search_can_be_given(run):
    player = azjax.load_player(run, search=azjax.search.search)
    assert not player.has_custom_search
    with pytest.raises(UserError, match="only runs and files take a network or a search"):
        azjax.load_player("random", game=GAME, search=last_move)


def test_a_file_imports_it_with_trust_alone(run, tmp_path, warned):
    file = tmp_path / "own.safetensors"
    export_player(run, file)
    player = azjax.load_player(file, warn=warned.append)
    assert not player.has_custom_search
    assert len(warned) == 1
    assert f"its search {HERE}:last_move is imported only with --trust" in warned[0]
    assert plays_last(azjax.load_player(file, trust=True))
    assert plays_last(azjax.load_player(file, search=last_move))


def test_an_object_must_be_handed_over_again(run, tmp_path, warned):
    config = (run / "config.toml").read_text()
    text = config.replace(f'module = "{HERE}:last_move"', f'module = "<{HERE}.last_move>"')
    assert text != config
    try:
        (run / "config.toml").write_text(text)
        assert not azjax.load_player(run, warn=warned.append).has_custom_search
        said = f"{run}: its search <{HERE}.last_move> was an object in Python, search=...; "
        assert warned == [f"{said}azjax's own search plays instead"]
        assert plays_last(azjax.load_player(run, search=last_move, warn=warned.append))
        assert azjax.load_player(f"{run}:policy", warn=warned.append).variables is not None
        assert len(warned) == 1
    finally:
        (run / "config.toml").write_text(config)


def test_a_search_that_is_not_there_is_one_line(run):
    config = (run / "config.toml").read_text()
    try:
        (run / "config.toml").write_text(config.replace(f"{HERE}:last_move", "nowhere:search"))
        with pytest.raises(UserError, match=r"run: search\.module: cannot import 'nowhere'"):
            azjax.load_player(run)
    finally:
        (run / "config.toml").write_text(config)


def test_reports_and_ratings_use_it(run):
    options = {"games": 2, "opening_plies": 0}
    card = report_run(run, baselines=(), against=("random",), own_games=0, **options)
    players = {player.name: player for player in card.players}
    searched = players["search:4"].scores[0]
    assert searched == players["untrained search:4"].scores[0]  # the network does not matter
    assert rate_run(run, anchors=("random",), search=last_move, **options).players[0].cycle == 1
