"""Boards as pictures in a notebook, one or a batch of them."""

import base64
import functools
from dataclasses import dataclass, field

import jax
import numpy as np
from azjax_envs import Game
from azjax_envs.svg import with_codes

from azjax.errors import UserError
from azjax.pytrees import expand
from azjax.types import Array, State


@dataclass(frozen=True)
class Picture:
    """An SVG document that a notebook shows."""

    svg: str = field(repr=False)
    width: int  # pixels

    def _repr_html_(self) -> str:
        # As an image: untrusted notebooks and web sites remove SVG elements, and style sheets of
        # several drawings would mix.
        data = base64.b64encode(self.svg.encode()).decode()
        style = f"width: {self.width}px; max-width: 100%"
        return f'<img src="data:image/svg+xml;base64,{data}" style="{style}">'


@dataclass(frozen=True)
class Pictures:
    """Several pictures in rows."""

    pictures: tuple[Picture, ...] = field(repr=False)
    columns: int

    def _repr_html_(self) -> str:
        cells = "".join(f"<div>{picture._repr_html_()}</div>" for picture in self.pictures)
        style = f"display: inline-grid; grid-template-columns: repeat({self.columns}, auto)"
        return f'<div style="{style}; gap: 12px">{cells}</div>'


def board(game: Game, state: State, *, width: int = 280) -> Picture:
    """Draws one position as a picture, `width` pixels wide; the notebook shrinks it if it must."""
    if _batch_shape(game, state) != ():
        raise UserError("board draws one state; for a batch of states use boards(game, states)")
    return boards(game, expand(state), width=width).pictures[0]


def boards(game: Game, states: State, *, columns: int = 4, width: int = 160) -> Pictures:
    """Draws positions [B, ...] as pictures in rows."""
    if len(_batch_shape(game, states)) != 1:
        raise UserError("boards draws a batch of states [B, ...]; for one use board(game, state)")
    empty = game.svg_board()
    drawn = (with_codes(empty, codes) for codes in np.asarray(style_codes(game, states)))
    return Pictures(tuple(Picture(svg, width) for svg in drawn), columns)


@functools.partial(jax.jit, static_argnums=0)
def style_codes(game: Game, states: State) -> Array:
    """Returns the style codes of states [B, ...], by `Game.view`: int32 [B, cells]."""
    return jax.vmap(game.view)(states)


def _batch_shape(game: Game, states: State) -> tuple[int, ...]:
    """Returns the sizes of the axes that `states` has before those of one state."""
    one, structure = jax.tree.flatten(jax.eval_shape(game.init))
    leaves, given = jax.tree.flatten(states)
    axes = {np.shape(x)[: np.ndim(x) - len(y.shape)] for x, y in zip(leaves, one, strict=False)}
    same = given == structure and all(
        np.shape(x)[np.ndim(x) - len(y.shape) :] == y.shape
        for x, y in zip(leaves, one, strict=True)
    )
    if not same or len(axes) != 1:
        raise UserError(f"this is not a state of {game.name}: it must come from init or step")
    return axes.pop()
