"""azjax's training loop: at a peer's settings, and as its own config of connect four has it."""

from __future__ import annotations

import time

import jax
from setting import Setting, Work

import azjax
from azjax.games import make_game
from azjax.network.network import Network, Variables

CALIBRATION_CYCLES = 6


class EqualLoop:
    """azjax with the peers' network and sizes: every ply a full search, every position once."""

    def __init__(self, setting: Setting) -> None:
        positions = setting.games * setting.plies
        overrides = {
            "cycles": 100_000,
            "seed": setting.seed,
            "network": setting.network,
            "search": {"num_simulations": setting.simulations},
            "selfplay": {
                "parallel_games": setting.games,
                "plies_per_cycle": setting.plies,
                "full_search_fraction": 1.0,
                "opening_plies": 0,
                "resign_false_positive_rate": 0.0,
            },
            "replay": {"capacity_plies": 2 * setting.plies, "min_positions": 1},
            "learning": {
                "batch_size": setting.batch,
                "updates_per_cycle": positions // setting.batch,
            },
        }
        config = azjax.load_config("connect_four", overrides)
        self._trainer = azjax.make_trainer(make_game(config), config)
        self._state = self._trainer.init(jax.random.key(setting.seed))
        self._work = Work(positions, positions * setting.simulations)

    def iterate(self) -> Work:
        self._state, _ = jax.block_until_ready(self._trainer.cycle(self._state))
        return self._work

    def trained(self) -> tuple[Network, Variables]:
        return self._trainer.network, self._state.learner.variables


class ShippedConfig:
    """`configs/connect_four.toml` with as many cycles as fit into the minutes."""

    def __init__(self, setting: Setting) -> None:
        trial = azjax.load_config("connect_four", {"replay": {"min_positions": 1}})
        # The trial learns from its first cycles on. Its cycles take what the later ones will take.
        trainer = azjax.make_trainer(make_game(trial), trial)
        state, metrics = trainer.cycle(trainer.init(jax.random.key(1)))
        while not metrics["train/updates"]:
            state, metrics = trainer.cycle(state)
        started = time.perf_counter()
        for _ in range(CALIBRATION_CYCLES):
            state, _ = trainer.cycle(state)
        seconds = (time.perf_counter() - started) / CALIBRATION_CYCLES
        cycles = round(60 * setting.minutes / seconds)
        config = azjax.load_config("connect_four", {"cycles": cycles, "seed": setting.seed})
        self._config = config
        self._trainer = azjax.make_trainer(make_game(config), config)
        self._state = self._trainer.init(jax.random.key(setting.seed))

    def iterate(self) -> Work | None:
        if int(self._state.cycle) == self._config.cycles:
            return None
        self._state, _ = self._trainer.cycle(self._state)
        plies = self._config.selfplay.parallel_games * self._config.selfplay.plies_per_cycle
        return Work(plies, 0)

    def trained(self) -> tuple[Network, Variables]:
        return self._trainer.network, self._state.learner.variables
