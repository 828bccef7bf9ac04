import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.config import NetworkConfig, PUCTConfig, SearchConfig
from azjax.network.two_headed import make_network
from azjax.players.base import Player
from azjax.players.minimax import MinimaxPlayer
from azjax.players.monte_carlo import MonteCarloPlayer
from azjax.players.network_players import PolicyPlayer, SearchPlayer, ValuePlayer
from tests.oracles.searches import random_positions
from tests.players.positions import after

TIC_TAC_TOE, DOTS = make("tic_tac_toe"), make("dots_and_boxes_2x2")
BATCH, SIMULATIONS = 64, 24


def resolve_network(game):
    config = NetworkConfig(architecture="mlp", blocks=1, channels=16, norm="none", value_hidden=8)
    return make_network(game, config)


@functools.lru_cache
def variables_of(game, seed=0):
    """Returns an untrained network with large parameters, so that moves differ in value."""
    variables = jax.jit(resolve_network(game).init)(jax.random.key(seed))
    return jax.tree.map(lambda x: 8 * x, variables)


def player_of(kind, game, seed=0, **config):
    arguments = (game, resolve_network(game), variables_of(game, seed))
    if kind is SearchPlayer:
        return kind(*arguments, SearchConfig(num_simulations=SIMULATIONS, **config))
    return kind(*arguments)


TRACES = []


@functools.partial(
    jax.jit, static_argnums=3, compiler_options={"xla_backend_optimization_level": 0}
)
def call(player, key, states, analyse=False):
    TRACES.append(player.name)
    return player.analyse(key, states) if analyse else player(key, states)


@jax.jit
def predict(player, states):
    return player.network.apply(player.variables, jax.vmap(player.game.observe)(states))


def positions(game):
    states = random_positions(game, jax.random.key(5), BATCH)
    legal = np.asarray(jax.vmap(game.legal_action_mask)(states))
    assert 0 < legal.any(-1).sum() < BATCH
    return states, legal


@pytest.mark.parametrize("kind", [PolicyPlayer, ValuePlayer, SearchPlayer])
def test_players_are_arguments_of_jitted_functions(kind):
    """Other variables, even numpy arrays from disk, do not trace again, and change the moves."""
    states, legal = positions(TIC_TAC_TOE)
    TRACES.clear()
    moves = []
    for seed in range(3):
        player = player_of(kind, TIC_TAC_TOE, seed)
        assert isinstance(player, Player)
        assert isinstance(player.name, str)
        moves.append(np.asarray(call(player, jax.random.key(0), states)))
        assert moves[-1].dtype == np.int32
        playing = legal.any(-1)
        assert legal[np.arange(BATCH), moves[-1]][playing].all()
        assert ((moves[-1] >= 0) & (moves[-1] < 9)).all()
    assert len(TRACES) == 1
    assert (moves[0] != moves[1]).any()
    assert (moves[1] != moves[2]).any()


def test_policy_player_plays_the_likeliest_legal_move():
    states, legal = positions(TIC_TAC_TOE)
    player = player_of(PolicyPlayer, TIC_TAC_TOE)
    logits = np.asarray(predict(player, states).policy_logits)
    expected = np.where(legal, logits, -np.inf).argmax(-1)
    playing = legal.any(-1)
    moves = call(player, jax.random.key(0), states)
    np.testing.assert_array_equal(moves[playing], expected[playing])
    # The network alone would have played moves that are not legal.
    assert not legal[np.arange(BATCH), logits.argmax(-1)][playing].all()


@pytest.mark.parametrize("game", [TIC_TAC_TOE, DOTS], ids=lambda game: game.name)
def test_value_player_looks_one_move_ahead(game):
    """If the mover moves again, the value is the mover's own."""
    states, legal = positions(game)
    player = player_of(ValuePlayer, game)
    mover = np.asarray(jax.vmap(game.current_player)(states))
    step = jax.jit(jax.vmap(game.step, in_axes=(0, None)))
    scores = np.full(legal.shape, -np.inf)
    turned = set()
    for action in range(game.num_actions):
        following = step(states, jnp.asarray(action))
        over = np.asarray(jax.vmap(game.is_terminal)(following))
        value = np.asarray(predict(player, following).value)
        same = np.asarray(jax.vmap(game.current_player)(following)) == mover
        result = np.asarray(jax.vmap(game.returns)(following))[np.arange(BATCH), mover]
        score = np.where(over, result, np.where(same, value, -value))
        scores[:, action] = np.where(legal[:, action], score, -np.inf)
        turned |= set(same[legal[:, action] & ~over])
    assert turned == ({False, True} if game is DOTS else {False})
    moves = np.asarray(call(player, jax.random.key(0), states))
    playing = legal.any(-1)
    chosen = scores[np.arange(BATCH), moves]
    np.testing.assert_allclose(chosen[playing], scores.max(-1)[playing], atol=1e-5)


def test_wins_in_one():
    lines = [[0, 3, 1, 4], [0, 3, 1, 4, 8]]  # X wins at 2, O at 5
    states = after(TIC_TAC_TOE, lines + [[]] * (BATCH - 2))
    untrained = jax.tree.map(lambda x: x / 8, variables_of(TIC_TAC_TOE))
    for player in (
        player_of(ValuePlayer, TIC_TAC_TOE),
        player_of(SearchPlayer, TIC_TAC_TOE),
        player_of(SearchPlayer, TIC_TAC_TOE, algorithm="puct"),
    ):
        player = dataclasses.replace(player, variables=untrained)
        moves = call(player, jax.random.key(0), states)
        np.testing.assert_array_equal(moves[:2], [2, 5])


@pytest.mark.parametrize("algorithm", ["gumbel", "puct"])
def test_analysis_is_complete(algorithm):
    states, legal = positions(TIC_TAC_TOE)
    playing = legal.any(-1)
    player = player_of(
        SearchPlayer, TIC_TAC_TOE, algorithm=algorithm, puct=PUCTConfig(dirichlet_fraction=1.0)
    )
    assert player.name == f"search:{SIMULATIONS}"
    found = call(player, jax.random.key(1), states, True)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(found))
    for name, shape, dtype in [
        ("action", (BATCH,), np.int32),
        ("visits", (BATCH, 9), np.int32),
        ("policy", (BATCH, 9), np.float32),
        ("prior", (BATCH, 9), np.float32),
        ("action_values", (BATCH, 9), np.float32),
        ("value", (BATCH,), np.float32),
    ]:
        assert getattr(found, name).shape == shape
        assert getattr(found, name).dtype == dtype
    found = jax.tree.map(np.asarray, found)
    has_choice = legal.sum(-1) > 1  # a forced move needs no whole search
    np.testing.assert_array_equal(found.visits.sum(-1)[has_choice], SIMULATIONS)
    np.testing.assert_allclose(found.policy.sum(-1), 1, rtol=1e-5)
    assert legal[np.arange(BATCH), found.action][playing].all()
    assert not found.action_values[found.visits == 0].any()
    # The value is that of the chosen move, from the mover's perspective.
    chosen = found.action_values[np.arange(BATCH), found.action]
    np.testing.assert_array_equal(found.value[playing], chosen[playing])
    assert (found.visits[np.arange(BATCH), found.action][playing] > 0).all()
    prediction = predict(player, states)
    # The prior has no noise, whatever its share in self-play is.
    logits = np.where(legal, prediction.policy_logits, -np.inf)[playing]
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    prior = weights / weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(found.prior[playing], prior, rtol=1e-4, atol=1e-6)
    if algorithm == "puct":
        np.testing.assert_array_equal(found.action, found.visits.argmax(-1))
        np.testing.assert_allclose(found.policy, found.visits / SIMULATIONS, rtol=1e-5)
    np.testing.assert_array_equal(call(player, jax.random.key(1), states), found.action)


def test_players_of_two_classes_have_unequal_structures():
    """Otherwise a jitted function could take the program of one for the other."""
    policy, value = (player_of(kind, TIC_TAC_TOE) for kind in (PolicyPlayer, ValuePlayer))
    assert jax.tree.structure(policy) != jax.tree.structure(value)
    assert jax.tree.structure(policy) == jax.tree.structure(player_of(PolicyPlayer, TIC_TAC_TOE, 1))
    again = jax.tree.unflatten(jax.tree.structure(value), jax.tree.leaves(value))
    assert (type(again), again.game, again.network) == (ValuePlayer, value.game, value.network)
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(value)]
    assert paths
    assert all(path.startswith(".variables") for path in paths)
    two = MonteCarloPlayer(TIC_TAC_TOE, 2), MinimaxPlayer(TIC_TAC_TOE, 2)
    assert jax.tree.structure(two[0]) != jax.tree.structure(two[1])
