import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import make

from azjax.players.random_player import RandomPlayer


def test_player():
    game = make("tic_tac_toe")
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (64, *x.shape)), game.init())
    actions = RandomPlayer(game)(jax.random.key(0), states)
    assert actions.shape == (64,)
    assert actions.dtype == jnp.int32
    assert set(np.asarray(actions)) == set(range(9))
