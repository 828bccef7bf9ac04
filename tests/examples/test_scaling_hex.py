"""The example of a study: its fit, its padding, and a tiny run of all of it."""

from pathlib import Path

import jax
import numpy as np
import pytest
from azjax_envs import init_batch, make

import azjax
from tests.examples.test_own_parts import load


@pytest.fixture
def scaling(monkeypatch):
    module = load("scaling_hex")
    sizes = {"CYCLES": {3: 2}, "WIDTHS": (4, 8), "SEEDS": 2, "PERFECT": {3: "random"}, "GAMES": 8}
    for name, value in (sizes | {"SEARCHED": (3, 4), "SIMULATIONS": (1, 2)}).items():
        monkeypatch.setattr(module, name, value)
    return module


def test_it_is_at_most_200_lines(scaling):
    assert len(Path(scaling.__file__).read_text().splitlines()) <= 200


def test_the_fit_finds_the_slopes(scaling):
    random = np.random.default_rng(0)
    cost, size = random.uniform(8, 12, 60), random.integers(3, 7, 60)
    elo = np.clip(400 * cost - 300 * size - 3200, -900, 0) + random.normal(0, 10, 60)
    found = scaling.fit(elo, cost, size)
    np.testing.assert_allclose(found[0, :2], [400, -300], rtol=0.05)
    low, high = np.percentile(found[1:], [2.5, 97.5], axis=0)
    assert (low[:2] < [400, -300]).all()
    assert (high[:2] > [400, -300]).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # two checkpoints give no slope
def test_a_tiny_study(scaling, tmp_path, capsys):
    scaling.main(tmp_path)
    printed = capsys.readouterr().out
    for name in ("Elo for 10 times", "compute for a larger", "search that 10 times"):
        assert f"{name} " in printed
    assert (tmp_path / "scaling.png").stat().st_size > 10_000
    # A padded network plays as its own.
    game, widest = make("hex_3x3"), scaling.files(tmp_path, 3, 8, seed=0)[0]
    file = scaling.files(tmp_path, 3, 4, seed=1)[-1]
    own, padded = azjax.load_player(file), scaling.load(str(file), game, widest)
    states = init_batch(game, jax.random.key(0), 4)
    observations = jax.vmap(game.observe)(states)
    a, b = (p.network.apply(p.variables, observations) for p in (own, padded))
    np.testing.assert_allclose(a.policy_logits, b.policy_logits, atol=1e-5)
    np.testing.assert_allclose(a.value, b.value, atol=1e-5)
    capsys.readouterr()
    scaling.main(tmp_path)  # everything is there
    assert ".safetensors" not in capsys.readouterr().out
