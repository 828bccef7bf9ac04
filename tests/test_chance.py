"""Games of chance are refused in one line wherever no dice are known."""

import jax
import pytest
from azjax_envs import init_batch, make

import azjax
from azjax.cli.main import main
from azjax.config import Config
from azjax.errors import UserError
from azjax.evaluation.match import play_match
from azjax.players.uct import UCTPlayer
from azjax.search import search
from azjax.training.trainer import make_trainer

REFUSED = "ur_1 is a game of chance: search, training, engines, files and pages know no dice"


@pytest.mark.parametrize(
    "line",
    [
        *("play ur_1", "play uct:10 --game ur_1", "gtp ur_1", "uci ur_1", "usi ur_1"),
        *("gtp random --game ur_1", "uci random --game ur_1", "web ur_1 --out OUT"),
        *("eval random --game ur_1 --against uct:1", "match random uct:1 --game ur_1"),
        *("bench search --game ur_1", "train CONFIG", "train ur_1", "analyse FILE --game ur_1"),
    ],
)
def test_commands(line, tmp_path, capsys):
    config, file = tmp_path / "dice.toml", tmp_path / "dice.txt"
    config.write_text('game = "ur_1"\n')
    file.write_text("# ur_1\nnew\n")
    line = line.replace("CONFIG", str(config)).replace("FILE", str(file))
    line = line.replace("OUT", str(tmp_path / "site"))
    assert main(line.split()) == 2
    assert REFUSED in capsys.readouterr().err


def test_functions():
    game = make("ur_1")
    states, key = init_batch(game, jax.random.key(0), 2), jax.random.key(0)
    player = UCTPlayer(game, 2)
    for call in (
        lambda: azjax.load_player("random", game=game),
        lambda: azjax.act(player, key, states),
        lambda: make_trainer(game, Config()),
        lambda: play_match(game, player, player, key, num_games=2),
        lambda: search(game, None, None, key, states, config=Config().search),
        lambda: azjax.read_games("games.txt", game),
    ):
        with pytest.raises(UserError, match=REFUSED):
            call()
    with pytest.raises(UserError, match=r"ur_1 is a game of chance: azjax\.exact"):
        azjax.solve(game)
