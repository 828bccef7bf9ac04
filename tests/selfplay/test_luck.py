"""The luck of rolls: without it, games between perfect players tell exact values."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import make

from azjax.chance import outcomes
from azjax.config import Config, SelfPlayConfig
from azjax.exact.chance_solver import chance_keys
from azjax.players.exact import exact_player, find_rows
from azjax.replay import buffer
from azjax.replay.targets import value_targets
from azjax.search.search import SearchResult
from azjax.selfplay.luck import roll_luck
from azjax.selfplay.openings import start_games
from azjax.selfplay.selfplay import play_plies
from tests.oracles.dice import rolled_positions
from tests.oracles.pig import Pig
from tests.oracles.searches import make_evaluate, random_params

GAME, LANES, PLIES = Pig(5), 64, 64
KEY = jax.random.key(0)


def perfect(params, key, states):
    """An evaluation by the exact values of all states, also of those before dice."""
    player = exact()
    row, found = find_rows(player.keys, chance_keys(GAME, states))
    return player.move_values(states), jnp.where(found, player.state_values[row], 0.0)


@functools.lru_cache
def exact():
    return exact_player(GAME)


def best_moves(game, evaluate, params, key, states, **_):
    logits, value = evaluate(params, key, states)
    action = jnp.argmax(logits, axis=-1)
    policy = jax.nn.one_hot(action, game.num_actions)
    return SearchResult(action, policy, policy.astype(jnp.int32), policy, policy, value)


@functools.lru_cache
def perfect_games():
    """Returns a ring of plies between perfect players, who begin at many positions."""
    played = SelfPlayConfig(parallel_games=LANES, plies_per_cycle=PLIES, opening_plies=20)
    config = Config(selfplay=played)
    exact()  # solved outside of the compiled function

    @jax.jit
    def run(key):
        games = start_games(GAME, key, LANES, played)
        plies = play_plies(GAME, perfect, (), key, games, config, search=best_moves)[1]
        return buffer.add(buffer.init(jax.tree.map(lambda x: x[0], plies), PLIES), plies)

    return run(KEY)


def test_results_without_luck_are_exact_values():
    ring = perfect_games()
    values = ring.transitions.value.astype(jnp.float32)
    for luck, error in ((True, 0.01), (False, 0.5)):
        before = ring.transitions.before_dice
        shown = before if luck else None
        rows = jax.tree.map(lambda x: x, ring.transitions)
        rows = type(rows)(**{**vars(rows), "before_dice": shown})
        plain = type(ring)(rows, ring.position, ring.filled)
        found = value_targets(plain, root_value_weight=0.0)
        valid = np.asarray(found.valid)
        assert valid.sum() > 1000
        wrong = np.abs(found.value - values)[valid]
        assert (wrong.max() < error) == luck


def test_luck_has_the_mean_0():
    """Of all rolls together, whatever the network says; in Ur and in backgammon's turns."""
    for name in ("ur_2", "hypergammon"):
        game = make(name)
        evaluate, params = make_evaluate(game), random_params(game, jax.random.key(1))
        states = rolled_positions(game, KEY, 64, 30)

        @jax.jit
        def all_luck(states, game=game, evaluate=evaluate, params=params):
            actions = jnp.argmax(jax.vmap(game.legal_action_mask)(states), axis=-1)
            moved = jax.vmap(game.step)(states, actions)
            shares, rolled = jax.vmap(functools.partial(outcomes, game))(moved)
            count = shares.shape[1]
            before = jax.tree.map(lambda x: jnp.repeat(x, count, axis=0), moved)
            after = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rolled)
            luck = roll_luck(game, evaluate, params, before, after, block=500)
            mover = jax.vmap(game.current_player)(after)
            first = jnp.where(mover == 0, luck, -luck).reshape(shares.shape)
            return shares, first, jax.vmap(game.is_chance)(moved)

        shares, luck, is_roll = jax.device_get(all_luck(states))
        assert is_roll.sum() > 10
        assert not luck[~is_roll].any()
        assert (np.abs(luck[is_roll]).max(axis=1) > 1e-3).mean() > 0.5
        np.testing.assert_allclose((shares * luck)[is_roll].sum(axis=1), 0, atol=1e-5)
