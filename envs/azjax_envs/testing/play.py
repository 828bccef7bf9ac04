"""The part of `check_game` that plays: a batch of random games, checked for faults at every ply."""

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.game import Game, HasChance, State, possible_results
from azjax_envs.sampling import mix_bits


def check_play(game: Game, *, games: int, seed: int) -> Iterator[str]:
    """Plays `games` random games a few steps past `max_steps`, and yields each fault once.

    A third of the games play an illegal action at a random ply. After the end, all of them play any
    action. The faults of chance are those of the outcome after the ply.
    """
    symmetries = _playable(game)
    chance = np.random.default_rng(seed)
    plies = game.max_steps + 3
    salts = chance.integers(2**32, size=(plies, games), dtype=np.uint32)
    slips = np.where(np.arange(games) % 3 == 2, chance.integers(game.max_steps, size=games), -1)
    first = chance.integers(2**32, size=(1, games), dtype=np.uint32)  # for chance at the start
    record, end = _play(game, np.concatenate([salts, first]), slips.astype(np.int32), *symmetries)
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
      salts: uint32 [T + 1, games], random numbers that decide each choice.
      slips: int32 [games], the ply at which a game plays an illegal action, or -1.
      cells, actions, inverse: int32 [K, ...], the symmetries under which the games are also played.

    Returns:
      A record and the final states. The record has "action", int32 [T, games], "mask", bool
      [T, games, num_actions], and "faults", bool [T, games] for each name of a fault. Of a game of
      chance it also has "outcome", int32 [T + 1, games], of the start and after each ply.
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
        next_states, seen_next, rolled = after, seen_after, {}
        chance_faults = {}
        if isinstance(game, HasChance):
            next_states, seen_next, rolled, chance_faults = _roll(game, salt, after, look)
        now, others = _row(seen_after, 0), jax.tree.map(lambda x: x[1:], seen_after)
        faults = jax.vmap(_faults)(before, choice, now, same)
        faults |= {_NO_RESULT: jax.vmap(functools.partial(_no_result, game))(now)}
        faults |= {_TOO_LONG: (time >= game.max_steps) & ~before["over"]}
        faults |= _symmetry_faults(cells, actions, now, others) | chance_faults
        record = {"action": choice, "mask": before["mask"], "faults": faults} | rolled
        return (next_states, seen_next), record

    times = jnp.arange(salts.shape[0] - 1)
    seen, first = look(start), {}
    if isinstance(game, HasChance):
        start, seen, first, _ = _roll(game, salts[-1], start, look)
    (states, _), record = jax.lax.scan(ply, (start, seen), (times, salts[:-1]))
    if first:
        record["outcome"] = jnp.concatenate([first["outcome"][None], record["outcome"]])
    return record, _row(states, 0)


def _roll(game: HasChance, salts: Array, states: State, look: Any) -> tuple[State, Any, dict, dict]:
    """Lets chance decide in states [1 + K, games], by random numbers, uint32 [games].

    Images get the outcomes of the games. Returns the states, what they show, the outcomes, and the
    faults.
    """
    pick = functools.partial(_pick_outcome, game)
    outcomes, impossible, faults = jax.vmap(pick)(salts, _row(states, 0))
    play = jax.vmap(jax.vmap(game.chance_step), (0, None))
    rolled = play(states, outcomes)
    waits = jax.vmap(game.is_chance)(_row(rolled, 0))
    ignored = jax.vmap(game.chance_step)(_row(states, 0), impossible)
    again = jax.vmap(game.chance_step)(_row(rolled, 0), outcomes)
    same = jax.vmap(_same_leaves)
    faults |= {
        "chance follows chance": waits,
        "an impossible outcome, or one out of range, changes the state": ~same(
            _row(states, 0), ignored
        ),
        "chance_step changes a state where no chance is to come": ~waits
        & ~same(_row(rolled, 0), again),
    }
    return rolled, look(rolled), {"outcome": outcomes}, faults


def _pick_outcome(game: Any, salt: Array, state: State) -> tuple[Array, Array, dict[str, Array]]:
    """Returns a possible outcome, an impossible one, int32 [] each, and the faults of a state."""
    chance, shares = game.is_chance(state), game.chance_probabilities(state)
    size = shares.shape[0]
    places = mix_bits(salt ^ mix_bits(np.arange(1, size + 1, dtype=np.uint32))) >> 1
    possible = shares > 0
    outcome = jnp.argmax(jnp.where(possible, places + 1, 0))
    inside = jnp.argmax(jnp.where(possible, 0, places + 1))
    outside = jnp.where(salt % 2 == 0, size, -1)
    impossible = jnp.where(jnp.all(possible) | (salt % 3 == 0), outside, inside)
    faults = {
        "the game is over, and the next event is chance": chance & game.is_terminal(state),
        "an action is legal where the next event is chance": chance
        & jnp.any(game.legal_action_mask(state)),
        "the probabilities of chance do not sum to 1": chance & ~(abs(shares.sum() - 1) <= 1e-5),
        "a probability of chance is negative": chance & jnp.any(shares < 0),
    }
    return outcome.astype(jnp.int32), impossible.astype(jnp.int32), faults


_NO_RESULT = "returns at the end are none of the game's results"
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


def _no_result(game: Game, seen: dict[str, Array]) -> Array:
    """Returns whether a finished game has a result that it does not name, bool []."""
    results = np.array(possible_results(game), np.float32)
    known = jnp.abs(seen["returns"][0] - results / results.max()) < 1e-6
    return seen["over"] & ~jnp.any(known)


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

    def roll(state, *outcome):
        return game.chance_step(state, *outcome) if isinstance(game, HasChance) else state

    def ply(state, choices):
        action, *outcome = choices
        return roll(game.step(state, action), *outcome), game.legal_action_mask(state)

    choices, first = (record["action"][:, 0],), ()
    if isinstance(game, HasChance):
        choices, first = (*choices, record["outcome"][1:, 0]), (record["outcome"][0, 0],)
    replay = jax.jit(lambda choices: jax.lax.scan(ply, roll(game.init(), *first), choices))
    final, masks = replay(choices)
    if not np.array_equal(masks, record["mask"][:, 0]) or not _same_leaves(final, _row(end, 0)):
        yield "a game stepped alone and the same game in a batch differ"


def _same_leaves(a: State, b: State) -> Array:
    """Returns whether two unbatched states are equal, bool []."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return jnp.all(jnp.stack([jnp.all(x == y) for x, y in pairs]))


def _row(tree, index: int):
    return jax.tree.map(lambda x: x[index], tree)
