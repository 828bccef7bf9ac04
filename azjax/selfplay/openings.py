"""Where games of self-play begin: at the game's start, at listed positions, after random moves."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.config import SelfPlayConfig
from azjax.errors import UserError
from azjax.rollouts import play_randomly
from azjax.selfplay.resignation import Prospects, new_prospects
from azjax.types import Array, State


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["states", "plies"], meta_fields=[]
)
@dataclass(frozen=True)
class Openings:
    """L positions to begin at."""

    states: State  # [L, ...]
    plies: Array  # int32 [L], moves made so far


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["states", "plies", "prospects"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Games:
    """B games in progress."""

    states: State  # [B, ...]
    plies: Array  # int32 [B], moves made in each
    prospects: Prospects | None  # where players resign


def start_games(
    game: Game, key: Array, batch: int, config: SelfPlayConfig, openings: Openings | None = None
) -> Games:
    """`batch` new games: an opening drawn by lot, then 0 to `config.opening_plies` random moves.

    Positions that good play never reaches are met, and valued by good play from there on.
    """
    init_key, line_key, length_key, move_key, out_key = jax.random.split(key, 5)
    if openings is None:
        states = jax.vmap(game.init)(jax.random.split(init_key, batch))
        before = jnp.zeros(batch, jnp.int32)
    else:
        line = jax.random.randint(line_key, (batch,), 0, openings.plies.shape[0])
        states = jax.tree.map(lambda x: x[line], openings.states)
        before = openings.plies[line]
    lengths = jax.random.randint(length_key, (batch,), 0, config.opening_plies + 1)
    states, plies = play_randomly(game, move_key, states, lengths, most=config.opening_plies)
    prospects = None
    if config.resign_false_positive_rate:
        prospects = new_prospects(out_key, batch, played_out=config.resign_disabled_fraction)
    return Games(states=states, plies=before + plies, prospects=prospects)


def read_openings(game: Game, path: str | Path) -> Openings:
    """Positions from a file: on each line the moves that lead there, with spaces between.

    Empty lines, and what follows a #, are passed over; a line of a dash is the game's own start.

    Raises:
      UserError: no such file, a move that is illegal, a game that is over, or no line at all.
    """
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"selfplay.openings = {path}: cannot be read ({error})") from error
    step = jax.jit(game.step)
    states, plies = [], []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        state = game.init()
        for word in [] if words == ["-"] else words:
            try:
                state = step(state, game.string_to_action(state, word))
            except ValueError as error:
                raise UserError(f"{path}, line {number}: {error}") from error
        if bool(game.is_terminal(state)):
            raise UserError(f"{path}, line {number}: the game is over there; a position is wanted")
        states.append(state)
        plies.append(0 if words == ["-"] else len(words))
    if not states:
        raise UserError(f"{path}: a line of moves at least is wanted, such as a dash for the start")
    # Of jax, and not of numpy, since they are read in a traced function.
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *states)
    return Openings(states=stacked, plies=jnp.array(plies, jnp.int32))
