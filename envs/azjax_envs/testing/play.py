"""The part of `check_game` that plays: a batch of random games, checked for faults at every ply."""

import functools
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.game import Game, State
from azjax_envs.sampling import mix_bits


def check_play(game: Game, *, games: int, seed: int) -> Iterator[str]:
    """Plays `games` random games a few steps past `max_steps`, and yields each fault once.

    A third of the games play an illegal action at a random ply. After the end, all of them play any
    action.
    """
    symmetries = _playable(game)
    chance = np.random.default_rng(seed)
    plies = game.max_steps + 3
    salts = chance.integers(2**32, size=(plies, games), dtype=np.uint32)
    slips = np.where(np.arange(games) % 3 == 2, chance.integers(game.max_steps, size=games), -1)
    record, end = _play(game, salts, slips.astype(np.int32), *symmetries)
    record = jax.tree.map(np.asarray, record)
    for fault, found in record["faults"].items():
        if found.any():
            ply = int(np.argmax(found.any(axis=1)))
            lane = int(np.argmax(found[ply]))
            before = " ".join(map(str, record["action"][:ply, lane])) or "none"
            now = record["action"][ply, lane]
            yield f"{fault} (actions before: {before}; action {now})"
    if not any(found.any() for found in record["faults"].values()):
        yield from _alone(game, record, end)


def _playable(game: Game) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the cells, actions and inverse actions of the symmetries that keep the start."""
    symmetries = game.symmetries()
    start = np.asarray(game.observe(game.init())).reshape(-1, game.observation_shape[-1])
    kept = [k for k, row in enumerate(symmetries.cells) if np.array_equal(start[row], start)]
    actions = np.asarray(symmetries.actions)[kept]
    return np.asarray(symmetries.cells)[kept], actions, np.argsort(actions, axis=1)


@functools.partial(jax.jit, static_argnums=0)
def _play(
    game: Game, salts: Array, slips: Array, cells: Array, actions: Array, inverse: Array
) -> tuple[dict, State]:
    """Plays T plies of every game.

    Args:
      salts: uint32 [T, games], random numbers that decide each choice.
      slips: int32 [games], the ply at which a game plays an illegal action, or -1.
      cells, actions, inverse: int32 [K, ...], the symmetries under which the games are also played.

    Returns:
      A record and the final states. The record has "action", int32 [T, games], "mask", bool
      [T, games, num_actions], and "faults", bool [T, games] for each name of a fault.
    """
    games = slips.shape[0]
    # Row 0 holds the games, the other rows their images, so that the rules are compiled only once.
    shape = (1 + len(cells), games)
    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (*shape, *x.shape)), game.init())
    look = jax.vmap(jax.vmap(functools.partial(_look, game)))

    def ply(carry, time_salt):
        states, seen = carry
        time, salt = time_salt
        before = _row(seen, 0)
        pick = functools.partial(_pick, game.num_actions)
        choice = jax.vmap(pick)(salt, before["mask"], before["over"], slips == time)
        images = jax.vmap(_image, (0, None))(inverse, choice)
        after = jax.vmap(jax.vmap(game.step))(states, jnp.concatenate([choice[None], images]))
        seen_after = look(after)
        same = jax.vmap(_same_leaves)(_row(states, 0), _row(after, 0))
        now, others = _row(seen_after, 0), jax.tree.map(lambda x: x[1:], seen_after)
        faults = jax.vmap(_faults)(before, choice, now, same)
        faults |= {_TOO_LONG: (time >= game.max_steps) & ~before["over"]}
        faults |= _symmetry_faults(cells, actions, now, others)
        return (after, seen_after), {"action": choice, "mask": before["mask"], "faults": faults}

    times = jnp.arange(salts.shape[0])
    (states, _), record = jax.lax.scan(ply, (start, look(start)), (times, salts))
    return record, _row(states, 0)


_TOO_LONG = "the game is not over after max_steps steps"


def _pick(size: int, salt: Array, mask: Array, over: Array, slips: Array) -> Array:
    """Returns a random action, int32 []: legal, illegal if `slips`, and any after the end."""
    # Hashed numbers replace jax.random, which would take most of the compilation time.
    chances = mix_bits(salt ^ mix_bits(np.arange(1, size + 1, dtype=np.uint32))) >> 1
    legal = jnp.argmax(jnp.where(mask, chances + 1, 0))
    inside = jnp.argmax(jnp.where(mask, 0, chances + 1))
    outside = np.array([-1, size, size + 1, -size, 2**31 - 1, -(2**31)], np.int32)
    kind = mix_bits(salt) % (2 * outside.size)
    is_inside = ~jnp.all(mask) & (kind >= outside.size)
    illegal = jnp.where(is_inside, inside, jnp.asarray(outside)[kind % outside.size])
    return jnp.where(slips | over, illegal, legal).astype(jnp.int32)


def _image(inverse: Array, choice: Array) -> Array:
    """Returns the actions, int32 [games], under one symmetry; those out of range do not change."""
    size = inverse.shape[0]
    inside = (choice >= 0) & (choice < size)
    return jnp.where(inside, inverse[jnp.clip(choice, 0, size - 1)], choice)


def _look(game: Game, state: State) -> dict[str, Array]:
    return {
        "player": game.current_player(state),
        "mask": game.legal_action_mask(state),
        "over": game.is_terminal(state),
        "returns": game.returns(state),
        "observation": game.observe(state).reshape(-1, game.observation_shape[-1]),
        "codes": game.view(state),
    }


def _faults(
    before: dict[str, Array], action: Array, after: dict[str, Array], same: Array
) -> dict[str, Array]:
    """Returns one bool [] for each fault that a ply can show."""
    size = before["mask"].shape[0]
    mover, over = jnp.clip(before["player"], 0, 1), before["over"]
    inside = (action >= 0) & (action < size)
    legal = inside & before["mask"][jnp.clip(action, 0, size - 1)]
    results, ended = after["returns"], after["over"]
    mover_lost = ended & (results[mover] == -1) & (results[1 - mover] == 1)
    unchanged = jnp.all(before["observation"] == after["observation"])
    bounded = jnp.all(jnp.abs(results) <= 1) & (results[0] + results[1] == 0)
    return {
        "current_player is neither 0 nor 1": (before["player"] < 0) | (before["player"] > 1),
        "no action is legal, and the game is not over": ~over & ~jnp.any(before["mask"]),
        "an action is legal after the end": ended & jnp.any(after["mask"]),
        "returns are not zero before the end": jnp.any(before["returns"] != 0) & ~over,
        "returns are not zero-sum in [-1, 1]": ~bounded,
        "the observation is not finite": ~jnp.all(jnp.isfinite(before["observation"])),
        "view has a negative code": jnp.any(before["codes"] < 0),
        "an illegal action does not lose at once": ~over & ~legal & ~mover_lost,
        "a legal action is treated as an illegal one": ~over
        & legal
        & mover_lost
        & unchanged
        & (before["player"] == after["player"]),
        "step changes the state after the end": over & ~same,
    }


def _symmetry_faults(
    cells: Array, actions: Array, now: dict[str, Array], others: dict[str, Array]
) -> dict[str, Array]:
    """Returns whether each game shows each fault of a symmetry, bool [games] each.

    Args:
      cells, actions: int32 [K, ...], the symmetries.
      now: the games, [games, ...].
      others: the games under each symmetry, [K, games, ...].
    """
    alike = {
        "observation": ("observation", jnp.moveaxis(now["observation"][:, cells], 1, 0)),
        "legal mask": ("mask", jnp.moveaxis(now["mask"][:, actions], 1, 0)),
        "player to move": ("player", now["player"][None]),
        "end": ("over", now["over"][None]),
        "result": ("returns", now["returns"][None]),
    }
    faults = {}
    for name, (key, wanted) in alike.items():
        got, wanted = others[key].astype(jnp.float32), wanted.astype(jnp.float32)
        differs = ~jnp.isclose(got, wanted, atol=1e-6)
        wrong = jnp.any(differs.reshape(*differs.shape[:2], -1), axis=(0, 2))
        faults[f"under a symmetry, the {name} is not the transformed one"] = wrong
    return faults


def _alone(game: Game, record: dict, end: State) -> Iterator[str]:
    """Replays the first game without a batch."""

    def ply(state, action):
        return game.step(state, action), game.legal_action_mask(state)

    replay = jax.jit(lambda actions: jax.lax.scan(ply, game.init(), actions))
    final, masks = replay(record["action"][:, 0])
    if not np.array_equal(masks, record["mask"][:, 0]) or not _same_leaves(final, _row(end, 0)):
        yield "a game stepped alone and the same game in a batch differ"


def _same_leaves(a: State, b: State) -> Array:
    """Returns whether two unbatched states are equal, bool []."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return jnp.all(jnp.stack([jnp.all(x == y) for x, y in pairs]))


def _row(tree, index: int):
    return jax.tree.map(lambda x: x[index], tree)
