import re

import pytest

from azjax.errors import UserError
from azjax.running import memory
from azjax.running.memory import check_memory, device_memory, replay_bytes, search_bytes
from tests import tiny

# Tic-tac-toe's state: two boards of 9 bits and whose turn it is, see the game.
ACTIONS = 9


def state_bytes(trainer):
    import jax

    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(trainer.game.init()))


@pytest.mark.parametrize("devices", [1, 4])
def test_sizes(devices):
    trainer = tiny.trainer(devices)
    # A ply: the state, a float16 policy, a float16 reward, an int8 discount, a float16 value, a
    # bool. A ring of 16 plies of 16 games and its two numbers, twice: a checkpoint needs a copy.
    ply = state_bytes(trainer) + 2 * ACTIONS + 2 + 1 + 2 + 1
    assert replay_bytes(trainer) == 2 * (16 * 16 * ply + 4 + 4) // devices
    # 5 nodes (the root and 4 simulations) of 16 games: the state, 7 numbers of four bytes, and the
    # prior and the child of each action; 3 numbers of its ancestors, unused on CPUs. For each
    # game, also the rows that the search works on.
    node = state_bytes(trainer) + 4 * (7 + 2 * ACTIONS + 3)
    assert search_bytes(trainer) == 16 * (5 * node + 4 * 16 * ACTIONS) // devices


def refused(monkeypatch, trainer, capacity):
    monkeypatch.setattr(memory, "device_memory", lambda device: capacity)
    with pytest.raises(UserError) as caught:
        check_memory(trainer)
    message = str(caught.value)
    assert "\n" not in message
    setting, value = re.search(r"(\w+\.\w+) = (\d+) would fit \(now", message).groups()
    table, key = setting.split(".")
    return {table: {key: int(value)}}


def test_a_shorter_window_is_named_and_fits(monkeypatch):
    changes = {"replay": {"capacity_plies": 8000}}
    trainer = tiny.trainer(2, **changes)
    capacity = search_bytes(trainer) + replay_bytes(trainer) // 3
    fitting = refused(monkeypatch, trainer, capacity)
    (plies,) = fitting["replay"].values()
    assert plies % 8 == 0
    assert 8000 // 3 - 8 <= plies <= 8000 // 3
    check_memory(tiny.trainer(2, replay={"capacity_plies": plies}))
    monkeypatch.setattr(memory, "device_memory", lambda device: capacity)
    refused(monkeypatch, tiny.trainer(2, replay={"capacity_plies": plies + 8}), capacity)


def test_fewer_games_are_named_and_fit(monkeypatch):
    changes = {"selfplay": {"parallel_games": 4096}, "search": {"num_simulations": 500}}
    trainer = tiny.trainer(4, **changes)
    capacity = search_bytes(trainer) // 2
    fitting = refused(monkeypatch, trainer, capacity)
    (games,) = fitting["selfplay"].values()
    assert games % 4 == 0
    assert 1800 < games <= 2048
    check_memory(
        tiny.trainer(4, selfplay={"parallel_games": games}, search={"num_simulations": 500})
    )


def test_what_fits_or_is_unknown_is_not_refused(monkeypatch):
    trainer = tiny.trainer(1)
    need = replay_bytes(trainer) + search_bytes(trainer)
    for capacity in (need, None):
        monkeypatch.setattr(memory, "device_memory", lambda device, capacity=capacity: capacity)
        check_memory(trainer)
    too_small = need - 1
    refused(monkeypatch, trainer, too_small)


def test_memory_of_this_machine(devices):
    # Four devices share the free memory.
    assert 2**20 < device_memory(devices[0]) < 2**45
