"""Openings of self-play: the game's start or a listed position, then random moves."""

import os
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
from azjax_envs import Game, HasChance, init_batch

from azjax.config import SelfPlayConfig
from azjax.errors import UserError
from azjax.pytrees import take
from azjax.rollouts import play_randomly
from azjax.selfplay.league import Seats
from azjax.selfplay.resignation import GameMinima, initial_minima
from azjax.types import Array, State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Openings:
    """L starting positions."""

    states: State  # [L, ...]
    plies: Array  # int32 [L], moves made so far


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Games:
    """B games in progress."""

    states: State  # [B, ...]
    plies: Array  # int32 [B], moves made in each
    minima: GameMinima | None  # None if players do not resign
    seats: Seats | None = None  # None without a league
    before_dice: State | None = None
    """[B, ...], in a game of chance: the positions before the dice, or the states themselves where
    those are not known, as in new games."""


def start_games(
    game: Game,
    key: Array,
    batch: int,
    config: SelfPlayConfig,
    openings: Openings | None = None,
    opponent: Array | None = None,
) -> Games:
    """Starts `batch` games: a random opening, then 0 to `config.opening_plies` random moves.

    So the network also learns positions that good play never reaches. Their values are the results
    of good play from there. With a league, `opponent` int32 [] is that of new games.
    """
    init_key, line_key, length_key, move_key, resign_key = jax.random.split(key, 5)
    if openings is None:
        states = init_batch(game, init_key, batch)
        before = jnp.zeros(batch, jnp.int32)
    else:
        line = jax.random.randint(line_key, (batch,), 0, openings.plies.shape[0])
        states = take(openings.states, line)
        before = openings.plies[line]
    lengths = jax.random.randint(length_key, (batch,), 0, config.opening_plies + 1)
    states, plies = play_randomly(game, move_key, states, lengths, most=config.opening_plies)
    minima = None
    if config.resign_false_positive_rate:
        minima = initial_minima(
            resign_key, batch, disabled_fraction=config.resign_disabled_fraction
        )
    seats = None
    if opponent is not None:
        learner = jax.random.randint(jax.random.fold_in(key, 5), (batch,), 0, 2)  # after the split
        seats = Seats(learner=learner, opponent=jnp.full(batch, opponent, jnp.int32))
    before_dice = states if isinstance(game, HasChance) else None
    return Games(states, before + plies, minima, seats, before_dice)


def read_openings(game: Game, path: str | Path) -> Openings:
    """Reads positions from a file: each line has the moves that lead there, with spaces between.

    Empty lines and comments after a # are skipped. A line with a single dash is the game's own
    start.

    Raises:
      UserError: there is no such file, a move is illegal, a game is over, or the file is empty; or
        the game has dice.
    """
    if isinstance(game, HasChance):
        raise UserError(
            f"selfplay.openings = {path}: {game.name} is a game of chance, whose openings no file "
            "lists; selfplay.opening_plies makes random ones"
        )
    try:
        text = Path(os.path.expanduser(path)).read_text(
            encoding="utf-8-sig"
        )  # some editors write a byte-order mark
    except OSError as error:
        raise UserError(f"selfplay.openings = {path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"selfplay.openings = {path}: must be text in UTF-8") from error
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
            raise UserError(f"{path}, line {number}: the game is over after these moves")
        states.append(state)
        plies.append(0 if words == ["-"] else len(words))
    if not states:
        raise UserError(
            f"{path} lists no opening; each line must hold moves, or a dash for the game's start"
        )
    # Arrays of jax, not of numpy, since a traced function indexes them.
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *states)
    return Openings(states=stacked, plies=jnp.array(plies, jnp.int32))
