"""What a config needs of a device's memory, and a refusal in time where that is too much."""

from __future__ import annotations

import os

import jax

from azjax.errors import UserError
from azjax.search.tree import tree_bytes
from azjax.training.trainer import Trainer

# Numbers of four bytes for each action of a game: the rows that a search works on, and its results.
_ROOT_NUMBERS = 16


def refuse_if_too_large(trainer: Trainer) -> None:
    """Refuses a run whose replay window and search trees would not fit into a device.

    Raises:
      UserError: naming what is needed, what there is, and a setting that would fit.
    """
    room = device_memory(trainer.mesh.local_devices[0])
    if room is None:
        return
    config = trainer.config
    replay, search = replay_bytes(trainer), search_bytes(trainer)
    if replay + search <= room:
        return
    need = (
        f"replay.capacity_plies = {config.replay.capacity_plies} takes {_gib(replay)} and the "
        f"search trees of selfplay.parallel_games = {config.selfplay.parallel_games} take "
        f"{_gib(search)} of a device that has {_gib(room)}"
    )
    plies = (room - search) * config.replay.capacity_plies // replay
    plies -= plies % config.selfplay.plies_per_cycle
    if plies > 0:
        raise UserError(f"{need}; replay.capacity_plies = {plies} would fit")
    games = room * config.selfplay.parallel_games // (replay + search)
    games -= games % trainer.mesh.size
    raise UserError(f"{need}; selfplay.parallel_games = {max(games, trainer.mesh.size)} would fit")


def replay_bytes(trainer: Trainer) -> int:
    """Bytes of the replay window on each device, with the copy that a checkpoint is made from."""
    rows = trainer.abstract_state().replay.rows
    total = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(rows))
    return 2 * total // trainer.mesh.size


def search_bytes(trainer: Trainer) -> int:
    """Bytes of the search trees of one ply of self-play, or of reanalysis where that is more, on
    each device, the network's aside."""
    config, game = trainer.config, trainer.game
    tree = tree_bytes(game, config.search.num_simulations + 1)
    tree += 4 * _ROOT_NUMBERS * game.num_actions
    return max(config.selfplay.parallel_games, config.replay.reanalyse_positions) * tree // trainer.mesh.size


def device_memory(device: jax.Device) -> int | None:
    """Bytes that arrays may take on `device`, None where it does not tell.

    CPU devices share the memory of the machine. What is free of it right now says little, since
    the system fills it with files that it gives up when asked.
    """
    if device.platform == "cpu":
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // jax.local_device_count()
    return (device.memory_stats() or {}).get("bytes_limit")


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
