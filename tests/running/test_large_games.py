"""Gardner's chess, chess and shogi, trained from end to end with a tiny network."""

import io

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from rich.console import Console

from azjax.players.load import load_player
from azjax.replay.buffer import TopPolicy
from azjax.running.loop import train
from azjax.runs.metrics import read_metrics
from tests import tiny

# More plies than the longest game has, so that games end and updates are made.
CYCLES = {"gardner_chess": 5, "chess": 9, "shogi": 9}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("gardner_chess", marks=pytest.mark.slow),
        pytest.param("chess", marks=pytest.mark.slow),
        pytest.param("shogi", marks=pytest.mark.slow),
    ],
)
def test_trains_from_end_to_end(name, tmp_path):
    run_dir, console = tmp_path / name, Console(file=io.StringIO(), width=200)
    config = tiny.config(
        game={"name": name},
        cycles=CYCLES[name],
        network={"architecture": "resnet", "channels": 8, "policy_head": "planes"},
        selfplay={"parallel_games": 8, "plies_per_cycle": 64},
        replay={"capacity_plies": 512, "min_positions": 256},
        evaluation={"every": CYCLES[name], "games": 2},
    )
    state = train(config, run_dir, console=console)
    assert int(state.learner.num_updates) >= 1
    assert isinstance(state.replay.transitions.policy, TopPolicy)
    losses = [line["train/loss"] for line in read_metrics(run_dir) if "train/loss" in line]
    assert np.isfinite(losses[-1])

    game, player = make(name), load_player(run_dir, simulations=4)
    states = jax.tree.map(lambda x: x[None], game.init())
    action = player(jax.random.PRNGKey(0), states)
    assert game.legal_action_mask(game.init())[jnp.asarray(action)[0]]
