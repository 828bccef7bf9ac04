"""Outputs with targets of one's own."""

import functools
import io

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from rich.console import Console

import azjax
from azjax.errors import UserError
from azjax.files.game_record import start_game
from azjax.learning.batch import make_batch
from azjax.learning.symmetries import random_symmetries
from azjax.replay import value_targets
from azjax.replay.sampling import examples_at
from azjax.sharding import local, make_mesh
from tests import tiny
from tests.replay.own_buffers import Reservoir, Surprising
from tests.training import own_targets
from tests.training.own_targets import moves_left, next_policy

GAME = make("tic_tac_toe")
MOVES_LEFT = {"network": own_targets.moves_left_head(GAME), "targets": moves_left}
NEXT_POLICY = {
    "network": own_targets.next_policy_head(GAME),
    "targets": next_policy,
    "loss": own_targets.next_policy_loss,
}
CAPS = {
    "selfplay": {"full_search_fraction": 0.5, "fast_simulations": 2},
    "replay": {"min_positions": 64},
}


@functools.cache
def trained(name, devices=1):
    parts = {"moves left": MOVES_LEFT, "next policy": NEXT_POLICY}[name]
    config = tiny.config(**CAPS) if name == "next policy" else tiny.config()
    trainer = azjax.make_trainer(GAME, config, make_mesh(jax.devices()[:devices]), **parts)
    state = tiny.start(trainer)
    for _ in range(4):
        state, metrics = trainer.cycle(state)
    results = value_targets(state.replay, root_value_weight=0.0)
    results = trainer.targets(GAME, state.replay, results)
    return trainer, state, jax.device_get(results), jax.device_get(local(metrics))


def plies(state):
    """Returns the number of moves on each board of the ring, int32 [R, B]."""
    return np.asarray(jax.lax.population_count(state.replay.transitions.states.taken))


def test_moves_left():
    _, state, results, metrics = trained("moves left")
    rows, lanes = np.nonzero(results.valid)
    assert len(rows) > 96
    last = results.end[rows, lanes]
    count = plies(state)
    expected = count[last, lanes] - count[rows, lanes] + 1
    np.testing.assert_allclose(results.extra["moves_left"][rows, lanes], expected / 10)
    parts = metrics["train/policy_loss"] + metrics["train/value_loss"]
    whole = parts + 0.5 * metrics["train/moves_left_loss"]
    np.testing.assert_allclose(metrics["train/loss"], whole, rtol=1e-5)


def test_next_policy():
    """Under playout caps a fast search's policy is nobody's target."""
    _, state, results, metrics = trained("next policy")
    stored, found = jax.device_get(state.replay.transitions), results.extra["next_policy"]
    rows, lanes = np.nonzero(results.valid)
    following = (rows + 1) % len(found)
    known = (results.end[rows, lanes] != rows) & stored.learn[following, lanes]
    assert 0 < known.sum() < len(known)
    np.testing.assert_array_equal(np.isnan(found[rows, lanes]).all(-1), ~known)
    np.testing.assert_array_equal(found[rows, lanes][known], stored.policy[following, lanes][known])
    parts = metrics["train/policy_loss"] + metrics["train/value_loss"]
    whole = parts + 0.15 * metrics["train/next_policy_loss"]
    np.testing.assert_allclose(metrics["train/loss"], whole, rtol=1e-5)


def test_two_devices_learn_them():
    _, _, _, metrics = trained("moves left", devices=2)
    assert 0 < metrics["train/moves_left_loss"] < 2


def test_targets_turn_with_the_position():
    """A policy's symmetry is its position's; what is no board and no policy stays."""
    _, state, results, _ = trained("next policy")
    indices = jnp.asarray(np.flatnonzero(results.valid)[:32])
    sample = examples_at(state.replay, jax.tree.map(jnp.asarray, results), indices)
    sample = tiny.replace(sample, targets={"policy again": sample.transitions.policy})
    batch = make_batch(GAME, jax.random.key(0), sample, symmetries=True)
    np.testing.assert_array_equal(batch.targets["policy again"], batch.policy)
    bins = {"bins": jnp.arange(63.0).reshape(1, 9, 7), "one": jnp.arange(7.0).reshape(1, 7, 1)}
    rows = (jnp.zeros((1, 6, 7, 2)), jnp.zeros((1, 7)), jnp.ones((1, 7), bool))
    turned = [
        random_symmetries(make("connect_four"), jax.random.key(i), *rows, bins)[3] for i in range(9)
    ]
    assert {x["bins"][0, 0, 0].item() for x in turned} == {0.0, 6.0}  # seven columns
    assert {x["one"][0, 0, 0].item() for x in turned} == {0.0}


def test_a_config_names_them_and_a_run_goes_on(tmp_path):
    here = "tests.training.own_targets:"
    config = tiny.config(
        network={"module": here + "named_head"},
        learning={"targets": here + "named", "targets_options": {"scale": 0.5}},
        evaluation={"every": 0},
        cycles=4,
    )
    silent = Console(file=io.StringIO())
    whole = azjax.train(config, tmp_path / "a", console=silent)
    stop = lambda progress: progress.cycle == 2  # noqa: E731
    azjax.train(config, tmp_path / "b", console=silent, on_cycle=stop)
    tiny.assert_equal(azjax.resume(tmp_path / "b", console=silent), whole)
    assert azjax.read_metrics(tmp_path / "a")[-1]["train/moves_left_loss"] > 0
    azjax.train(config, tmp_path / "c", console=silent, on_cycle=stop, targets=moves_left)
    with pytest.raises(UserError, match=r"learning\.targets = .* again: targets=\.\.\."):
        azjax.resume(tmp_path / "c", console=silent)


def test_recorded_games_have_them_too():
    record = start_game(GAME)
    for cell in (0, 1, 3, 4, 6):
        record = record.play(cell)
    data = azjax.dataset(GAME, [record, record])
    trainer, *_ = trained("moves left")
    found = data.with_targets(GAME, trainer.targets).sample.targets["moves_left"]
    np.testing.assert_allclose(found, [0.5, 0.4, 0.3, 0.2, 0.1] * 2)


def wrong(targets, **parts):
    return {**MOVES_LEFT, "targets": targets, **parts}


MISTAKES = {
    "an unknown name": (
        wrong(lambda game, transitions, results: {"pieces": results.value}),
        "^targets: the network has no output 'pieces'; it has 'moves_left'$",
    ),
    "a network without outputs": (
        {"targets": moves_left},
        "no output 'moves_left'; it has no more than policy and value$",
    ),
    "another shape than the output": (
        wrong(lambda game, transitions, results: {"moves_left": results.outcome}),
        r"^targets: moves_left must have the shape \[\] of the network's .*, given \[3\]; for",
    ),
    "a number": (
        wrong(lambda game, transitions, results: {"moves_left": 3.0}),
        "^targets: moves_left must be an array, not a float",
    ),
    "one lane": (
        wrong(lambda game, transitions, results: {"moves_left": results.value[:, 0]}),
        r"^targets: moves_left must have the shape \[16, 4, \.\.\.\], .*, given \[16\]",
    ),
    "no dict": (
        wrong(lambda game, transitions, results: results.value),
        "^targets must return a dict of arrays by name, not a ",
    ),
    "a name of azjax": (
        wrong(lambda game, transitions, results: {"policy": results.value}),
        "^targets: 'policy' is azjax's own; choose another name",
    ),
    "other arguments": (
        wrong(lambda game, transitions: {}),
        "^targets: .*takes 2 positional arguments but 3 were given",
    ),
    "no function": (wrong(3), r"^targets must be a function of \(game, .*, not a int$"),
    "a buffer without them": (
        wrong(moves_left, replay=Reservoir()),
        "^replay: what sample returns must have the same structure as what ",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    parts, message = MISTAKES[name]
    with pytest.raises(UserError, match=message):
        azjax.make_trainer(GAME, tiny.config(), make_mesh(jax.devices()[:4]), **parts)


def test_a_ring_of_ones_own_has_them():
    azjax.make_trainer(GAME, tiny.config(), **wrong(moves_left, replay=Surprising()))
