"""Lists of legal moves: their contents, and searches with them against searches of all actions."""

import functools
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import HasFewLegalActions, make
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

from azjax.config import SearchConfig
from azjax.search.listed_moves import ListedMoves, has_few_legal_actions, legal_actions
from azjax.search.search import Exploration, search
from tests.oracles.searches import make_evaluate, random_params, random_positions

list_all = functools.partial(jax.jit, static_argnums=1)(legal_actions)


@pytest.mark.parametrize("size", [1, 40, 70])
@settings(deadline=None)
@given(mask=arrays(bool, 70))
def test_a_list_has_the_legal_actions_in_order(size, mask):
    actions, count = list_all(mask, size)
    expected = np.flatnonzero(mask)[:size]
    assert count == len(expected)
    np.testing.assert_array_equal(actions[:count], expected)
    assert not actions[int(count) :].any()


@pytest.mark.parametrize(
    ("fen", "count"),
    [
        # Petrovic's position, and the start.
        ("R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1", 218),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 20),
    ],
)
def test_no_move_of_chess_is_left_out(fen, count):
    game = make("chess")
    state = game.from_fen(fen)
    listed = jax.jit(ListedMoves(game).list_moves)(state)
    assert listed.count == count
    np.testing.assert_array_equal(
        listed.actions[:count], np.flatnonzero(game.legal_action_mask(state))
    )


def test_games_with_lists():
    assert [
        name
        for name in ("chess", "gardner_chess", "shogi", "othello", "go_9x9")
        if has_few_legal_actions(make(name))
    ] == ["chess", "gardner_chess", "shogi"]
    assert isinstance(make("shogi"), HasFewLegalActions)


@functools.lru_cache
def both_searches(name, algorithm):
    """Returns a search with lists and one of all actions, of the same positions."""
    game = make(name)
    states = jax.jit(random_positions, static_argnums=(0, 2))(game, jax.random.key(0), 32)
    config = SearchConfig(algorithm, num_simulations=24)
    evaluate, params = make_evaluate(game), random_params(game, jax.random.key(1))

    def find(states):
        return search(game, evaluate, params, jax.random.key(2), states, config=config)

    with_lists = jax.jit(find)(states)
    with pytest.MonkeyPatch.context() as patch:
        module = importlib.import_module("azjax.search.search")  # not the function of its name
        patch.setattr(module, "has_few_legal_actions", lambda game: False)
        of_all = jax.jit(lambda states: find(states))(states)
    return game, states, with_lists, of_all


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        ("gardner_chess", "gumbel"),
        ("gardner_chess", "puct"),
        pytest.param("shogi", "gumbel", marks=pytest.mark.slow),
    ],
)
def test_a_search_with_lists_finds_what_one_of_all_actions_finds(name, algorithm):
    """Sums over fewer numbers are rounded otherwise, which may tip a search here and there."""
    game, states, with_lists, of_all = both_searches(name, algorithm)
    over = np.asarray(jax.vmap(game.is_terminal)(states))
    assert (~over).sum() > 24
    same = (np.asarray(with_lists.visits) == of_all.visits).all(-1)
    assert same[~over].mean() > 0.9
    alike = same & ~over
    np.testing.assert_array_equal(with_lists.action[alike], of_all.action[alike])
    for field in ("policy", "prior", "action_values", "value"):
        found, expected = getattr(with_lists, field), getattr(of_all, field)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found[alike], expected[alike], atol=2e-5)
    mask = np.asarray(jax.vmap(game.legal_action_mask)(states))
    assert not np.asarray(with_lists.policy)[~mask].any()
    assert mask[np.arange(32), with_lists.action][~over].all()


def test_noise_falls_on_every_legal_move():
    game = make("gardner_chess")
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (256, *x.shape)), game.init())
    config = SearchConfig("gumbel", num_simulations=1)
    evaluate, params = make_evaluate(game), random_params(game, jax.random.key(1))
    flat = jax.tree.map(jnp.zeros_like, params)
    found = jax.jit(
        lambda key: (
            search(
                game, evaluate, flat, key, states, config=config, exploration=Exploration(1.0)
            ).action
        )
    )(jax.random.key(4))
    legal = np.flatnonzero(game.legal_action_mask(game.init()))
    counts = np.bincount(found, minlength=game.num_actions)
    assert counts[legal].min() > 256 / len(legal) / 4
    assert counts.sum() == counts[legal].sum()
