import io
import json

import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from rich.console import Console

from azjax.arena.report import report, score_actions
from azjax.arena.rulers import find_rulers
from azjax.arena.solver import solve
from azjax.arena.table import render
from azjax.players.exact import exact_player
from azjax.players.random import RandomPlayer
from tests.oracles.players import Except, HostLowest, Lowest

GAME = make("tic_tac_toe")


@pytest.fixture(scope="module")
def solution():
    return solve(GAME)


@pytest.fixture(scope="module")
def perfect(solution):
    return exact_player(GAME, solution)


@pytest.fixture(scope="module")
def scored_positions():
    (ruler,) = find_rulers(make("connect_four"), 10_000)
    return ruler


def _card(game, player, **options):
    return report(game, [player], **options).players[0]


def test_perfect_play_makes_no_mistake_in_any_reachable_position(perfect):
    card = _card(GAME, perfect)
    (score,) = card.scores
    assert (card.positions, card.mistakes) == (5478 - 958, 0)
    assert (score.illegal, score.optimal) == (0, 4520)
    assert [(b.first_ply, b.last_ply) for b in score.buckets] == [(0, 5), (6, 11)]
    assert sum(b.positions for b in score.buckets) == 4520


def test_one_planted_mistake_is_counted_once(perfect, solution):
    index = solution.children[solution.children[0, 0], 1]  # a1 b1: only some moves win for X
    wrong = int(np.flatnonzero((solution.children[index] >= 0) & ~_best(solution, index))[0])
    position = _state(solution, index)
    player = Except(GAME, perfect, position, jnp.asarray(wrong))
    (score,) = _card(GAME, player).scores
    assert (score.positions, score.mistakes, score.illegal) == (4520, 1, 0)
    assert [b.mistakes for b in score.buckets] == [1, 0]


def test_an_illegal_move_is_a_mistake_and_named(perfect, solution):
    index = solution.children[0, 4]
    player = Except(GAME, perfect, _state(solution, index), jnp.asarray(4))
    (score,) = _card(GAME, player).scores
    assert (score.mistakes, score.illegal) == (1, 1)


def test_random_play_goes_wrong_as_often_as_the_mistakes_are_many(solution):
    """The expected number is a sum over positions; the count is within four deviations."""
    decisions = solution.decisions
    legal = solution.children[decisions] >= 0
    chance = 1 - solution.optimal_actions(decisions).sum(-1) / legal.sum(-1)
    (score,) = _card(GAME, RandomPlayer(GAME)).scores
    deviation = np.sqrt((chance * (1 - chance)).sum())
    assert abs(score.mistakes - chance.sum()) < 4 * deviation
    assert score.risky == (chance > 0).sum()
    assert score.illegal == 0


def test_players_side_by_side_and_matches_for_the_first(perfect):
    players = {"trained": perfect, "untrained": RandomPlayer(GAME)}
    card = report(GAME, players, opponents=[Lowest(GAME)], num_games=16, batch_size=1500)
    assert [p.name for p in card.players] == ["trained", "untrained"]
    (match,) = card.players[0].matches
    assert (match.player_a, match.player_b, match.num_games) == ("trained", "lowest", 16)
    assert match.losses == 0
    assert card.players[1].matches == ()
    fields = json.loads(json.dumps(card.to_dict(), allow_nan=False))
    assert fields["game"] == "tic_tac_toe"
    assert fields["players"][0]["mistakes"] == 0
    assert fields["players"][1]["mistakes"] == card.players[1].mistakes > 1000
    text = _rendered(card)
    for piece in ("all reachable positions", "trained", "untrained", "0 of 4,520", "lowest"):
        assert piece in text
    assert f"{card.players[1].mistakes:,} of 4,520" in text


def test_the_same_seed_gives_the_same_report():
    players = [RandomPlayer(GAME)]
    first, again = report(GAME, players), report(GAME, players)
    assert first == again
    assert report(GAME, players, seed=1) != first


def test_a_player_on_the_host_is_asked_everything():
    game, asked = make("dots_and_boxes_1x1"), []
    card = _card(game, HostLowest(game, asked))
    assert card.positions == sum(asked) == 15
    # With an edge left over or two, moving is forced in effect; no move ever changes the result.
    assert card.mistakes == 0


def test_scored_positions_are_all_there(scored_positions):
    assert scored_positions.num_positions == 1938
    assert scored_positions.plies.min() == 0
    assert scored_positions.plies.max() == 35
    scores = scored_positions.action_scores
    start = scores[scored_positions.plies == 0]
    np.testing.assert_array_equal(start, [[-2, -1, 0, 1, 0, -1, -2]])


def test_a_mistake_is_a_worse_result_not_a_slower_win(scored_positions):
    scores = scored_positions.action_scores
    best = score_actions(scored_positions, scores.argmax(-1))
    assert (best.mistakes, best.optimal, best.positions) == (0, 1938, 1938)
    # The worst legal move: wrong wherever wrong is possible, and nowhere else.
    worst = score_actions(scored_positions, np.where(np.isfinite(scores), scores, 99).argmin(-1))
    assert worst.mistakes == worst.risky == best.risky > 1000
    assert worst.illegal == 0
    # The worst among the moves that keep the result: no mistake, though not the best.
    keeping = np.isfinite(scores) & (np.sign(scores) == np.sign(scores.max(-1, keepdims=True)))
    slow = score_actions(scored_positions, np.where(keeping, scores, 99).argmin(-1))
    assert slow.mistakes == 0
    assert slow.optimal < 1500


def test_a_game_with_no_ruler_says_so():
    game = make("connect_four_5x5")
    card = report(game, [RandomPlayer(game)], max_states=1000)
    assert (card.players[0].positions, card.players[0].mistakes) == (0, 0)
    assert "too large to solve" in _rendered(card)


def _state(solution, index):
    batched = solution.states(np.array([index]))
    return type(batched)(**{name: leaf[0] for name, leaf in vars(batched).items()})


def _best(solution, index):
    return solution.optimal_actions(np.array([index]))[0]


def _rendered(card):
    console = Console(file=io.StringIO(), width=100)
    render(card, console)
    return console.file.getvalue()
