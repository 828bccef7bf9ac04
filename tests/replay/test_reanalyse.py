import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from azjax.config import Config
from azjax.games import make_game
from azjax.network.network import Network
from azjax.replay import reanalyse as module
from azjax.replay.buffer import append, take
from azjax.replay.reanalyse import places_to_write, reanalyse
from azjax.search.model import network_evaluate
from azjax.search.search import Exploration, search
from tests import tiny
from tests.replay.test_buffer import (
    ACTIONS,
    LANES,
    RING,
    as_transitions,
    new_ring,
    random_transitions,
)

CHANGES = {"replay": {"capacity_plies": 16, "reanalyse_positions": 8}}


@functools.lru_cache
def window():
    trainer = tiny.trainer(1, **CHANGES)
    state = tiny.start(trainer)
    for _ in range(2):
        state, _ = trainer.cycle(state)
    return trainer.config, state


@functools.partial(jax.jit, static_argnums=0)
def reanalysed(config, variables, replay, indices, known):
    game = make_game(config)
    evaluate = network_evaluate(game, Network(game.observation_shape, 9, config.network))
    after = reanalyse(game, evaluate, variables, jax.random.key(3), replay, indices, known, config)
    found = search(
        game,
        evaluate,
        variables,
        jax.random.key(3),
        take(replay, indices).states,
        config=config.search,
        exploration=Exploration(gumbel_scale=1.0),
    )
    return after, found


def test_a_fresh_search_takes_the_old_ones_place():
    config, state = window()
    other = jax.tree.map(
        lambda x: x + 0.3 * jnp.cos(jnp.arange(x.size)).reshape(x.shape), state.acting
    )
    indices = jnp.asarray([3, 50, 77, 200])
    after, found = reanalysed(config, other, state.replay, indices, True)
    before, after = jax.device_get((state.replay, after))
    rows, lanes = np.asarray(indices) // 16, np.asarray(indices) % 16
    np.testing.assert_array_equal(
        after.transitions.policy[rows, lanes], found.policy.astype(jnp.float16)
    )
    np.testing.assert_array_equal(
        after.transitions.value[rows, lanes], found.value.astype(jnp.float16)
    )
    assert (
        (after.transitions.policy[rows, lanes] != before.transitions.policy[rows, lanes])
        .any(-1)
        .all()
    )
    untouched = np.ones((16, 16), bool)
    untouched[rows, lanes] = False
    for name in ("policy", "value"):
        old, new = getattr(before.transitions, name), getattr(after.transitions, name)
        np.testing.assert_array_equal(old[untouched], new[untouched])
    for name in ("states", "reward", "discount", "full"):
        tiny.assert_equal(getattr(before.transitions, name), getattr(after.transitions, name))


def test_no_place_is_written_twice():
    indices = jnp.asarray([3, 50, 3, 200, 50, 3, 255, 0])
    places = jax.jit(places_to_write, static_argnums=2)(indices, True, 256)
    np.testing.assert_array_equal(places, [256, 257, 258, 200, 50, 3, 255, 0])
    beyond = places_to_write(indices, False, 256)
    np.testing.assert_array_equal(beyond, 256 + np.arange(8))


def test_of_equal_indices_the_last_search_is_stored(monkeypatch):
    """Its policy and its value are stored together."""
    rng = np.random.default_rng(0)
    replay = append(new_ring(), as_transitions(random_transitions(rng, RING, ends=0.3)))
    indices = [3, 50, 3, RING * LANES - 1, 50, 3]
    found = SimpleNamespace(
        policy=jnp.asarray(rng.dirichlet(np.ones(ACTIONS), len(indices)), jnp.float32),
        value=jnp.linspace(-1, 1, len(indices)),
    )
    monkeypatch.setattr(module, "search", lambda *_, **__: found)
    arguments = (None, None, None, jax.random.key(0), replay, jnp.asarray(indices))
    after = module.reanalyse(*arguments, jnp.asarray(True), Config())
    for name in ("policy", "value"):
        expected = np.array(getattr(replay.transitions, name))
        for index, new in zip(indices, np.asarray(getattr(found, name)), strict=True):
            expected[divmod(index, LANES)] = new
        np.testing.assert_array_equal(getattr(after.transitions, name), expected)
    same = module.reanalyse(*arguments, jnp.asarray(False), Config())
    tiny.assert_equal(same, replay)


def test_nothing_changes_where_nothing_is_known():
    config, state = window()
    after, _ = reanalysed(config, state.acting, state.replay, jnp.zeros(4, jnp.int32), False)
    tiny.assert_equal(after, state.replay)


def test_the_window_keeps_whole_states_to_search_from():
    """Tic-tac-toe's states are always whole, so this needs a game with unobserved parts."""
    for reanalysed_, kept in [(0, False), (4, True)]:
        game = {"name": "chess"}
        trainer = tiny.trainer(
            1,
            game=game,
            network={"channels": 4},
            replay={"capacity_plies": 16, "reanalyse_positions": reanalysed_},
        )
        transitions = trainer.abstract_state().replay.transitions
        assert (
            len(jax.tree.leaves(transitions.states))
            == len(jax.tree.leaves(jax.eval_shape(trainer.game.init)))
        ) == kept
