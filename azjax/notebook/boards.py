"""Pictures in a notebook: boards, one or a batch of them."""

from __future__ import annotations

import base64
import functools
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from azjax_envs import Game
from azjax_envs.svg import with_codes

from azjax.errors import UserError
from azjax.types import Array


@dataclass(frozen=True)
class Picture:
    """An SVG document, which a notebook shows."""

    svg: str = field(repr=False)
    width: int  # pixels

    def _repr_html_(self) -> str:
        # As an image: a notebook that is not trusted yet, or shown by a web site, is stripped of
        # SVG elements, and style sheets of two drawings cannot meet.
        data = base64.b64encode(self.svg.encode()).decode()
        style = f"width: {self.width}px; max-width: 100%"
        return f'<img src="data:image/svg+xml;base64,{data}" style="{style}">'


@dataclass(frozen=True)
class Pictures:
    """Pictures in rows."""

    pictures: tuple[Picture, ...] = field(repr=False)
    columns: int

    def _repr_html_(self) -> str:
        cells = "".join(f"<div>{picture._repr_html_()}</div>" for picture in self.pictures)
        style = f"display: inline-grid; grid-template-columns: repeat({self.columns}, auto)"
        return f'<div style="{style}; gap: 12px">{cells}</div>'


def board(game: Game, state: Any, *, width: int = 280) -> Picture:
    """A position as a picture.

    Args:
      game: the game.
      state: one state.
      width: pixels; the notebook makes it smaller where it does not fit.

    Raises:
      UserError: `state` is a batch of states, or a state of another game.
    """
    if _batch(game, state) != ():
        raise UserError("board draws one state; for a batch of them: boards(game, states)")
    return boards(game, jax.tree.map(lambda x: x[None], state), width=width).pictures[0]


def boards(game: Game, states: Any, *, columns: int = 4, width: int = 160) -> Pictures:
    """A batch of positions as pictures in rows.

    Args:
      game: the game.
      states: states [B, ...].
      columns: pictures in a row.
      width: pixels of each.

    Raises:
      UserError: `states` is one state, or of another game.
    """
    if len(_batch(game, states)) != 1:
        raise UserError("boards draws a batch of states, [B, ...]; for one: board(game, state)")
    empty = game.svg_board()
    drawn = (with_codes(empty, codes) for codes in np.asarray(style_codes(game, states)))
    return Pictures(tuple(Picture(svg, width) for svg in drawn), columns)


@functools.partial(jax.jit, static_argnums=0)
def style_codes(game: Game, states: Any) -> Array:
    """What `view` gives for states [B, ...]: int32 [B, cells]."""
    return jax.vmap(game.view)(states)


def _batch(game: Game, states: Any) -> tuple[int, ...]:
    """The axes that `states` has before those of one state."""
    one, structure = jax.tree.flatten(jax.eval_shape(game.init))
    leaves, given = jax.tree.flatten(states)
    axes = {np.shape(x)[: np.ndim(x) - len(y.shape)] for x, y in zip(leaves, one, strict=False)}
    same = given == structure and all(
        np.shape(x)[np.ndim(x) - len(y.shape) :] == y.shape
        for x, y in zip(leaves, one, strict=True)
    )
    if not same or len(axes) != 1:
        raise UserError(f"that is no state of {game.name}: one that init or step made is wanted")
    return axes.pop()
