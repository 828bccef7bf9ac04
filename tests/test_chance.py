"""Games of chance: what plays them, and what refuses them in one line."""

import json

import jax
import pytest
from azjax_envs import init_batch, make

import azjax
from azjax.cli.main import main
from azjax.engine.player_search import make_engine_search
from azjax.errors import UserError
from azjax.players.random_player import RandomPlayer
from azjax.players.uct import UCTPlayer

REFUSED = "ur_1 is a game of chance: engines, analysis, files and pages know no dice"


@pytest.mark.parametrize(
    "line",
    [
        *("gtp ur_1", "uci ur_1", "usi ur_1", "bench search --game ur_1"),
        *("gtp random --game ur_1", "uci random --game ur_1", "play exact --game ur_1 --web"),
        *("analyse FILE --game ur_1", "analyse FILE", "play uct:2 --game ur_1 --save GAMES"),
        *("play uct:2 --game ur_1 --resume FILE",),
    ],
)
def test_commands_that_know_no_dice(line, tmp_path, capsys):
    file = tmp_path / "dice.txt"
    file.write_text("# ur_1\nnew\n")
    line = line.replace("FILE", str(file)).replace("GAMES", str(tmp_path / "games.txt"))
    assert main(line.split()) == 2
    assert REFUSED in capsys.readouterr().err


def test_functions_that_know_no_dice():
    game = make("ur_1")
    for call in (
        lambda: azjax.read_games("games.txt", game),
        lambda: make_engine_search(UCTPlayer(game, 2)),
        lambda: make_engine_search(RandomPlayer(game)),
    ):
        with pytest.raises(UserError, match=REFUSED):
            call()
    with pytest.raises(UserError, match=r"ur_1 is a game of chance: azjax\.exact"):
        azjax.solve(game)


def test_players_and_matches_know_dice(capsys):
    game = make("ur_1")
    states = init_batch(game, jax.random.key(0), 2)
    actions = azjax.act(azjax.load_player("random", game=game), jax.random.key(0), states)
    legal = jax.vmap(game.legal_action_mask)(states)
    assert all(row[action] for row, action in zip(legal, actions, strict=True))
    assert main(["match", "random", "uct:2", "--game", "ur_1", "--games", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 4
