"""`check_game`: a check of the `Game` contract that authors can run on their own games."""

import dataclasses
import inspect
import math
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from azjax_envs.game import (
    Game,
    HasChance,
    HasResults,
    HasUnobservedParts,
    possible_results,
    unobserved_leaves,
)
from azjax_envs.testing.doubts import find_doubts
from azjax_envs.testing.hidden import check_hidden
from azjax_envs.testing.play import check_play
from azjax_envs.testing.text import (
    check_clicks,
    check_drawing,
    check_optional,
    check_outcomes,
    check_strings,
    random_line,
)


def check_game(game: Game, *, games: int = 64, seed: int = 0) -> list[str]:
    """Checks a game against the contract.

    The checks are:

    - **Members:** all are present and have the right types.
    - **Parameters:** games with equal parameters are equal, have equal hashes and share one trace.
    - **Types:** shapes and dtypes are right, and `step` returns the structure that it takes.
    - **Purity:** no method changes its arguments or depends on anything else.
    - **Symmetries:** they are permutations and form a group.
    - **Random games**, some with illegal actions in and out of range: turns, masks and results are
      right, and the game ends within `max_steps`. An illegal action loses. Nothing changes after
      the end. Transformed actions lead to the transformed observation, mask, turn and result. A
      game stepped alone and one stepped in a batch agree.
    - **Text and drawing:** action texts are unique and can be read back, and the drawing shows the
      codes of `view`.
    - **Chance:** probabilities sum to 1, impossible outcomes have 0 and change nothing, the same
      state always gives the same outcomes, and chance never follows chance. No state holds a random
      key, or something else that nothing shows and that decides where moves lead.
    - **Optional parts:** names of the players differ, winning cells are those of a won game, and
      observations and masks do not depend on parts of a state that are `unobserved`.

    If all is right, it warns of what an author hardly means: clicks on a cell that play something
    else, a drawing that changes sides with every move, and observations out of their bounds.

    Random games are played only under symmetries that keep the start. The start of othello, for
    example, keeps four of the eight.

    Returns:
      A line for each fault; [] if there is none.

    Example:
        ```python
        assert check_game(MyGame()) == []
        ```
    """
    findings = _run(_members, game)
    if findings:
        return findings
    findings = _run(_parameters, game) + _run(_types, game)
    if findings:
        return findings  # the other checks rely on these
    findings = _run(_purity, game) + _run(_symmetries, game)
    if not findings:
        findings = _run(lambda it: check_play(it, games=games, seed=seed), game)
    checks = (check_strings, check_outcomes, check_drawing, check_clicks, check_optional)
    for check in (*checks, _unobserved, check_hidden):
        findings += _run(check, game)
    if not findings:
        for doubt in _run(find_doubts, game):
            warnings.warn(f"{game.name}: {doubt}", stacklevel=2)
    return findings


def _run(check: Callable[[Game], Iterator[str]], game: Game) -> list[str]:
    """Returns the faults that one check finds, including an exception that it raises."""
    findings = []
    try:
        findings.extend(check(game))
    except Exception as error:
        trace = error.__traceback__
        frames = inspect.getinnerframes(trace) if trace else []
        # By the code of the methods, which has a file name even if the class is from a notebook.
        methods = filter(inspect.isfunction, vars(type(game)).values())
        files = {method.__code__.co_filename for method in methods}
        own = [frame for frame in frames if frame.filename in files]
        where = f"{own[-1].function}, line {own[-1].lineno}: " if own else ""
        reason = (str(error).strip().splitlines() or [""])[0]
        findings.append(f"{where}raised {type(error).__name__}: {reason}")
    return findings


_PLIES = 100  # of a game that is looked at without its unobserved parts
_NUMBERS = ("num_actions", "max_steps", "num_symmetries")
_ARRAY_METHODS = {
    "current_player": ((), jnp.int32),
    "legal_action_mask": (("num_actions",), jnp.bool_),
    "is_terminal": ((), jnp.bool_),
    "returns": ((2,), jnp.float32),
    "observe": ("observation_shape", jnp.float32),
    "view": (None, jnp.int32),
}
_CHANCE_METHODS = {"is_chance": ((), jnp.bool_), "chance_probabilities": (None, jnp.float32)}
_OPTIONAL_METHODS = _CHANCE_METHODS | {
    "score": ((2,), jnp.float32),
    "ownership": ("cells", jnp.float32),
    "observe_other": ("observation_shape", jnp.float32),
}


def _members(game: Game) -> Iterator[str]:
    for name, member in vars(Game).items():
        is_method = inspect.isfunction(member)
        found = callable(getattr(game, name, None)) if is_method else hasattr(game, name)
        if not (name.startswith("_") or found):
            yield f"{name} is missing"

    if any(hasattr(game, name) for name in _CHANCE_METHODS):
        for name in (name for name in vars(HasChance) if not name.startswith("_")):
            if not callable(getattr(game, name, None)):
                yield f"{name} is missing: a game of chance has it"


def _parameters(game: Game) -> Iterator[str]:
    if not isinstance(game.name, str) or not game.name:
        yield f"name must be a string, not {game.name!r}"
    for member in _NUMBERS:
        value = getattr(game, member)
        if not isinstance(value, int) or value < 1:
            yield f"{member} must be a positive integer, not {value!r}"
    if isinstance(game, HasResults):
        results = possible_results(game)
        if not results or sorted(results, reverse=True) != [*results] or results[0] <= 0:
            yield f"results must be numbers, the greatest first, not {results!r}"
        elif sorted(-x for x in results) != sorted(results):
            yield f"results must have each number with both signs, not {results!r}"
    shape = game.observation_shape
    sizes = [isinstance(n, int) and n >= 1 for n in shape] if isinstance(shape, tuple) else []
    if sizes != [True] * 3:
        yield f"observation_shape must be (height, width, channels), not {shape!r}"
    if not getattr(getattr(type(game), "__dataclass_params__", None), "frozen", False):
        yield "the game must be a frozen dataclass: @dataclasses.dataclass(frozen=True)"
        return
    copy: Any = dataclasses.replace(game)  # pyrefly: ignore[bad-specialization]
    if copy != game:
        yield "two games with equal parameters are not equal, so each would be traced again"
    elif hash(copy) != hash(game):
        yield "two games with equal parameters have different hashes"


def _types(game: Game) -> Iterator[str]:
    state = jax.eval_shape(game.init)
    key = jax.eval_shape(lambda: jax.random.key(0))
    action = jax.ShapeDtypeStruct((), jnp.int32)
    yield from _same_structure("init(key)", "init()", jax.eval_shape(game.init, key), state)
    yield from _same_structure("step", "init()", jax.eval_shape(game.step, state, action), state)
    if isinstance(game, HasChance):
        rolled = jax.eval_shape(game.chance_step, state, action)
        yield from _same_structure("chance_step", "init()", rolled, state)
    methods = dict(_ARRAY_METHODS)
    methods |= {name: spec for name, spec in _OPTIONAL_METHODS.items() if hasattr(game, name)}
    for name, (shape, dtype) in methods.items():
        got = jax.eval_shape(getattr(game, name), state)
        if not hasattr(got, "shape"):
            yield f"{name} must return one array, not {type(got).__name__}"
            continue
        if shape == "cells":
            shape = (math.prod(game.observation_shape[:2]),)
        elif isinstance(shape, str):
            shape = getattr(game, shape)
        elif shape is not None:
            shape = tuple(getattr(game, n) if isinstance(n, str) else n for n in shape)
        if got.dtype != dtype:
            yield f"{name} must be {jnp.dtype(dtype)}, not {got.dtype}"
        if shape is None and len(got.shape) != 1:
            yield f"{name} must have one axis, not the shape {got.shape}"
        elif shape is not None and got.shape != shape:
            yield f"{name} must have the shape {shape}, not {got.shape}"
    jax.block_until_ready(game.step(game.init(), 0))  # pyrefly: ignore[bad-argument-type]  # outside jit, with a Python integer


def _same_structure(name: str, like: str, got, wanted) -> Iterator[str]:
    if jax.tree.structure(got) != jax.tree.structure(wanted):
        yield f"{name} must return the same pytree as {like}, not {jax.tree.structure(got)}"
        return
    for (path, a), b in zip(
        jax.tree_util.tree_leaves_with_path(got), jax.tree.leaves(wanted), strict=True
    ):
        leaf = f"state{jax.tree_util.keystr(path)}"
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            yield (
                f"{name} returns {leaf} as {a.dtype}{list(a.shape)}, "
                f"{like} as {b.dtype}{list(b.shape)}"
            )
        elif a.weak_type or b.weak_type:
            yield f"{leaf} is weakly typed, so a loop is traced twice: give it a dtype"


def _purity(game: Game) -> Iterator[str]:
    state = jax.eval_shape(game.init)
    action = jax.ShapeDtypeStruct((), jnp.int32)
    methods = {name: () for name in _ARRAY_METHODS} | {"step": (action,)}
    if isinstance(game, HasChance):
        methods |= {name: () for name in _CHANCE_METHODS} | {"chance_step": (action,)}
    for name, rest in methods.items():
        mutated = []

        def call(state, *rest, name=name, mutated=mutated):
            before = jax.tree.leaves(state)
            result = getattr(game, name)(state, *rest)
            after = jax.tree.leaves(state)
            mutated.append(len(before) != len(after) or any(map(operator.is_not, before, after)))
            return result

        first, second = (jax.make_jaxpr(lambda *args: call(*args))(state, *rest) for _ in range(2))
        if mutated[0]:
            yield f"{name} changes the state that it is given"
        if str(first) != str(second) or not all(map(np.array_equal, first.consts, second.consts)):
            yield f"{name} is not pure: two traces give different programs"

    traces = []

    def step(game, state, action):
        traces.append(game)
        return game.step(state, action)

    step = jax.jit(step, static_argnums=0)
    after = step(game, jax.jit(game.init)(), jnp.int32(0))
    copy: Any = dataclasses.replace(game)  # pyrefly: ignore[bad-specialization]
    step(copy, after, jnp.int32(0))
    if len(traces) > 1:
        yield "step is traced again for an equal game and a state of the same shapes"


def _symmetries(game: Game) -> Iterator[str]:
    height, width, _ = game.observation_shape
    symmetries = game.symmetries()
    tables = {}
    for name, size in (("cells", height * width), ("actions", game.num_actions)):
        table = np.asarray(getattr(symmetries, name))
        shape = (game.num_symmetries, size)
        if table.shape != shape or not np.issubdtype(table.dtype, np.integer):
            got = f"{table.dtype}{list(table.shape)}"
            yield f"symmetries().{name} must be integers of shape {shape}, not {got}"
            continue
        tables[name] = table
        for k, row in enumerate(table):
            if not np.array_equal(np.sort(row), np.arange(size)):
                yield f"symmetries().{name}[{k}] is not a permutation of 0..{size - 1}"
        if not np.array_equal(table[0], np.arange(size)):
            yield f"symmetries().{name}[0] must be the identity"
    if len(tables) < 2:
        return
    joined = np.concatenate([tables["cells"], tables["actions"] + height * width], axis=1)
    known = {row.tobytes() for row in joined}
    if len(known) < len(joined):
        yield "two symmetries are the same"
    for i, first in enumerate(joined):
        for j, second in enumerate(joined):
            if second.max() < first.size and first[second].tobytes() not in known:
                yield f"symmetries must form a group: the product of {i} and {j} is not listed"
                return


def _unobserved(game: Game) -> Iterator[str]:
    """Checks that a position looks the same with zeros in its unobserved parts."""
    if not isinstance(game, HasUnobservedParts):
        return
    dropped = unobserved_leaves(game)
    look = jax.jit(lambda state: (game.observe(state), game.legal_action_mask(state)))
    for state, _, _ in random_line(game, _PLIES):
        leaves, structure = jax.tree.flatten(state)
        blank = [jnp.zeros_like(x) if drop else x for x, drop in zip(leaves, dropped, strict=True)]
        seen, seen_blank = look(state), look(jax.tree.unflatten(structure, blank))
        for name, a, b in zip(("observe", "legal_action_mask"), seen, seen_blank, strict=True):
            if not np.array_equal(a, b):
                yield f"{name} reads a part of the state that unobserved names"
                return
