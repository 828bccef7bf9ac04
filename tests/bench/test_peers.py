"""The loops of `benchmarks/peers` play and learn, and stop with a clear line."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

PEERS = Path(__file__).parent.parent.parent / "benchmarks" / "peers"
TINY = {"architecture": "resnet", "blocks": 1, "channels": 4, "value_hidden": 4}


@pytest.fixture(scope="module")
def setting():
    sys.path.insert(0, str(PEERS))
    try:
        from setting import Setting

        yield Setting(TINY, games=4, plies=12, simulations=2, batch=16)
    finally:
        sys.path.remove(str(PEERS))


def arrays(contestant):
    return [np.asarray(x) for x in jax.tree.leaves(contestant.trained()[1]["params"])]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name"), [("azjax_loop", "EqualLoop"), ("pgx_loop", "PgxLoop")])
def test_an_iteration_plays_all_plies_and_learns(setting, module, name):
    contestant = getattr(__import__(module), name)(setting)
    before = arrays(contestant)
    # azjax learns once a game has ended on each of the tests' devices.
    works = [contestant.iterate() for _ in range(5)]
    assert works == [(48, 96)] * 5
    assert any((a != b).any() for a, b in zip(before, arrays(contestant), strict=True))


@pytest.mark.slow
def test_the_recipe_of_pgx_learns_results_of_ended_games_only(setting):
    import pgx_loop

    network = setting.make_network()
    variables = jax.jit(network.init)(jax.random.key(0))
    play = jax.jit(lambda v, k: pgx_loop.self_play(network, 8, 50, 2, v, k))
    samples = play(variables, jax.random.split(jax.random.key(1), 1))
    value, ended = np.asarray(samples.value), np.asarray(samples.has_value)
    assert ended.any()
    assert not ended.all()
    assert set(value[ended]) <= {-1.0, 0.0, 1.0}
    assert (np.abs(value[ended]) == 1).any()
    assert (value[~ended] == 0).all()
    # The winner and the loser take turns, so a game's results alternate up to its last ply.
    by_ply, done = value.reshape(50, 8), ended.reshape(50, 8)
    changes = by_ply[1:] != -by_ply[:-1]
    assert 0 < (changes & done[1:]).sum() < 8 * 50 / 7  # only where a game ends
    np.testing.assert_allclose(np.asarray(samples.policy).sum(-1), 1, atol=1e-5)


def test_pgx_shows_positions_as_azjax_does(setting):
    import pgx_loop

    pgx_loop.check_observations()


def test_a_folder_without_alpha_zero_general_is_refused(setting, tmp_path):
    import dataclasses

    import alpha_zero_general

    with pytest.raises(SystemExit, match=r"has no Coach\.py"):
        alpha_zero_general.AlphaZeroGeneral(dataclasses.replace(setting, checkout=str(tmp_path)))
