import dataclasses
import io
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import Game, init_batch, make
from rich.console import Console

from azjax.evaluation.elo import wilson_interval
from azjax.evaluation.match import play_match
from azjax.evaluation.position_suites import GameSuites, quick_results
from azjax.evaluation.report import PlayerReport, report
from azjax.evaluation.scores import score_actions
from azjax.exact.solver import solve
from azjax.players.exact import exact_player
from azjax.players.random_player import RandomPlayer
from azjax.types import static
from tests.oracles.players import Except, HostLowest, Lowest

GAME = make("tic_tac_toe")
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def solution():
    return solve(GAME)


@pytest.fixture(scope="module")
def perfect(solution):
    return exact_player(GAME, solution)


@pytest.fixture(scope="module")
def scored_positions():
    suite, _ = GameSuites(make("connect_four"), max_states=10_000).fixed
    return suite


def _report_of(game, player, **options):
    return report(game, [player], **options).players[0]


def test_perfect_play_makes_no_mistake_in_any_reachable_position(perfect):
    card = _report_of(GAME, perfect)
    (score,) = card.scores
    assert (card.positions, card.mistakes) == (5478 - 958, 0)
    assert (score.illegal, score.optimal) == (0, 4520)
    assert [b.name for b in score.buckets] == ["plies 0-5", "plies 6-11"]
    assert sum(b.positions for b in score.buckets) == 4520


def test_one_planted_mistake_is_counted_once(perfect, solution):
    index = solution.children[solution.children[0, 0], 1]  # a1 b1: only some moves win for X
    wrong = int(np.flatnonzero((solution.children[index] >= 0) & ~_best(solution, index))[0])
    position = _state(solution, index)
    player = Except(GAME, perfect, position, jnp.asarray(wrong))
    (score,) = _report_of(GAME, player).scores
    assert (score.positions, score.mistakes, score.illegal) == (4520, 1, 0)
    assert [b.mistakes for b in score.buckets] == [1, 0]


def test_an_illegal_move_is_a_mistake_and_named(perfect, solution):
    index = solution.children[0, 4]
    player = Except(GAME, perfect, _state(solution, index), jnp.asarray(4))
    (score,) = _report_of(GAME, player).scores
    assert (score.mistakes, score.illegal) == (1, 1)
    # After a1 only the centre keeps the draw: a mistake is possible there, and this is one.
    assert score.risky_mistakes == 1


def test_an_illegal_move_where_no_legal_one_is_a_mistake_is_counted_apart(perfect, solution):
    index = np.flatnonzero((solution.plies == 8) & ~solution.terminal)[0]
    taken = int(np.flatnonzero(solution.children[index] < 0)[0])
    player = Except(GAME, perfect, _state(solution, index), jnp.asarray(taken))
    (score,) = _report_of(GAME, player).scores
    assert (score.mistakes, score.illegal, score.risky_mistakes) == (1, 1, 0)
    assert score.risky_mistake_rate == 0


def test_random_play_makes_the_expected_number_of_mistakes(solution):
    """The expected number is a sum over positions; the count is within four deviations."""
    decisions = solution.decisions
    legal = solution.children[decisions] >= 0
    chance = 1 - solution.optimal_actions(decisions).sum(-1) / legal.sum(-1)
    (score,) = _report_of(GAME, RandomPlayer(GAME)).scores
    deviation = np.sqrt((chance * (1 - chance)).sum())
    assert abs(score.mistakes - chance.sum()) < 4 * deviation
    assert score.risky == (chance > 0).sum()
    assert score.risky_mistakes == score.mistakes
    low, high = score.mistake_interval
    assert low < chance.mean() < high
    assert high - low < 0.04
    low, high = score.risky_mistake_interval
    assert low < chance.sum() / (chance > 0).sum() < high
    assert score.illegal == 0


def test_players_side_by_side_and_matches_for_the_first(perfect):
    players = {"trained": perfect, "untrained": RandomPlayer(GAME)}
    opponents = [Lowest(GAME)]
    card = report(GAME, players, opponents=opponents, num_games=16, opening_plies=0)
    assert [p.name for p in card.players] == ["trained", "untrained"]
    (match,) = card.players[0].matches
    assert (match.player_a, match.player_b, match.num_games) == ("trained", "lowest", 16)
    assert match.losses == 0
    assert card.players[1].matches == ()
    fields = json.loads(json.dumps(card.to_dict(), allow_nan=False))
    assert fields["game"] == "tic_tac_toe"
    assert fields["players"][0]["mistakes"] == 0
    (fields_of_score,) = fields["players"][0]["scores"]
    assert fields_of_score["mistake_interval"] == list(wilson_interval(0, 4520))
    assert fields_of_score["risky_mistake_rate"] == 0
    assert fields["players"][1]["mistakes"] == card.players[1].mistakes > 1000
    text = _rendered(card)
    pieces = ("all reachable positions", "trained", "untrained", "0 of 4,520", "lowest")
    for piece in (*pieces, "99.92-100%"):
        assert piece in text
    # A table of mistakes, the matches of the first, and a sentence.
    assert text.count("trained") == 2 + 1 + 1
    assert f"{card.players[1].mistakes:,} of 4,520" in text


def test_a_solved_game_is_played_from_its_start(perfect):
    """After random plies many games are lost before the player moves."""
    opponents = {"random": RandomPlayer(GAME), "lowest": Lowest(GAME)}
    card = report(GAME, {"search:1": perfect}, opponents=opponents, num_games=40)
    assert all(match.opening_plies == match.losses == 0 for match in card.players[0].matches)
    assert all(x.losses_of_lost_openings is None for x in card.players[0].matches)
    assert card.sentences() == [
        "The network with 1 simulation makes no mistake in any of the 4,520 reachable positions of "
        "tic_tac_toe.",
        "From the start of the game it lost none of 40 games against random play and none of 40 "
        "against lowest.",
    ]
    assert "lost openings" not in _rendered(card)


def test_losses_from_lost_openings_are_counted_apart(perfect):
    players = {"search:32": perfect, "policy": Lowest(GAME)}
    options = {"opponents": [perfect], "num_games": 200, "opening_plies": 3, "matched": 2}
    card = report(GAME, players, **options)
    (good,), (bad,) = (player.matches for player in card.players)
    assert good.losses == good.losses_of_lost_openings > 20
    assert bad.losses > bad.losses_of_lost_openings > 20
    assert f"{good.losses} of {good.losses} losses" in _rendered(card)
    assert card.sentences()[1:] == [
        "After 3 random plies it lost none of 200 games against perfect play, apart from openings "
        "that were lost already.",
        f"In the same positions the network without search makes {card.players[1].mistakes:,}.",
    ]
    # The same in the words of a match alone.
    results = quick_results(GAME)
    alone = play_match(
        GAME, perfect, perfect, jax.random.key(0), num_games=200, opening_plies=3, results=results
    )
    assert alone.losses == alone.losses_of_lost_openings > 20
    assert "from lost openings" in str(alone)


def test_games_whose_openings_are_not_known_say_the_share_of_the_points():
    game = make("gomoku_5x5")
    assert quick_results(game) is None
    opponents = {"random": RandomPlayer(game)}
    card = report(game, [RandomPlayer(game)], opponents=opponents, num_games=8, max_states=1000)
    (match,) = card.players[0].matches
    assert (match.opening_plies, match.losses_of_lost_openings) == (2, None)
    (sentence,) = card.sentences()
    share = f"{100 * match.score:.2f}%"
    assert sentence == f"After 2 random plies random play scored {share} against random play."


def test_openings_of_connect_four_are_judged_exactly():
    """The first player wins in the middle only, draws next to it, and loses elsewhere."""
    pytest.importorskip("numba")
    game = make("connect_four")
    after = jax.vmap(game.step, in_axes=(None, 0))(game.init(), jnp.arange(7))
    np.testing.assert_array_equal(quick_results(game)(after), [-1, -1, 0, 1, 0, -1, -1])
    assert np.isnan(GameSuites(make("chess")).results(init_batch(make("chess"), KEY, 2))).all()


def test_the_same_seed_gives_the_same_report():
    players = [RandomPlayer(GAME)]
    first, again = report(GAME, players), report(GAME, players)
    assert first == again
    assert report(GAME, players, seed=1) != first


def test_a_player_on_the_host_is_asked_everything():
    game, asked = make("dots_and_boxes_1x1"), []
    card = _report_of(game, HostLowest(game, asked))
    assert card.positions == sum(asked) == 15
    # With one or two edges left, moves are forced in effect, and none changes the result.
    assert card.mistakes == 0


def test_scored_positions_are_all_there(scored_positions):
    assert scored_positions.num_positions == 1938
    assert scored_positions.plies.min() == 0
    assert scored_positions.plies.max() == 35
    scores = scored_positions.action_scores
    start = scores[scored_positions.plies == 0]
    np.testing.assert_array_equal(start, [[-2, -1, 0, 1, 0, -1, -2]])


def test_positions_by_class_are_counted_by_class():
    """The classes are AlphaZero.jl's: by the plies played, and by those left under best play."""
    suite = GameSuites(make("connect_four")).fixed[1]
    assert suite.name == "scored positions by class"
    names = ["begin-hard", "begin-medium", "begin-easy", "middle-medium", "middle-easy", "end-easy"]
    best = score_actions(suite, suite.action_scores.argmax(-1))
    assert [(b.name, b.positions, b.mistakes) for b in best.buckets] == [(n, 400, 0) for n in names]
    # The score of a win counts the stones that its side has left, of 21 in all; so the plies left
    # follow from it, and with the plies played the class.
    for name, plies, scores in zip(suite.classes, suite.plies, suite.action_scores, strict=True):
        stage, difficulty = name.split("-")
        assert stage == ("begin" if plies <= 14 else "middle" if plies <= 28 else "end")
        score = scores.max()
        end = 42 if score == 0 else 42 - 2 * (abs(score) - 1) - ((plies % 2 == 0) == (score > 0))
        left = end - plies
        assert difficulty == ("easy" if left < 14 else "medium" if left < 28 else "hard")
    worst = np.where(np.isfinite(suite.action_scores), suite.action_scores, 99).argmin(-1)
    player = PlayerReport("worst", (score_actions(suite, worst),), (), ())
    rates = player.class_rates()
    assert list(rates) == names
    assert rates["begin-hard"] == player.scores[0].buckets[0].mistakes / 400 > 0.5
    plain = GameSuites(make("connect_four")).fixed[0]
    by_plies = PlayerReport("", (score_actions(plain, plain.action_scores.argmax(-1)),), (), ())
    assert by_plies.class_rates() == {}


def test_a_mistake_is_a_worse_result_not_a_slower_win(scored_positions):
    scores = scored_positions.action_scores
    best = score_actions(scored_positions, scores.argmax(-1))
    assert (best.mistakes, best.optimal, best.positions) == (0, 1938, 1938)
    # The worst legal move is a mistake exactly where a mistake is possible.
    worst = score_actions(scored_positions, np.where(np.isfinite(scores), scores, 99).argmin(-1))
    assert worst.mistakes == worst.risky == best.risky > 1000
    assert worst.illegal == 0
    # The worst of the moves that keep the result is no mistake, although it is not the best.
    keeping = np.isfinite(scores) & (np.sign(scores) == np.sign(scores.max(-1, keepdims=True)))
    slow = score_actions(scored_positions, np.where(keeping, scores, 99).argmin(-1))
    assert slow.mistakes == 0
    assert slow.optimal < 1500


def test_positions_of_the_first_players_own_games_are_a_suite_for_all(solution):
    players = {"mine": Lowest(GAME), "other": RandomPlayer(GAME)}
    card = report(GAME, players, own_games=64)
    for player in card.players:
        everywhere, own = player.scores
        assert everywhere.suite == "all reachable positions"
        assert own.suite == "positions of mine's games"
        assert (player.positions, player.mistakes) == (4520, everywhere.mistakes)
    assert own.positions == card.players[0].scores[1].positions
    # The test of `positions_of_games` checks these games; here only their values are checked.
    suite = GameSuites(GAME).of_own_games(Lowest(GAME), jax.random.key(3), 64)
    assert 20 < suite.num_positions < 400
    indices = solution.lookup(suite.states)
    np.testing.assert_array_equal(suite.action_scores, solution.action_values(indices))
    text = _rendered(card)
    assert text.count("all reachable positions") == text.count("positions of mine's games") == 1


def test_a_game_too_large_to_enumerate_is_measured_by_its_exact_values():
    game = make("dots_and_boxes_2x3")
    players = {"perfect": exact_player(game), "random": RandomPlayer(game)}
    card = report(game, players, own_games=16)
    perfect, careless = card.players
    assert [score.suite for score in perfect.scores] == [
        "positions of random games",
        "positions of perfect's games",
    ]
    for score in perfect.scores:
        assert (score.mistakes, score.illegal) == (0, 0)
        assert score.optimal == score.positions
    sample, own = careless.scores
    assert sample.positions == 2048
    assert [b.positions > 0 for b in sample.buckets] == [True] * 3
    assert 300 < sample.risky_mistakes < sample.risky < 2000
    # Good play spreads over few positions: 17 plies of 16 games at most.
    assert 50 < own.positions <= 16 * 17


def test_a_game_with_files_of_scores_is_not_measured_in_random_games():
    names = [suite.name for suite in GameSuites(make("connect_four")).fixed]
    assert names == ["scored positions", "scored positions by class"]


def test_a_game_with_no_suite_says_so():
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
    console.print(card)
    return console.file.getvalue()


def test_a_value_is_right_where_no_other_result_is_nearer(solution):
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Values(Lowest):
        game: Game = static()

        def values(self, key, states):
            return jnp.full(jax.tree.leaves(states)[0].shape[0], 0.4)

    (score,) = _report_of(GAME, Values(GAME)).values
    values = solution.action_values(solution.decisions).max(-1)
    assert (score.suite, score.positions) == ("all reachable positions", 4520)
    assert score.right == (np.sign(values) == 0).sum() > 0


def test_players_without_values_have_none_and_the_table_says_nothing_of_them(perfect):
    card = report(GAME, [perfect])
    assert card.players[0].values == ()
    assert "wrong values" not in str(card)
