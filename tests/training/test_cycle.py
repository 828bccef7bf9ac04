import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.errors import UserError
from azjax.games import make_game
from azjax.replay import buffer
from azjax.replay.targets import value_targets
from azjax.sharding import make_mesh
from azjax.training import gate as gate_module
from azjax.training.trainer import make_trainer
from tests import tiny

GATED = {"selfplay": {"actor": "gated"}}


@pytest.mark.parametrize("count", [1, 2, 4])
def test_cycles_on_a_mesh_of(count, devices):
    trainer = tiny.trainer(count)
    assert trainer.mesh.size == count
    assert [d.platform for d in trainer.mesh.devices.flat] == ["cpu"] * count
    state = tiny.start(trainer)
    used = {d for x in jax.tree.leaves(state) for d in x.sharding.device_set}
    assert used == set(devices[:count])
    shards = state.games.plies.addressable_shards
    assert len({s.device for s in shards}) == count
    assert {s.data.shape for s in shards} == {(16 // count,)}

    before = tiny.on_host(state.learner.variables["params"])
    metrics = {}
    for cycle in range(1, 4):
        state, metrics = trainer.cycle(state)
        plies = 8 * cycle
        assert int(state.cycle) == cycle
        assert int(state.replay.filled) == min(plies, 16)
        assert int(state.replay.position) == plies % 16
        assert float(metrics["selfplay/plies"]) == 8 * 16
    assert len(state.replay.transitions.reward.sharding.device_set) == count
    after = tiny.on_host(state.learner.variables["params"])
    assert any((a != b).any() for a, b in zip(*map(jax.tree.leaves, (before, after)), strict=True))
    # Arrays that should be the same on all devices are equal.
    for x in jax.tree.leaves((state.learner.variables, state.learner.optimizer_state)):
        copies = [np.asarray(s.data) for s in x.addressable_shards]
        assert len(copies) == count
        assert all((c == copies[0]).all() for c in copies)
    assert {
        *(
            "train/loss",
            "train/policy_loss",
            "train/value_loss",
            "train/grad_norm",
            "train/param_norm",
        ),
        *(
            "train/value_error",
            "selfplay/games_finished",
            "selfplay/plies",
            "selfplay/game_length",
            "selfplay/draw_rate",
        ),
        *(
            "selfplay/first_player_score",
            "selfplay/policy_entropy",
            "replay/positions",
            "train/updates",
            "train/learning_rate",
        ),
    } == metrics.keys()
    assert all(np.isfinite(float(x)) and x.shape == () for x in metrics.values()), metrics


def test_the_ring_holds_games_that_follow_the_rules_and_their_results():
    trainer = tiny.trainer(2)
    game = trainer.game
    state = tiny.start(trainer)
    for _ in range(3):  # one and a half times around the ring
        state, metrics = trainer.cycle(state)
    state = tiny.on_host(state)
    rows, position = state.replay.transitions, int(state.replay.position)
    order = [(position + t) % 16 for t in range(16)]  # oldest first
    found = value_targets(state.replay, root_value_weight=0.0)
    targets, known = map(np.asarray, (found.value, found.valid))
    assert known.sum() == float(metrics["replay/positions"])
    step = jax.jit(jax.vmap(jax.vmap(game.step, (None, 0)), (0, None)))
    movers = np.asarray(jax.vmap(jax.vmap(game.current_player))(rows.states))
    masks = np.asarray(jax.vmap(jax.vmap(game.legal_action_mask))(rows.states))
    # The search's policy is a distribution over legal moves.
    assert (rows.policy[~masks] == 0).all()
    np.testing.assert_allclose(rows.policy.astype(np.float32).sum(-1), 1, atol=2e-3)
    empty = jax.tree.map(np.asarray, game.init())
    seen = set()
    for lane in range(16):
        result, ended = None, False  # result for player 0 of the game that ended last, backwards
        for t in reversed(order):
            reward, discount = float(rows.reward[t, lane]), int(rows.discount[t, lane])
            if discount == 0:
                ended = True
                result = reward if movers[t, lane] == 0 else -reward
            else:
                assert discount == -1
                assert reward == 0
            assert known[t, lane] == ended
            if ended:
                assert targets[t, lane] == (result if movers[t, lane] == 0 else -result)
                seen.add(float(targets[t, lane]))
        for now, then in itertools.pairwise(order):
            here = jax.tree.map(lambda x, at=(now, lane): x[at], rows.states)
            there = jax.tree.map(lambda x, at=(then, lane): x[at], rows.states)
            if rows.discount[now, lane] == 0:
                tiny.assert_equal(there, empty)
            else:
                # One of the legal moves leads from this ply to the next.
                after = step(jax.tree.map(lambda x: x[None], here), np.arange(9))
                pairs = list(zip(*map(jax.tree.leaves, (after, there)), strict=True))
                legal = np.flatnonzero(masks[now, lane])
                assert sum(all((a[0, i] == b).all() for a, b in pairs) for i in legal) == 1
    assert {1.0, -1.0} <= seen


def test_updates_wait_for_enough_positions(monkeypatch):
    traced = count_calls(monkeypatch, buffer, "add")
    trainer = tiny.trainer(2, replay={"capacity_plies": 24, "min_positions": 160})
    state = tiny.start(trainer)
    waited = updated = 0
    for _ in range(6):
        old = tiny.on_host(
            (state.learner.variables, state.learner.optimizer_state, state.learner.num_updates)
        )
        state, metrics = trainer.cycle(state)
        ready = float(metrics["replay/positions"]) >= 160
        assert float(metrics["train/updates"]) == ready
        if ready:
            updated += 1
            continue
        waited += 1
        tiny.assert_equal(
            (state.learner.variables, state.learner.optimizer_state, state.learner.num_updates), old
        )
        assert np.isnan(float(metrics["train/loss"]))
    assert (waited > 0, updated > 1) == (True, True)
    assert int(state.learner.num_updates) == updated
    assert len(traced) == 1  # one trace for all cycles
    assert np.isfinite(float(metrics["train/loss"]))


def test_equal_seeds_are_equal_and_others_are_not():
    trainer = tiny.trainer(1)

    def trained(seed):
        state = tiny.start(trainer, seed)
        for _ in range(3):
            state, _ = trainer.cycle(state)
        return tiny.on_host(state)

    first = trained(0)
    tiny.assert_equal(first, trained(0))
    other = trained(1)
    assert (first.replay.transitions.policy != other.replay.transitions.policy).any()


def test_the_gated_network_plays_while_the_latest_learns():
    trainer = tiny.trainer(1, **GATED)
    plain = tiny.trainer(1)
    state, free = tiny.start(trainer), tiny.start(plain)
    gated = tiny.on_host(state.gated)
    tiny.assert_equal(gated, state.learner.variables)
    tiny.assert_equal(gated, free.learner.variables)
    for _ in range(4):
        state, _ = trainer.cycle(state)
        free, _ = plain.cycle(free)
    assert int(state.learner.num_updates) >= 2
    tiny.assert_equal(gated, state.gated)
    tiny.assert_equal(gated, state.acting)
    kernels = [x for x in tiny.leaves(state.learner.variables) if "kernel" in x]
    assert kernels
    for name in kernels:
        assert (tiny.leaves(state.learner.variables)[name] != tiny.leaves(gated)[name]).any()
    # The gated network plays: another one plays other games from the same state.
    replay = tiny.on_host(state.replay)
    assert (replay.transitions.policy != np.asarray(free.replay.transitions.policy)).any()


@pytest.mark.parametrize(("threshold", "passes"), [(0.0, True), (1.0, False)])
def test_gate(threshold, passes, monkeypatch):
    traced = count_calls(monkeypatch, gate_module, "match_scores")
    trainer = tiny.trainer(1, gate={"threshold": threshold}, **GATED)
    state = tiny.start(trainer)
    # Equal networks share the points, so the score is below 1.0.
    state, metrics = trainer.gate(state)
    assert 0.25 <= float(metrics["gate/score"]) <= 0.75
    assert float(metrics["gate/passed"]) == passes
    tiny.assert_equal(state.gated, state.learner.variables)
    state = tiny.with_learner(
        state, variables=jax.tree.map(lambda x: x + 0.01, state.learner.variables)
    )
    old = tiny.on_host(state)
    state, metrics = trainer.gate(state)
    assert 0 <= float(metrics["gate/score"]) <= 1
    assert float(metrics["gate/passed"]) == passes
    tiny.assert_equal(state.gated, old.learner.variables if passes else old.gated)
    # Only the gated network changes.
    tiny.assert_equal(tiny.replace(state, gated=None), tiny.replace(old, gated=None))
    assert len(traced) == 1


@pytest.mark.parametrize("change", [1.0, -1.0])
def test_the_gate_lets_the_better_one_through(change, monkeypatch):
    def larger_wins(game, player_a, player_b, key, pairs, opening_plies):
        a, b = (sum(map(jnp.sum, jax.tree.leaves(x.args[1]))) for x in (player_a, player_b))
        return jnp.full(2 * pairs, (a > b).astype(jnp.float32)), None, None

    monkeypatch.setattr(gate_module, "match_scores", larger_wins)
    trainer = tiny.trainer(1, gate={"games": 6}, **GATED)
    state = tiny.start(trainer)
    changed = jax.tree.map(lambda x: x + change, state.learner.variables)
    state, metrics = trainer.gate(tiny.with_learner(state, variables=changed))
    assert float(metrics["gate/passed"]) == (change > 0)
    assert float(metrics["gate/score"]) == (change > 0)


def test_a_gate_needs_a_gated_network():
    trainer = tiny.trainer(1)
    with pytest.raises(ValueError, match=re.escape('needs selfplay.actor = "gated"')):
        trainer.gate(tiny.start(trainer))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"selfplay": {"parallel_games": 18}},
            "selfplay.parallel_games = 18 must be a multiple of 4",
        ),
        ({"learning": {"batch_size": 15}}, "learning.batch_size = 15 must be a multiple of 4"),
        ({**GATED, "gate": {"games": 12}}, "gate.games = 12 must be a multiple of 8"),
    ],
)
def test_what_cannot_be_split_is_refused(changes, said, devices):
    config = tiny.config(**changes)
    with pytest.raises(UserError, match=re.escape(said)):
        make_trainer(make_game(config), config, make_mesh(devices))


def test_gate_games_do_not_matter_without_a_gate(devices):
    config = tiny.config(gate={"games": 10})
    make_trainer(make_game(config), config, make_mesh(devices))


def test_abstract_state_is_what_init_makes():
    trainer = tiny.trainer(2, **GATED)
    there, real = trainer.abstract_state(), tiny.start(trainer)
    for want, have in zip(*map(jax.tree.leaves, (there, real)), strict=True):
        assert (want.shape, want.dtype) == (have.shape, have.dtype)
        assert want.sharding.is_equivalent_to(have.sharding, have.ndim)


def count_calls(monkeypatch, module, name):
    """Returns a list that grows with each call of a module's function, so with each trace."""
    calls, function = [], getattr(module, name)

    def counted(*arguments):
        calls.append(1)
        return function(*arguments)

    monkeypatch.setattr(module, name, counted)
    return calls
