import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.config import SelfPlayConfig
from azjax.errors import UserError
from azjax.selfplay.openings import read_openings, start_games
from tests import tiny

GAME = make("connect_four")


def write(tmp_path, text):
    path = tmp_path / "lines.txt"
    path.write_text(text)
    return path


def test_games_begin_at_the_lines_of_a_file(tmp_path):
    path = write(tmp_path, "# the centre\n4 4 4\n\n-\n1 7   # both edges\n")
    openings = read_openings(GAME, path)
    assert openings.plies.tolist() == [3, 0, 2]
    config = SelfPlayConfig(opening_plies=1)
    games = start_games(GAME, jax.random.key(0), 600, config, openings)
    shown = np.asarray(jax.vmap(GAME.observe)(games.states))
    stones = shown.sum((1, 2, 3)).astype(int)
    np.testing.assert_array_equal(stones, games.plies)
    # All lines are equally frequent, each with none or one more move.
    assert set(stones) == {0, 1, 2, 3, 4}
    counts = np.bincount(stones, minlength=5)
    assert (counts[[0, 4]] > 60).all()
    assert 140 < (stones >= 3).sum() - 0.5 * counts[3] < 360


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lists no opening; each line must hold moves"),
        ("4 4\n4 9\n", "line 2: "),
        ("1 2 1 2 1 2 1\n", "line 1: the game is over after these moves"),
        ("4 4 4 4 4 4 4\n", "line 1: "),
    ],
)
def test_lines_that_lead_nowhere_are_refused(tmp_path, text, said):
    with pytest.raises(UserError, match=said):
        read_openings(GAME, write(tmp_path, text))


def test_a_byte_order_mark_is_skipped(tmp_path):
    """Editors of Windows write one."""
    path = tmp_path / "openings.txt"
    path.write_bytes(b"\xef\xbb\xbf4 4\r\n-\r\n")
    assert read_openings(GAME, path).plies.tolist() == [2, 0]
    path.write_bytes("4 4".encode("utf-16"))
    with pytest.raises(UserError, match=r"must be text in UTF-8$"):
        read_openings(GAME, path)


def test_a_missing_file_is_named():
    with pytest.raises(UserError, match=r"selfplay\.openings = nowhere\.txt: cannot be read"):
        tiny.trainer(1, selfplay={"openings": "nowhere.txt"})
