"""The part of `check_game` that finds chance hidden in states, which a search would foresee."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.game import Game, HasChance, State
from azjax_envs.sampling import mix_bits
from azjax_envs.testing.text import random_line, step

_DRAWS = ("random_", "threefry", "rng_")  # begin the names of JAX's primitives of random numbers
_LANES = 64  # starts from different keys
_PLIES = 32  # that are played from them
_TRIES = 24  # positions in which a part of the state is changed
_SHARE = 0.25  # of them, after which a move leads elsewhere if the part decides draws
_BYTES = 2  # of the numbers of a generator, at least

_INSTEAD = (
    "a search then knows every draw in advance; declare chance instead, see azjax_envs.HasChance"
)


def check_hidden(game: Game) -> Iterator[str]:
    """Yields a line if a state holds a random key, or something else that hides draws to come."""
    for check in (_keys, _starts, _parts):
        found = list(check(game))
        yield from found
        if found:
            return


def _keys(game: Game) -> Iterator[str]:
    """Finds draws of JAX's own generators."""
    state = jax.eval_shape(game.init)
    keys = [
        "state" + jax.tree_util.keystr(path)
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    ]
    methods: dict[str, Callable[..., Any]] = {"step": game.step}
    if isinstance(game, HasChance):
        methods["chance_step"] = game.chance_step
    number = jax.ShapeDtypeStruct((), np.int32)
    for name, method in methods.items():
        program = jax.make_jaxpr(method)(state, number).jaxpr
        if keys or _draws(program, [True] * len(program.invars)):
            where = f" ({', '.join(keys)})" if keys else ""
            yield f"{name} draws random numbers from a key in the state{where}: {_INSTEAD}"
            return


def _draws(program: Any, from_state: list[bool]) -> bool:
    """Returns whether a program draws random numbers by a key that depends on its inputs.

    A table that is drawn with a constant key, such as hash codes of cells, is no chance.
    """
    known = {id(x) for x, is_input in zip(program.invars, from_state, strict=True) if is_input}
    for equation in program.eqns:
        depends = [id(x) in known for x in equation.invars]
        if not any(depends):
            continue
        if equation.primitive.name.startswith(_DRAWS):
            return True
        for inner in filter(
            _is_program, jax.tree.leaves([*equation.params.values()], is_leaf=_is_program)
        ):
            inner = getattr(inner, "jaxpr", inner)
            # The first input of a condition says which program runs; the programs take the others.
            given = depends[1:] if equation.primitive.name == "cond" else depends
            whole = len(inner.invars) == len(given)
            if _draws(inner, given if whole else [True] * len(inner.invars)):
                return True
        known.update(map(id, equation.outvars))
    return False


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns")


def _starts(game: Game) -> Iterator[str]:
    """Finds starts that look alike, and from which the same moves lead to different positions."""
    init = jax.make_jaxpr(game.init)(jax.eval_shape(lambda: jax.random.key(0))).jaxpr
    (key,) = init.invars
    if not any(x is key for equation in init.eqns for x in equation.invars) and not any(
        x is key for x in init.outvars
    ):
        return
    alike, ply = _compare(game, jax.random.split(jax.random.key(0), _LANES))
    if not alike:
        yield (
            f"two states look the same, and the same actions lead to different positions (ply "
            f"{int(ply) + 1}): the state holds a key, or something else that decides what follows, "
            f"and {_INSTEAD}"
        )


@partial(jax.jit, static_argnums=0)
def _compare(game: Game, keys: Array) -> tuple[Array, Array]:
    """Plays the same moves, with the same dice, from starts that look alike.

    Returns whether positions still look alike, bool [], and the first ply after which they do not.
    """
    look = jax.vmap(partial(look_at, game))

    def like_first(seen: Any) -> Array:
        same = [jnp.all((x == x[:1]).reshape(_LANES, -1), axis=1) for x in jax.tree.leaves(seen)]
        return jnp.all(jnp.stack(same), axis=0)

    def roll(states: State, salt: Array, alike: Array) -> tuple[State, Array]:
        if not isinstance(game, HasChance):
            return states, alike
        shares = jax.vmap(game.chance_probabilities)(states)
        chance = jax.vmap(game.is_chance)(states)
        alike &= like_first((chance, jnp.where(chance[:, None], shares, 0)))
        outcome = _pick(salt, shares[0] > 0)
        return jax.vmap(game.chance_step, (0, None))(states, outcome), alike

    def ply(carry: tuple, salt: Array) -> tuple[tuple, Array]:
        states, alike = carry
        seen = look(states)
        moved = jax.vmap(game.step, (0, None))(states, _pick(salt, seen["mask"][0]))
        before = alike
        alike = alike & like_first(look(moved))
        moved, alike = roll(moved, salt, alike)
        alike = alike & like_first(look(moved))
        return (moved, alike), jnp.any(before & ~alike)

    states = jax.vmap(game.init)(keys)
    alike = like_first(look(states))
    salts = mix_bits(jnp.arange(1, _PLIES + 1, dtype=jnp.uint32))
    states, alike = roll(states, salts[0], alike)
    alike &= like_first(look(states))
    _, broken = jax.lax.scan(ply, (states, alike), salts)
    return ~jnp.any(broken), jnp.argmax(broken)


def _pick(salt: Array, possible: Array) -> Array:
    """Returns one of the possible numbers, bool [N], by a random number: int32 []."""
    places = mix_bits(salt ^ mix_bits(np.arange(1, possible.size + 1, dtype=np.uint32))) >> 1
    return jnp.argmax(jnp.where(possible, places + 1, 0)).astype(jnp.int32)


def look_at(game: Game, state: State) -> dict[str, Array]:
    """Returns all that a state shows."""
    return {
        "view": game.view(state),
        "player": game.current_player(state),
        "observation": game.observe(state),
        "mask": game.legal_action_mask(state),
        "over": game.is_terminal(state),
        "returns": game.returns(state),
    } | ({"chance": game.is_chance(state)} if isinstance(game, HasChance) else {})


look = jax.jit(look_at, static_argnums=0)


def _parts(game: Game) -> Iterator[str]:
    """Finds parts that nothing shows, that only a generator fills, and that decide moves.

    A generator's numbers change with every move, not by the same step, and whatever is played.
    Counters, hashes of positions and what is computed from the board are none. With other numbers
    in their place, moves lead elsewhere.
    """
    line = [x for x in random_line(game, min(game.max_steps, 4 * _TRIES)) if x[2] >= 0]
    line = line[:: max(1, len(line) // _TRIES)]
    after = [step(game, state, jnp.int32(action)) for state, _, action in line]
    others = [
        step(game, state, jnp.int32(next((a for a in legal if a != action), action)))
        for state, legal, action in line
    ]
    chance = np.random.default_rng(0)
    for place, (path, leaf) in enumerate(jax.tree_util.tree_leaves_with_path(game.init())):
        if not jnp.issubdtype(leaf.dtype, jnp.integer) or leaf.dtype.itemsize < _BYTES:
            continue
        now, new, other = (
            [np.asarray(jax.tree.leaves(state)[place]) for state in states]
            for states in ([x[0] for x in line], after, others)
        )
        if not _is_generated(now, new, other):
            continue
        led = []
        for (state, _, action), moved in zip(line, after, strict=True):
            leaves, structure = jax.tree.flatten(state)
            noise = chance.integers(1, 2**31, size=leaf.shape).astype(leaf.dtype)
            leaves[place] = leaves[place] ^ noise
            changed = jax.tree.unflatten(structure, leaves)
            if not _alike(look(game, state), look(game, changed)):
                led = []
                break
            seen = look(game, moved), look(game, step(game, changed, jnp.int32(action)))
            led.append(not (seen[0]["over"] | seen[1]["over"]) and not _alike(*seen))
        if led and np.mean(led) >= _SHARE:
            name = "state" + jax.tree_util.keystr(path)
            yield f"{name}, which nothing shows, decides where moves lead, like a key: {_INSTEAD}"


def _is_generated(now: list[np.ndarray], new: list[np.ndarray], other: list[np.ndarray]) -> bool:
    """Returns whether a part changes with every move, unevenly, and whatever is played."""
    always = all((x != y).any() for x, y in zip(now, new, strict=True))
    alone = all(np.array_equal(x, y) for x, y in zip(new, other, strict=True))
    steps = {(y.ravel() - x.ravel()).tobytes() for x, y in zip(now, new, strict=True)}
    return always and alone and len(steps) > 1


def _alike(first: dict[str, Array], second: dict[str, Array]) -> bool:
    return all(np.array_equal(first[name], second[name]) for name in first)
