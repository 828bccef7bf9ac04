"""Trainings with a network, an optimizer, a loss, a search and a buffer of one's own."""

import re

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import optax
import pytest
from azjax_envs import init_batch, make

import azjax
from azjax.errors import UserError
from azjax.learning.update import resolve_optimizer
from azjax.replay import Ring
from azjax.search import make_recurrent_fn, mask_logits, search_result
from azjax.sharding import make_mesh
from tests import tiny
from tests.network.own_networks import Dense, LinenDense
from tests.replay.own_buffers import Kept, Reservoir, Surprising

GAME = make("tic_tac_toe")
CYCLES = 3
KEY = jax.random.key(0)


def own_network():
    return azjax.flax_network(lambda rngs: Dense(GAME, rngs=rngs))


def trained(config=None, devices=1, **parts):
    """Returns the trainer, the last state and the last metrics of a few cycles."""
    config = config or tiny.config()
    trainer = azjax.make_trainer(GAME, config, make_mesh(jax.devices()[:devices]), **parts)
    state, metrics = tiny.start(trainer), {}
    for _ in range(CYCLES):
        state, metrics = trainer.cycle(state)
    assert metrics["train/updates"] == 1
    return trainer, state, {name: float(x) for name, x in metrics.items()}


def mctx_search(game, evaluate, params, key, states, *, config, exploration):
    """A search by mctx's own loop."""
    mask = jax.vmap(game.legal_action_mask)(states)
    logits, value = evaluate(params, key, states)
    output = mctx.gumbel_muzero_policy(
        params,
        key,
        mctx.RootFnOutput(prior_logits=mask_logits(logits, mask), value=value, embedding=states),
        make_recurrent_fn(game, evaluate),
        config.num_simulations,
        invalid_actions=~mask,
        gumbel_scale=jnp.reshape(exploration.gumbel_scale, (-1, 1)),
    )
    return search_result(output)


@pytest.mark.parametrize("devices", [1, 2])
def test_everything_of_ones_own(devices):
    config = tiny.config()

    def loss(prediction, batch):
        total, metrics = azjax.alphazero_loss(prediction, batch)
        z_loss = jnp.mean(jax.nn.logsumexp(prediction.policy_logits, axis=-1) ** 2)
        return total + 0.5 * z_loss, metrics | {"z_loss": z_loss}

    trainer, state, metrics = trained(
        config,
        devices,
        network=own_network(),
        optimizer=optax.chain(optax.clip(0.1), optax.contrib.muon(1e-2)),
        loss=loss,
        search=mctx_search,
    )
    parts = metrics["train/policy_loss"] + metrics["train/value_loss"]
    np.testing.assert_allclose(
        metrics["train/loss"], parts + 0.5 * metrics["train/z_loss"], rtol=1e-5
    )
    assert trainer.learning_rate is None
    for x in jax.tree.leaves(state.learner.variables):
        copies = [np.asarray(s.data) for s in x.addressable_shards]
        assert all((c == copies[0]).all() for c in copies)
    untrained = trainer.network.init(KEY)
    assert jax.tree.structure(untrained) == jax.tree.structure(state.learner.variables)
    player = azjax.trained_player(trainer, state, simulations=2)
    assert player.search is mctx_search
    assert azjax.act(player, KEY, init_batch(GAME, KEY, 4)).shape == (4,)


def test_a_linen_module_learns():
    network = azjax.flax_network(lambda: LinenDense(GAME), observation_shape=GAME.observation_shape)
    _, state, metrics = trained(network=network)
    assert np.isfinite(metrics["train/loss"])
    assert state.learner.variables["stats"]["batch_stats"]


def test_the_built_in_parts_are_the_defaults():
    """Handed over, they train the same parameters to the last bit."""
    config = tiny.config()
    trainer, state, _ = trained(config)
    _, handed, _ = trained(
        config,
        network=trainer.network,
        optimizer=resolve_optimizer(config)[0],
        loss=azjax.alphazero_loss,
        search=azjax.search.search,
        replay=azjax.replay.Ring(),
    )
    jax.tree.map(np.testing.assert_array_equal, state.learner, handed.learner)


def test_an_optimizer_of_the_schedule():
    config = tiny.config(learning={"schedule": "constant", "warmup_updates": 0})
    trainer, _, _ = trained(config, optimizer=lambda rate: optax.adam(rate))
    assert float(trainer.learning_rate(5)) == pytest.approx(config.learning.learning_rate)


def extra(config, weight=1.0):
    """Returns a loss, as a config names it."""

    def loss(prediction, batch):
        total, metrics = azjax.alphazero_loss(prediction, batch)
        return total, metrics | {"weight": jnp.asarray(weight)}

    return loss


def sgd(rate, momentum=0.0):
    """Returns an optimizer, as a config names it."""
    return optax.sgd(rate, momentum)


def test_a_config_names_them():
    here = "tests.training.test_own_parts:"
    config = tiny.config(
        network={"module": "tests.network.own_networks:Dense", "options": {"width": 4}},
        learning={
            "optimizer": here + "sgd",
            "optimizer_options": {"momentum": 0.5},
            "loss": here + "extra",
            "loss_options": {"weight": 0.25},
        },
        search={"module": here + "mctx_search"},
        replay={"module": "tests.replay.own_buffers:Surprising", "options": {"least": 0.5}},
    )
    trainer, _, metrics = trained(config)
    assert metrics["train/weight"] == 0.25
    assert trainer.search is mctx_search
    assert trainer.learning_rate is not None


@pytest.mark.parametrize("devices", [1, 2])
def test_a_reservoir(devices):
    """Its arrays are its own, and each device has some of them."""
    _, state, metrics = trained(devices=devices, replay=Reservoir())
    assert isinstance(state.replay, Kept)
    assert state.replay.seen.shape == (devices,)
    assert state.replay.seen.sum() == metrics["replay/positions"] >= 96
    assert len(state.replay.seen.sharding.device_set) == devices


def test_a_buffer_that_was_handed_over_must_be_again(tmp_path):
    run, config = tmp_path / "run", tiny.config(evaluation={"every": 0}, cycles=2)
    azjax.train(config, run, replay=Surprising(), on_cycle=lambda progress: progress.cycle == 1)
    message = re.escape("replay.module = '<tests.replay.own_buffers.Surprising>' was handed over")
    with pytest.raises(UserError, match=message):
        azjax.resume(run)
    assert int(azjax.resume(run, replay=Surprising()).cycle) == 2


def no_result(*arguments, **options):
    return azjax.search.search(*arguments, **options)._replace(visits=jnp.zeros(3))


def wrong_learn(*arguments, **options):
    return azjax.search.search(*arguments, **options)._replace(learn=jnp.zeros(16))


def changed(**methods):
    """Returns a ring with other methods."""
    return type("Changed", (Ring,), methods)()


MISTAKES = {
    "network": ({"network": Dense}, UserError, "must be an azjax.Network, not a"),
    "optimizer": ({"optimizer": lambda rate: 3}, UserError, "must be one of optax, not a int"),
    "search": ({"search": no_result}, ValueError, r"visits of the search's result must be int32"),
    "search's learn": (
        {"search": wrong_learn},
        ValueError,
        r"learn of the search's result must be bool \[16\], given float32",
    ),
    "search's result": (
        {"search": lambda *_, **__: 3},
        ValueError,
        "must return a SearchResult, not a int",
    ),
    "replay without methods": (
        {"replay": object()},
        UserError,
        r"as azjax\.replay\.Ring\(\) is; object lacks init, add, targets, sample$",
    ),
    "replay's class": ({"replay": Reservoir}, UserError, r"is a class, so give Reservoir\(\)$"),
    "replay's add": (
        {"replay": changed(add=lambda self, replay, transitions: transitions)},
        UserError,
        "^replay: what add returns must have the same structure as what init returns",
    ),
    "replay's arguments": (
        {"replay": changed(init=lambda self, transition: transition)},
        UserError,
        r"^replay: .* takes 2 positional arguments but 3 were given$",
    ),
    "replay's targets": (
        {"replay": changed(targets=lambda self, replay, **_: replay)},
        UserError,
        "^replay: targets must return a pytree with an array `valid`, bool",
    ),
    "replay's sample": (
        {"replay": changed(sample=lambda self, replay, targets, key, n: targets)},
        UserError,
        r"^replay: sample must return an azjax\.replay\.Sample, not a Targets",
    ),
    "replay's sizes": (
        {"replay": changed(sample=lambda self, *rest: Ring.sample(self, *rest[:-1], 3))},
        UserError,
        r"^replay: what sample returns: transitions\S* must be \S+ \[16.*\], given \S+ \[3",
    ),
    "metric": (
        {"loss": lambda prediction, batch: (prediction.value.mean(), {"loss": 0.0})},
        ValueError,
        "cannot return the metric 'loss'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    parts, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        trained(**parts)
