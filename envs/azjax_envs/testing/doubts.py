"""The part of `check_game` that warns of what the contract allows but an author hardly means."""

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np

from azjax_envs.game import Game, HasChance, HasClicks, State, observation_bounds
from azjax_envs.testing.hidden import look
from azjax_envs.testing.text import random_line, step

_PLIES = 64  # the most moves that are looked at
_FEW = 3  # a board with fewer pieces tells nothing about who draws it


def find_doubts(game: Game) -> Iterator[str]:
    """Yields a line for each thing in one random game that is likely a mistake."""
    states, _, actions = zip(*random_line(game, _PLIES), strict=True)
    seen = [look(game, state) for state in states]
    views, players, planes = (
        np.stack([x[name] for x in seen]) for name in ("view", "player", "observation")
    )
    yield from _clicks(game, views, actions[:-1])
    yield from _sides(views, players)
    yield from _before_dice(game, states, actions[:-1], planes)
    low, high = observation_bounds(game)
    if planes.min() < low or planes.max() > high:
        yield (
            f"observations reach from {planes.min():.3g} to {planes.max():.3g}: "
            f"observation_bounds, which are {low:g} and {high:g}, should say so"
        )


def _clicks(game: Game, views: np.ndarray, actions: tuple[int, ...]) -> Iterator[str]:
    cells = _clickable(game.svg_board())
    if isinstance(game, HasClicks) or not cells:
        return
    if len(cells) < game.num_actions - 1:  # one may be a pass
        yield (
            f"svg_board has clicks for {len(cells)} of {game.num_actions} actions: "
            "draw data-action for all or none, or define clicks"
        )
    # A button next to the board changes no cell that can be clicked.
    clickable = set().union(*cells.values())
    changes = [clickable & set(np.flatnonzero(a != b)) for a, b in itertools.pairwise(views)]
    tried = [(a, now) for a, now in zip(actions, changes, strict=True) if now and cells.get(a)]
    wrong = [(a, now) for a, now in tried if not now & cells[a]]
    if 2 * len(wrong) > len(tried):
        action, now = wrong[0]
        yield (
            f"a click on cell {min(cells[action])} plays action {action}, which changes cell "
            f"{min(now)}: give its data-action another cell"
        )


def _clickable(board: str) -> dict[int, set[int]]:
    """Returns the cells in and around the parts that play each action when clicked."""
    found: dict[int, set[int]] = {}

    def walk(part: ET.Element, cell: str | None, action: str | None) -> None:
        cell, action = part.get("data-cell", cell), part.get("data-action", action)
        if action is not None:
            found.setdefault(int(action), set()).update([] if cell is None else [int(cell)])
        for inner in part:
            walk(inner, cell, action)

    walk(ET.fromstring(board), None, None)
    return found


def _sides(views: np.ndarray, players: np.ndarray) -> Iterator[str]:
    """Warns if most pieces change with a move and change back with the next one."""
    now, then, later = views[:-2], views[1:-1], views[2:]
    pieces = now != 0
    back = pieces & (now != then) & (now == later)
    clear = (players[:-2] != players[1:-1]) & (pieces.sum(axis=1) >= _FEW)
    shares = back.sum(axis=1)[clear] / pieces.sum(axis=1)[clear]
    if shares.size and np.median(shares) > 0.75:
        yield (
            "with every move the drawing changes cells that nobody touched: view should show "
            "player 0's side, whoever is to move (for BaseGame, override observe_other)"
        )


def _before_dice(
    game: Game, states: tuple[State, ...], actions: tuple[int, ...], seen: np.ndarray
) -> Iterator[str]:
    """Warns if a position before the dice looks like one in which a player is to move."""
    if not isinstance(game, HasChance):
        return
    decisions = {x.tobytes() for x in seen}
    for state, action in zip(states, actions, strict=False):
        after = step(game, state, jnp.int32(action))
        planes = np.asarray(look(game, after)["observation"])
        if game.is_chance(after) and planes.tobytes() in decisions:
            yield (
                "observations do not show whether the dice are to be rolled: a network cannot "
                "tell such positions apart, but learns the values of both"
            )
            return
