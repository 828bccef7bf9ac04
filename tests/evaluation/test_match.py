import io
import json
import math

import jax
import numpy as np
import pyspiel
import pytest
from azjax_envs import make
from rich.console import Console

from azjax.errors import UserError
from azjax.evaluation.host_match import match_on_host
from azjax.evaluation.match import play_match
from azjax.evaluation.match_result import (
    MatchResult,
    MatchTable,
    different_names,
    percent,
    short_names,
)
from azjax.matches import match_scores, score_of
from azjax.players.exact import exact_player
from azjax.players.random_player import RandomPlayer
from tests.oracles.players import HostLowest, Lowest
from tests.oracles.toys import Heap

TIC_TAC_TOE = make("tic_tac_toe")
BOXES = make("dots_and_boxes_1x2")


def test_both_seats_are_played_and_distinguished():
    """The player who begins with a heap of one wins, in either seat."""
    game = Heap(1)
    result = play_match(game, Lowest(game), RandomPlayer(game), jax.random.key(0), num_games=16)
    assert result.as_first == (8, 0, 0)
    assert result.as_second == (0, 0, 8)
    assert result.pair_counts == (0, 0, 8, 0, 0)
    assert (result.wins, result.draws, result.losses, result.num_games) == (8, 0, 8, 16)
    assert (result.score, result.elo, result.mean_length) == (0.5, 0.0, 1.0)
    assert result.elo_low < 0 < result.elo_high
    assert (result.player_a, result.player_b) == ("lowest", "random")


def test_scores_are_player_a_s():
    """With a heap of two, taking both wins; the lowest action takes one and loses."""
    game = Heap(2)
    result = play_match(game, Lowest(game), exact_player(game), jax.random.key(0), num_games=16)
    assert result.as_first == result.as_second == (0, 0, 8)
    assert result.pair_counts == (8, 0, 0, 0, 0)
    assert result.score == 0
    assert result.elo == result.elo_low == -math.inf
    assert -400 < result.elo_high < 0
    swapped = play_match(game, exact_player(game), Lowest(game), jax.random.key(0), num_games=16)
    assert swapped.as_first == swapped.as_second == (8, 0, 0)
    fields = json.loads(json.dumps(swapped.to_dict(), allow_nan=False))
    assert fields["elo"] is None
    assert fields["elo_high"] is None
    assert fields["elo_low"] == pytest.approx(swapped.elo_low)
    assert (fields["games"], fields["wins"]) == (16, 16)


@pytest.mark.parametrize(
    ("game", "spiel"),
    [
        (TIC_TAC_TOE, "tic_tac_toe"),
        # The player who closes a box moves again, so turns do not alternate.
        (BOXES, "dots_and_boxes(num_rows=1,num_cols=2)"),
    ],
)
def test_fixed_players_play_the_very_game_that_the_rules_say(game, spiel):
    state = pyspiel.load_game(spiel).new_initial_state()
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    player = Lowest(game)
    scores, lengths, _ = match_scores(game, player, player, jax.random.key(0), 3, 0)
    points = (state.returns()[0] + 1) / 2
    np.testing.assert_array_equal(scores, [points] * 3 + [1 - points] * 3)
    np.testing.assert_array_equal(lengths, [len(state.history())] * 6)


def test_the_games_of_a_pair_share_their_opening():
    """Between equal deterministic players, the second game repeats the first with swapped seats."""
    player = Lowest(TIC_TAC_TOE)
    play = jax.jit(match_scores, static_argnums=(0, 4, 5))
    scores, lengths, _ = play(TIC_TAC_TOE, player, player, jax.random.key(1), 64, 3)
    np.testing.assert_array_equal(scores[:64] + scores[64:], np.ones(64))
    np.testing.assert_array_equal(lengths[:64], lengths[64:])
    assert len(np.unique(lengths)) > 2  # and openings differ
    assert len(np.unique(scores)) > 1


def test_an_opening_never_ends_the_game():
    game = Heap(3)
    player = Lowest(game)
    scores, lengths, _ = match_scores(game, player, player, jax.random.key(0), 32, 50)
    # One counter is left when the opening stops; the player to move then takes it.
    assert set(np.asarray(lengths)) <= {2, 3}
    np.testing.assert_array_equal(scores[:32] + scores[32:], np.ones(32))


@pytest.mark.parametrize("game", [TIC_TAC_TOE, BOXES])
def test_a_player_on_the_host_plays_the_same_games(game):
    asked = []
    key = jax.random.key(0)
    here = play_match(game, HostLowest(game, asked), Lowest(game), key, num_games=4)
    there = play_match(game, Lowest(game), Lowest(game), key, num_games=4)
    assert here.as_first == there.as_first
    assert here.as_second == there.as_second
    assert here.mean_length == there.mean_length
    # It is called only where it is to move: for half of the moves of equal games.
    assert sum(asked) == here.mean_length * 4 / 2


def test_a_jittable_player_plays_in_several_batches_on_the_host():
    """It is to move in some 300 games at once, and in few at the end."""
    game, key = BOXES, jax.random.key(1)
    player, on_host = Lowest(game), HostLowest(game, [])
    mixed = play_match(game, on_host, player, key, num_games=600, opening_plies=3)
    on_host_alone = play_match(game, on_host, on_host, key, num_games=600, opening_plies=3)
    names = {"player_a": "", "player_b": ""}
    assert mixed.to_dict() | names == on_host_alone.to_dict() | names


def test_chunks_and_devices_change_no_count():
    """18 pairs in chunks of at most 8 on four devices: surplus pairs are played, not counted."""
    assert jax.local_device_count() == 4
    player = RandomPlayer(TIC_TAC_TOE)
    result = play_match(TIC_TAC_TOE, player, player, jax.random.key(3), num_games=36, batch=8)
    assert result.num_games == 36
    assert sum(result.as_first) == sum(result.as_second) == sum(result.pair_counts) == 18
    assert 5 <= result.mean_length <= 9


def test_repeated_games_count_once():
    """Deterministic players have at most nine different pairs from the nine openings of one ply."""
    key, player, random = jax.random.key(4), Lowest(TIC_TAC_TOE), RandomPlayer(TIC_TAC_TOE)
    repeated = play_match(TIC_TAC_TOE, player, player, key, num_games=200, opening_plies=1)
    assert repeated.effective_games == 18
    varied = play_match(TIC_TAC_TOE, random, random, key, num_games=200, opening_plies=2)
    assert 120 < varied.effective_games <= 200
    one = play_match(TIC_TAC_TOE, random, random, key, num_games=200)
    assert one.effective_games == 200
    on_host = HostLowest(TIC_TAC_TOE, [])
    asked = play_match(TIC_TAC_TOE, on_host, player, key, num_games=200, opening_plies=1)
    assert asked.effective_games == 18


def test_the_exact_player_never_loses():
    perfect, other = exact_player(TIC_TAC_TOE), RandomPlayer(TIC_TAC_TOE)
    result = play_match(TIC_TAC_TOE, perfect, other, jax.random.key(0), num_games=400)
    assert result.losses == 0
    assert result.as_first[0] > 180
    # Known for a uniformly random opponent: about one game in five drawn by the second player.
    assert 10 < result.as_second[1] < 80
    assert 0 < result.elo_low < result.elo < result.elo_high


@pytest.mark.parametrize("number", [0, -2, 7])
def test_games_come_in_pairs(number):
    player = RandomPlayer(TIC_TAC_TOE)
    with pytest.raises(UserError, match=f"must be even and above 0, but is {number}"):
        play_match(TIC_TAC_TOE, player, player, jax.random.key(0), num_games=number)


def test_openings_have_a_length():
    player = RandomPlayer(TIC_TAC_TOE)
    with pytest.raises(UserError, match="opening_plies must not be negative"):
        play_match(TIC_TAC_TOE, player, player, jax.random.key(0), num_games=2, opening_plies=-1)


def _printed(renderable, width):
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return console.file.getvalue()


RESULT = MatchResult(
    player_a="runs/experiments/wide",
    player_b="runs/experiments/deep@best:64",
    as_first=(120, 40, 40),
    as_second=(100, 50, 50),
    pair_counts=(10, 20, 70, 50, 50),
    mean_length=41.25,
    effective_games=400.0,
    elo=140.0,
    elo_low=-1100.0,
    elo_high=1180.0,
)


@pytest.mark.parametrize("width", [60, 100, 1000])
def test_the_table_says_who_is_who_at_any_width(width):
    out = _printed(MatchTable((RESULT,), "chess"), width)
    for text in ("wide", "deep@best:64", "120/40/40", "100/50/50", "66.25%", "41.2"):
        assert text in out
    assert "+140 [-1100, +1180]" in out
    assert "runs/experiments" not in out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= width


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["runs/a", "runs/b:64"], ["a", "b:64"]),
        (["old/a", "new/a"], ["old/a", "new/a"]),
        (["x/old/a", "x/new/a", "random"], ["old/a", "new/a", "random"]),
        (["runs/a/", "runs/a/"], ["a", "a"]),
        (["runs/a", "gtp:/usr/games/gnugo --level 3"], ["a", "gtp:/usr/games/gnugo --level 3"]),
        (["cycle 1", "random"], ["cycle 1", "random"]),
        ([], []),
    ],
)
def test_names_keep_what_differs(names, short):
    assert short_names(names) == short


def test_progress_counts_the_games_on_the_host_as_they_end():
    lines = []
    player = HostLowest(TIC_TAC_TOE, [])
    random = RandomPlayer(TIC_TAC_TOE)
    key = jax.random.key(0)
    result = play_match(
        TIC_TAC_TOE, player, random, key, num_games=12, batch=3, progress=lines.append
    )
    assert lines[:2] == ["0 of 12 games", "0 of 12 games, 1 ply played"]
    assert any(line.startswith("6 of 12 games, score ") for line in lines)
    assert lines[-1] == f"12 of 12 games, score {percent(result.score)}"
    games = [int(line.split()[0]) for line in lines]
    assert games == sorted(games)
    assert len(set(games)) > 3  # several games end on their own


def test_equal_names_are_told_apart():
    random = RandomPlayer(make("tic_tac_toe"))
    result = play_match(random.game, random, random, jax.random.key(0), num_games=2)
    assert (result.player_a, result.player_b) == ("random (1)", "random (2)")
    assert different_names(["a", "b", "a"]) == ["a (1)", "b", "a (2)"]


def test_both_games_of_a_pair_have_the_same_dice():
    """Between equal deterministic players, the second game repeats the first with swapped seats."""
    game = make("ur_1")
    player = Lowest(game)
    for other in (player, HostLowest(game, [])):
        result = play_match(
            game,
            other,
            player,
            jax.random.key(1),
            num_games=48,
            opening_plies=1,
            results=lambda states: pytest.fail("no opening is lost for sure"),
        )
        assert result.losses_of_lost_openings is None
        assert result.pair_counts == (0, 0, 24, 0, 0)
        assert 0 < result.as_first[0] < 24  # and pairs differ
        assert result.effective_games == pytest.approx(48, rel=0.5)


def test_a_game_of_several_points_counts_once():
    scores = score_of(make("hypergammon"), np.array([1, 1 / 3, -2 / 3, 0]))
    np.testing.assert_array_equal(scores, [1, 1, 0, 0.5])


def test_points_are_told_where_a_game_has_several():
    game = make("hypergammon")
    key, lowest, random = jax.random.key(3), Lowest(game), RandomPlayer(game)
    found = play_match(game, lowest, random, key, num_games=16)
    host_lowest, chunk_key = HostLowest(game, []), jax.random.fold_in(key, 0)
    results, _, _ = match_on_host(game, host_lowest, random, chunk_key, 8, 0)
    assert set(np.rint(3 * results.ravel())) - {-1, 1}  # some gammons
    host = play_match(game, HostLowest(game, []), random, key, num_games=16)
    points = 3 * results.mean(0)
    assert host.points == pytest.approx(points.mean(), abs=1e-6)
    assert host.points_error == pytest.approx(points.std(ddof=1) / 8**0.5, abs=1e-6)
    assert abs(found.points) <= 3
    text = f"{found.points:+.3f} ± {found.points_error:.3f}"
    for width in (60, 1000):
        assert text in _printed(found, width)
    pair = play_match(game, HostLowest(game, []), random, key, num_games=2)
    assert pair.points_error is None
    text = _printed(pair, 60)
    assert f"{pair.points:+.3f}" in text
    assert "±" not in text
    assert RESULT.points is None
    assert "points a game" not in _printed(RESULT, 1000)


class Passes(HostLowest):
    """A player that passes where it can't, which loses three points."""

    def __call__(self, key, states):
        return np.full(len(super().__call__(key, states)), 50, np.int32)


def test_an_illegal_move_loses_all_points():
    game = make("hypergammon")
    passes, random = Passes(game, []), RandomPlayer(game)
    result = play_match(game, passes, random, jax.random.key(0), num_games=4)
    assert (result.points, result.points_error, result.score) == (-3, 0, 0)
