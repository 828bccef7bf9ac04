import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.othello import Othello

from azjax.compact_states import drop_unobserved, restore_unobserved


def positions(game, plies):
    step = jax.jit(jax.vmap(game.step))
    states = jax.vmap(lambda _: game.init())(jnp.arange(3))
    for ply in range(plies):
        masks = np.asarray(jax.vmap(game.legal_action_mask)(states))
        states = step(states, jnp.array([np.flatnonzero(m)[ply % m.sum()] for m in masks]))
    return states


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "dots_and_boxes_2x2"])
def test_a_state_that_is_seen_whole_stays_whole(name):
    game = make(name)
    states = positions(game, 3)
    kept = drop_unobserved(game, states)
    assert jax.tree.structure(kept) == jax.tree.structure(states)
    assert all(map(np.array_equal, jax.tree.leaves(kept), jax.tree.leaves(states)))


def test_go_keeps_its_boards_and_not_its_history():
    game = make("go_3x3")
    states = positions(game, 5)
    kept = drop_unobserved(game, states)
    assert kept.history is None
    assert kept.fingerprint is None
    assert kept.boards is states.boards
    restored = restore_unobserved(game, kept)
    assert jax.tree.structure(restored) == jax.tree.structure(states)
    for method in (game.observe, game.legal_action_mask):
        see = jax.jit(jax.vmap(method))
        np.testing.assert_array_equal(see(restored), see(states))
    # They do differ in what was dropped.
    assert (states.history != restored.history).any()


@dataclasses.dataclass(frozen=True)
class Own(Othello):
    """A game that says nothing of its parts."""

    unobserved = ()


@dataclasses.dataclass(frozen=True)
class Rewritten(Own):
    def observe(self, state):
        return super().observe(state) + state.player.astype(jnp.float32)


@dataclasses.dataclass(frozen=True)
class Declared(Rewritten):
    unobserved = ("forfeited",)


def test_the_layout_follows_from_what_the_game_says_and_not_from_its_code():
    states = jax.vmap(lambda _: Own(4).init())(jnp.arange(3))
    for game in (Own(4), Rewritten(4)):
        assert jax.tree.structure(drop_unobserved(game, states)) == jax.tree.structure(states)
    kept = drop_unobserved(Declared(4), states)
    assert kept.forfeited is None
    assert kept.player is states.player
    assert drop_unobserved(Othello(4), states).player is None
