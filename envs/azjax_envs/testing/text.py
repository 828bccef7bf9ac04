"""The part of `check_game` that reads texts and drawings."""

import functools
import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from azjax_envs.game import (
    Game,
    HasChance,
    HasClicks,
    HasPlayerNames,
    HasShownMoves,
    HasTextParts,
    HasWinningCells,
    State,
    legal_actions,
)
from azjax_envs.svg import to_svg

_STATES = 8  # the number of positions that are read
_ACTIONS = 32  # the most legal actions that are read in each


def check_strings(game: Game) -> Iterator[str]:
    """Checks that boards have a text, and that action texts are unique and can be read back."""
    positions = _positions(game)
    for state, actions in positions:
        if not isinstance(game.to_string(state), str) or not game.to_string(state).strip():
            yield "to_string must return the board as text"
            return
        texts = {}
        for action in actions[:_ACTIONS]:
            text = game.action_to_string(state, action)
            if not isinstance(text, str) or not text:
                yield f"action_to_string({action}) must be text, not {text!r}"
                return
            if text in texts:
                yield f"actions {texts[text]} and {action} are both called {text!r}"
                return
            texts[text] = action
        for text, action in texts.items():
            back = game.string_to_action(state, text)
            if back != action:
                yield f"action {action} is called {text!r}, which string_to_action reads as {back}"
                return
        yield from _refuses(game, state, "no such action")
        if not actions:
            start, openings = positions[0]
            yield from _refuses(game, state, game.action_to_string(start, openings[0]))


def _refuses(game: Game, state: State, text: str) -> Iterator[str]:
    try:
        action = game.string_to_action(state, text)
    except ValueError as error:
        if not str(error):
            yield "string_to_action must say in its ValueError what is legal"
    else:
        yield f"string_to_action must raise ValueError for the illegal {text!r}, not give {action}"


def check_drawing(game: Game) -> Iterator[str]:
    """Checks that the drawing is an SVG document whose cells and actions are those of the game."""
    try:
        board = ET.fromstring(game.svg_board())
    except ET.ParseError as error:
        yield f"svg_board is not well-formed: {error}"
        return
    if board.tag != "{http://www.w3.org/2000/svg}svg" or "viewBox" not in board.attrib:
        yield "svg_board must be a complete <svg> with its namespace and a viewBox"
    cells = {cell for part in board.iter() if (cell := part.get("data-cell")) is not None}
    actions = {name for part in board.iter() if (name := part.get("data-action")) is not None}
    numbers = {int(cell) for cell in cells if re.fullmatch(r"\d+", cell)}
    num_cells = jax.eval_shape(game.view, jax.eval_shape(game.init)).shape[0]
    if len(numbers) < len(cells) or numbers != set(range(num_cells)):
        yield (
            f"svg_board must have parts with data-cell 0 to {num_cells - 1}, as many as view has "
            f"codes; it has {_summary(cells)}"
        )
        return
    wrong = {a for a in actions if not (re.fullmatch(r"\d+", a) and int(a) < game.num_actions)}
    if wrong:
        yield f"svg_board has data-action {_summary(wrong)}, which is not an action"
    for state, _ in _positions(game):
        drawn = ET.fromstring(to_svg(game, state))
        shown = {p.get("data-cell"): p.get("data-code") for p in drawn.iter() if p.get("data-cell")}
        codes = np.asarray(game.view(state))
        if shown != {str(cell): str(code) for cell, code in enumerate(codes)}:
            yield 'to_svg does not show the codes of view: write data-cell="0" with double quotes'
            return


def check_clicks(game: Game) -> Iterator[str]:
    """Checks that the clicks of each legal move name it, or no other, in games with `clicks`."""
    if not isinstance(game, HasClicks):
        return
    cells, choices = game.cell_names, game.click_choices
    for state, actions in _positions(game):
        clicks = np.asarray(game.clicks(state))
        if clicks.shape != (game.num_actions, 3) or clicks.dtype != np.int32:
            yield f"clicks must be int32 [{game.num_actions}, 3], not {clicks.dtype} {clicks.shape}"
            return
        if not cells and len({tuple(clicks[action].tolist()) for action in actions}) < len(actions):
            yield "two legal moves have the same clicks and choice"
            return
        for action in actions if cells else ():
            start, end, choice = clicks[action]
            text = game.action_to_string(state, action)
            if cells[start] + cells[end] + choices[choice] != text:
                yield f"the clicks of action {action} must name {text!r}"
                return


def check_optional(game: Game) -> Iterator[str]:
    """Checks the names of players, of moves for people, and the winning cells, where there are."""
    if isinstance(game, HasPlayerNames):
        names = game.player_names
        if not (isinstance(names, tuple) and len({*names} - {""}) == len(names) == 2):
            yield f"player_names must be two different texts, not {names!r}"
    yield from _check_shown_moves(game)
    yield from _check_parts(game)
    if not isinstance(game, HasWinningCells):
        return
    if not isinstance(game.winning_shape, str) or not game.winning_shape:
        yield f"winning_shape must be text, not {game.winning_shape!r}"
    for state, _ in _positions(game):
        view, cells = np.asarray(game.view(state)), np.asarray(game.winning_cells(state))
        if cells.shape != view.shape or cells.dtype != np.bool_:
            yield f"winning_cells must be bool [{len(view)}], not {cells.dtype} {cells.shape}"
            return
        if cells.any() and not np.any(game.returns(state)):
            yield "winning_cells must be empty before the end and after a draw"
            return


def _check_shown_moves(game: Game) -> Iterator[str]:
    """Checks that the names for people are those of the legal actions, and can be read."""
    if not isinstance(game, HasShownMoves):
        return
    for state, actions in _positions(game):
        names = game.shown_moves(state)
        if sorted(names) != sorted(actions) or len({*names.values()}) != len(names):
            yield "shown_moves must give each legal action a name of its own"
            return
        for action in actions[:_ACTIONS:4]:
            if game.string_to_action(state, names[action]) != action:
                yield f"string_to_action must read {names[action]!r} of shown_moves as {action}"
                return


def _check_parts(game: Game) -> Iterator[str]:
    """Checks that the parts of texts make up the texts of the legal actions."""
    if not isinstance(game, HasTextParts):
        return
    for state, actions in _positions(game):
        parts = np.asarray(game.action_parts(state))
        if parts.ndim != 2 or len(parts) != game.num_actions or parts.dtype != np.int32:
            found = f"{parts.dtype} {parts.shape}"
            yield f"action_parts must be int32 [{game.num_actions}, P], not {found}"
            return
        for action in actions:
            text = "".join(game.text_parts[part] for part in parts[action])
            if text != game.action_to_string(state, action):
                yield f"the parts of action {action} make {text!r}, not its text"
                return


def check_outcomes(game: Game) -> Iterator[str]:
    """Checks that possible outcomes of chance have texts of their own."""
    if not isinstance(game, HasChance):
        return
    states = [game.init(), *(step(game, state, actions[0]) for state, actions in _moves(game))]
    for state in states:
        if not game.is_chance(state):
            continue
        possible = np.flatnonzero(np.asarray(game.chance_probabilities(state)) > 0).tolist()
        texts = [game.outcome_to_string(state, outcome) for outcome in possible]
        if not all(isinstance(text, str) and text for text in texts):
            yield f"outcome_to_string must be text, not {texts!r}"
            return
        if len({*texts}) < len(texts):
            yield f"two outcomes of chance have one text: {', '.join(texts)}"
            return


def _moves(game: Game) -> list[tuple[State, list[int]]]:
    return [(state, actions) for state, actions in _positions(game) if actions]


def random_line(game: Game, plies: int) -> Iterator[tuple[State, list[int], int]]:
    """Yields the positions of a random game: state, legal actions, and the one played, or -1.

    In a game of chance they are those after the dice.
    """
    chance = random.Random(game.num_actions)
    state = _rolled(game, game.init(), chance)
    for _ in range(plies):
        if not (actions := legal_actions(game, state)):
            break
        action = chance.choice(actions)
        yield state, actions, action
        state = _rolled(game, step(game, state, jnp.int32(action)), chance)
    yield state, legal_actions(game, state), -1


@functools.partial(jax.jit, static_argnums=0)  # one trace for all lines of a game
def step(game: Game, state: State, action: jax.Array) -> State:
    """Returns `game.step(state, action)`."""
    return game.step(state, action)


def _rolled(game: Game, state: State, chance: random.Random) -> State:
    """Returns the state after an outcome, if chance is next."""
    if not isinstance(game, HasChance):
        return state
    is_chance, probabilities = _chance(game, state)
    if not is_chance:
        return state
    (outcome,) = chance.choices(range(len(probabilities)), np.asarray(probabilities).tolist())
    return _chance_step(game, state, jnp.int32(outcome))


@functools.partial(jax.jit, static_argnums=0)
def _chance(game: HasChance, state: State) -> tuple[jax.Array, jax.Array]:
    return game.is_chance(state), game.chance_probabilities(state)


@functools.partial(jax.jit, static_argnums=0)
def _chance_step(game: HasChance, state: State, outcome: jax.Array) -> State:
    return game.chance_step(state, outcome)


def _positions(game: Game) -> list[tuple[State, list[int]]]:
    """Returns some positions of one random game, from start to end, with their legal actions."""
    line = [(state, actions) for state, actions, _ in random_line(game, game.max_steps)]
    wanted = np.unique(np.linspace(0, len(line) - 1, _STATES).astype(int))
    return [line[i] for i in wanted]


def _summary(values: set[str]) -> str:
    listed = sorted(values, key=lambda value: (len(value), value))
    more = f", ... ({len(listed)} in all)" if len(listed) > 4 else ""
    return ", ".join(listed[:4]) + more if listed else "none"
