"""Observations from the seat of a player who need not be the one to move, and their bounds."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import legal_actions, make, observation_bounds, observe_as
from azjax_envs.pgx.adapters import from_pgx, to_pgx

SMALL = ["connect_four_4x5", "gomoku_5x5", "mnk_4x3x3", "tic_tac_toe"]
STONES = [*SMALL, "hex_3x3", "go_3x3", "othello_4x4"]


def line(game, seed=1):
    """Returns the positions of a random game, each with what both players see of it."""
    random = np.random.default_rng(seed)
    step = jax.jit(game.step)
    look = jax.jit(lambda state: jnp.stack([observe_as(game, state, player) for player in (0, 1)]))
    states = [game.init()]
    while actions := legal_actions(game, states[-1]):
        states.append(step(states[-1], jnp.int32(random.choice(actions))))
    return [(state, np.asarray(look(state))) for state in states]


@pytest.mark.parametrize("name", STONES)
def test_own_and_other_stones_are_those_that_are_drawn(name):
    game, other = make(name), 8 if name == "go_3x3" else 1
    view = jax.jit(game.view)
    for state, seen in line(game):
        codes = np.asarray(view(state))[: np.prod(game.observation_shape[:2])] % 3
        for player in (0, 1):
            planes = seen[player].reshape(len(codes), -1)
            np.testing.assert_array_equal(planes[:, 0], codes == 1 + player)
            np.testing.assert_array_equal(planes[:, other], codes == 2 - player)
            if name in ("hex_3x3", "go_3x3"):  # the colour
                assert (planes[:, 2 if name == "hex_3x3" else 16] == (player == 0)).all()


@pytest.mark.parametrize("name", ["dots_and_boxes_2x2", "mancala_2x3", "hex_3x3", "othello_4x4"])
def test_the_player_to_move_sees_what_a_network_sees(name):
    game = make(name)
    look = jax.jit(lambda state: (game.current_player(state), game.observe(state)))
    for state, seen in line(game):
        player, observation = look(state)
        np.testing.assert_array_equal(seen[player], observation)


def test_boxes_are_those_of_the_owner():
    game = make("dots_and_boxes_2x2")
    look = jax.jit(lambda state: (1 - 2 * game.current_player(state)) * game.ownership(state))
    for state, seen in line(game):
        owners = np.asarray(look(state))
        for player, mine in ((0, owners), (1, -owners)):
            planes = seen[player].reshape(len(mine), -1)
            np.testing.assert_array_equal(planes[:, 2], mine == 1)
            np.testing.assert_array_equal(planes[:, 3], mine == -1)


def test_seeds_are_those_of_the_player():
    game = make("mancala_2x3")
    for state, seen in line(game)[:-1]:
        pits = np.asarray(game._by_player(state))
        for player in (0, 1):
            own, other = pits[player], pits[1 - player]
            np.testing.assert_allclose(seen[player][1, 1:-1, 1] * 5, own[:-1])
            np.testing.assert_allclose(seen[player][0, 1:-1, 1] * 5, other[-2::-1])
            np.testing.assert_allclose(seen[player][0, [-1, 0], 0] * 6, [own[-1], other[-1]])


@pytest.mark.parametrize(
    ("name", "text", "read", "skipped"),
    [
        ("chess", "r3k2r/ppp2ppp/2n5/3pP3/8/2N5/PPP2PPP/R3K1R1 {} Qkq - 7 9", "from_fen", 113),
        ("gardner_chess", "rnbqk/pp1pp/2p2/PPPPP/RNBQK {} - - 3 2", "from_fen", 113),
        (
            "shogi",
            "lnsgk1snl/1r4gb1/ppppppp1p/9/9/9/PPPPPPP1P/1B5R1/LNSGKGSNL {} 2p 5",
            "from_sfen",
            361,
        ),
    ],
    ids=["chess", "gardner_chess", "shogi"],
)
def test_the_other_side_of_a_board(name, text, read, skipped):
    """The other player sees what he would see if he were to move, but for the number of plies."""
    game = make(name)
    sides = ("b", "w") if name == "shogi" else ("w", "b")
    first, second = (getattr(game, read)(text.format(side)) for side in sides)
    kept = np.arange(game.observation_shape[-1]) != skipped
    look = jax.jit(lambda state: (game.observe(state), game.observe_other(state)))
    (own, other), (swapped, swapped_other) = look(first), look(second)
    np.testing.assert_array_equal(other[..., kept], swapped[..., kept])
    np.testing.assert_array_equal(swapped_other[..., kept], own[..., kept])
    assert not np.array_equal(own, swapped)


def test_pgx_in_both_directions():
    ours, theirs = make("tic_tac_toe"), from_pgx("tic_tac_toe")
    env = to_pgx(ours)
    start = env.init(jax.random.key(0))
    step = jax.jit(lambda a, b, c, x: (ours.step(a, x), theirs.step(b, x), env.step(c, x)))

    @jax.jit
    def look(a, b, c, player):
        there = env._observe(c, player ^ start._first)
        return observe_as(ours, a, player), observe_as(theirs, b, player), there

    with jax.numpy_rank_promotion("allow"):
        states = (ours.init(), theirs.init(), start)
        for action in (4, 0, 8):
            states = step(*states, action)
            for player in (0, 1):
                seen, theirs_seen, there = look(*states, player)
                np.testing.assert_array_equal(theirs_seen, seen)
                np.testing.assert_array_equal(there, seen)


def test_bounds():
    @dataclasses.dataclass(frozen=True)
    class Bare:
        """A game without optional parts."""

        def observe(self, state):
            return state

    assert observation_bounds(Bare()) == observation_bounds(make("go")) == (0.0, 1.0)
    assert observe_as(Bare(), 3, 1) == 3
    game = make("mancala_1x10")
    low, high = observation_bounds(game)
    seen = np.stack([seen for _, seen in line(game)])
    assert 0 == low == seen.min() < 1 < seen.max() <= high
    assert observation_bounds(make("mancala")) == (0.0, 48 / 13)
