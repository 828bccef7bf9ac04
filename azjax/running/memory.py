"""The memory that a config needs, and a check that a device has it."""

import jax

from azjax.devices.cgroups import usable_memory
from azjax.errors import UserError
from azjax.search import ancestor_bytes, tree_bytes
from azjax.training import Trainer

# Numbers of four bytes for each action of a game: the rows of a search's work, and its results.
_ROOT_NUMBERS = 16


def check_memory(trainer: Trainer) -> None:
    """Checks that the replay buffer and the search trees of a run fit into a device.

    Raises:
      UserError: they do not fit. The message gives the sizes and a setting that would fit.
    """
    capacity = device_memory(trainer.mesh.local_devices[0])
    if capacity is None:
        return
    config = trainer.config
    replay, search = replay_bytes(trainer), search_bytes(trainer)
    if replay + search <= capacity:
        return
    need = (
        f"replay.capacity_plies = {config.replay.capacity_plies} takes {_gib(replay)} and the "
        f"search trees of selfplay.parallel_games = {config.selfplay.parallel_games} take "
        f"{_gib(search)} of a device that has {_gib(capacity)}"
    )
    raise UserError(f"{need}; {what_fits(trainer, capacity - replay - search, replay)}")


def what_fits(trainer: Trainer, left: float, replay: int) -> str:
    """Returns a change of the config that would make a run fit into its devices.

    `left` bytes are left on a device, a negative number, of which `replay` are the replay buffer's.
    """
    config, devices = trainer.config, trainer.mesh.size
    plies = config.replay.capacity_plies
    fitting = plies * max(0, replay + int(left)) // replay
    fitting -= fitting % config.selfplay.plies_per_cycle
    if fitting > 0:
        return f"replay.capacity_plies = {fitting} would fit (now {plies})"
    games = config.selfplay.parallel_games
    needed = replay + search_bytes(trainer)
    fitting = games * (needed + int(left)) // needed if needed + left > 0 else games // 10
    fitting = max(fitting // devices * devices, devices)
    return f"about selfplay.parallel_games = {fitting} would fit (now {games}), or more devices"


def replay_bytes(trainer: Trainer) -> int:
    """Returns the bytes of the replay buffer on each device, with the copy for a checkpoint."""
    stored = trainer.abstract_state().replay
    total = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(stored))
    return 2 * total // trainer.mesh.size


def search_bytes(trainer: Trainer) -> int:
    """Returns the bytes of the search trees on each device, without the network."""
    config, game = trainer.config, trainer.game
    nodes = config.search.num_simulations + 1
    tree = tree_bytes(game, nodes) + ancestor_bytes(nodes)
    tree += 4 * _ROOT_NUMBERS * game.num_actions
    return config.selfplay.parallel_games * tree // trainer.mesh.size


def device_memory(device: jax.Device) -> int | None:
    """Returns the bytes that arrays may take on `device`; None if they are not known.

    CPU devices share the memory of the machine, or of its container.
    """
    if device.platform == "cpu":
        memory = usable_memory()
        return None if memory is None else memory // jax.local_device_count()
    return (device.memory_stats() or {}).get("bytes_limit")


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
