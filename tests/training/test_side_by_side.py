"""Whole trainings side by side: `vmap` over keys and over numbers of the config."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

import azjax
from azjax.config.toml import config_from_dict
from azjax.errors import UserError
from azjax.sharding import make_mesh
from tests import tiny

GAME = make("tic_tac_toe")
SEEDS = 2
CYCLES = 4
KEYS = jnp.stack([jax.random.PRNGKey(seed) for seed in range(SEEDS)])
# Rounding differs between one training and several: the sums of a product are added in another
# order. A search that then takes another move would show in every figure of the lane.
CLOSE = {"rtol": 1e-3, "atol": 1e-4}


def run(init, cycle, key):
    """Returns the last state and the metrics of every cycle."""
    state, log = init(key), []
    for _ in range(CYCLES):
        # Two calls in flight could wait for each other on several CPU devices.
        state, metrics = jax.block_until_ready(cycle(state))
        log.append(metrics)
    return jax.device_get(state), jax.device_get(log)


def check_lanes(together, alone):
    """Checks that each lane did what its lone run did, and that the lanes differ."""
    for lane, own in alone.items():
        in_lane = jax.tree.map(lambda x, lane=lane: x[lane], together)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, **CLOSE), in_lane, own)
    last = together[1][-1]
    assert last["train/updates"].tolist() == [1] * SEEDS
    assert len(set(last["train/param_norm"].tolist())) == SEEDS


@pytest.mark.parametrize(("devices", "actor"), [(1, "latest"), (2, "gated")])
def test_seeds(devices, actor):
    trainer = tiny.trainer(devices, selfplay={"actor": actor})
    init, cycle = jax.jit(jax.vmap(trainer.init)), jax.jit(jax.vmap(trainer.cycle))
    together = run(init, cycle, KEYS)
    alone = {lane: run(trainer.init, trainer.cycle, key) for lane, key in enumerate(KEYS)}
    check_lanes(together, alone)


LEARNING = {
    "learning_rate": [1e-3, 1e-2],
    "weight_decay": [0.0, 0.1],
    "l2": [0.1, 0.2],
    "root_value_weight": [0.0, 0.5],
    "value_weight": [1.0, 4.0],
}
SEARCH = {
    "gumbel": {"gumbel": {"value_scale": [0.1, 0.3]}},
    "puct": {
        "puct": {
            "pb_c_init": [1.25, 2.0],
            "dirichlet_fraction": [0.25, 0.0],
            "dirichlet_concentration": [10.0, 1.0],
        }
    },
}
SELFPLAY = {"temperature": [1.0, 0.5]}


@pytest.mark.parametrize(("devices", "algorithm"), [(1, "gumbel"), (2, "puct")])
def test_numbers_of_the_config(devices, algorithm):
    numbers = {"learning": LEARNING, "search": SEARCH[algorithm], "selfplay": SELFPLAY}
    mesh = make_mesh(jax.devices()[:devices])

    def trainer(numbers):
        search = {"algorithm": algorithm, "num_simulations": 4, **numbers["search"]}
        return azjax.make_trainer(GAME, tiny.config(**{**numbers, "search": search}), mesh)

    def each(change):
        return jax.tree.map(change, numbers, is_leaf=lambda x: isinstance(x, list))

    init = jax.jit(jax.vmap(lambda key, numbers: trainer(numbers).init(key)))
    cycle = jax.jit(jax.vmap(lambda state, numbers: trainer(numbers).cycle(state)))
    arrays = each(jnp.asarray)
    together = run(lambda key: init(key, arrays), lambda state: cycle(state, arrays), KEYS)
    assert len(set(together[1][-1]["train/learning_rate"].tolist())) == SEEDS
    lane = 1  # each lone run is compiled anew
    own = trainer(each(lambda values: values[lane]))
    check_lanes(together, {lane: run(own.init, own.cycle, KEYS[lane])})


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("learning", "batch_size"),
        ("learning", "schedule"),
        ("selfplay", "full_search_fraction"),
        ("selfplay", "resign_false_positive_rate"),
    ],
)
def test_what_decides_a_program_must_be_plain(section, key):
    def build(number):
        config_from_dict({section: {key: number}})

    with pytest.raises(UserError, match=f"^{section}.{key} decides shapes or programs, so jax"):
        jax.vmap(build)(jnp.ones(2))


def test_a_replaced_value_must_be_plain():
    with pytest.raises(UserError, match=r"^learning\.batch_size decides shapes"):
        jax.vmap(lambda x: replace(tiny.config().learning, batch_size=x))(jnp.ones(2, int))
