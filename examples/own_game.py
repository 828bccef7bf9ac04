"""Writes a game, Breakthrough on 5x5, checks it, trains it, and plays a match.

    python examples/own_game.py

Breakthrough (Dan Troyka, 2000): pawns step one cell ahead, straight or diagonally, and capture only
diagonally. A player wins whose pawn reaches the far row, or who captures every pawn. Next to this
file, a config names the game as `game = { name = "own_game:Breakthrough" }`.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import BaseGame, Symmetries, check_game, returns_of
from jax import Array

import azjax


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    board: Array  # int32 [size, size], 1 for pawns of player 0, who moves up, -1 for player 1's
    player: Array  # int32 [], to move
    winner: Array  # int32 [], -1 until the end


@dataclasses.dataclass(frozen=True)
class Breakthrough(BaseGame):
    """Breakthrough on size x size cells, with two rows of pawns for each player.

    Both players see the board with their own pawns moving up. Action 3 * cell + way moves the pawn
    of that cell, counted row by row from the top: way 0 to the left, 1 straight, 2 to the right.
    Observation [size, size, 2]: own pawns, and the opponent's.
    """

    size: int = 5

    num_symmetries = 2
    num_actions = property(lambda self: 3 * self.size**2)
    observation_shape = property(lambda self: (self.size, self.size, 2))
    # A pawn that has not won has made at most size - 2 moves from the back row, or size - 3.
    max_steps = property(lambda self: 2 * self.size * (2 * self.size - 5) + 1)

    def init(self, key: Array | None = None) -> State:
        rows = np.zeros(self.size, np.int32)
        rows[:2], rows[-2:] = -1, 1
        board = jnp.asarray(np.repeat(rows[:, None], self.size, axis=1))
        return State(board, jnp.int32(0), jnp.int32(-1))

    def play(self, state: State, action: Array) -> State:
        cells = np.arange(self.size**2).reshape(self.size, self.size)
        start = action // 3
        target = start - self.size + action % 3 - 1
        own = jnp.where(cells == start, 0, jnp.where(cells == target, 1, self._own(state)))
        won = jnp.any(own[0] == 1) | ~jnp.any(own == -1)
        board = jnp.where(state.player == 0, own, -own[::-1])
        return State(board, 1 - state.player, jnp.where(won, state.player, -1))

    def forfeit(self, state: State) -> State:
        return dataclasses.replace(state, winner=1 - state.player)

    def current_player(self, state: State) -> Array:
        return state.player

    def legal_action_mask(self, state: State) -> Array:
        own = self._own(state)
        # What lies ahead of each cell; outside the board it is as if an own pawn stood there.
        ahead = jnp.pad(own, ((1, 0), (1, 1)), constant_values=1)[:-1]
        free = jnp.stack([ahead[:, :-2] < 1, ahead[:, 1:-1] == 0, ahead[:, 2:] < 1], -1)
        return ((own == 1)[..., None] & free).reshape(-1) & ~self.is_terminal(state)

    def is_terminal(self, state: State) -> Array:
        return state.winner >= 0

    def returns(self, state: State) -> Array:
        return returns_of(jnp.where(self.is_terminal(state), 1 - 2 * state.winner, 0))

    def observe(self, state: State) -> Array:
        own = self._own(state)
        return jnp.stack([own == 1, own == -1], -1).astype(jnp.float32)

    # What follows is no rule: a symmetry doubles the data, and the rest is for people.

    def observe_other(self, state: State) -> Array:
        return self.observe(state)[::-1, :, ::-1]

    def symmetries(self) -> Symmetries:
        """Returns the identity and the mirror image."""
        cells = np.arange(self.size**2, dtype=np.int32)
        mirrored = cells.reshape(self.size, self.size)[:, ::-1].reshape(-1)
        both = np.stack([cells, mirrored])
        ways = np.array([[0, 1, 2], [2, 1, 0]], np.int32)
        actions = 3 * both[:, :, None] + ways[:, None]
        return Symmetries(both, actions.reshape(2, -1))

    click_choices = ("",)

    @property
    def cell_names(self) -> tuple[str, ...]:
        rows = range(self.size, 0, -1)
        return tuple(f"{'abcdefghijkl'[c]}{row}" for row in rows for c in range(self.size))

    def clicks(self, state: State) -> Array:
        """Returns the cells from which and to which each action moves, as player 0 sees them."""
        actions = np.arange(self.num_actions)
        start = actions // 3
        cells = np.stack([start, start - self.size + actions % 3 - 1], 1)
        flipped = (self.size - 1 - cells // self.size) * self.size + cells % self.size
        cells = jnp.where(state.player == 0, cells, flipped)
        return jnp.pad(cells, ((0, 0), (0, 1))).astype(jnp.int32)

    def action_to_string(self, state: State, action: int) -> str:
        start, end, _ = np.asarray(self.clicks(state))[action]
        return self.cell_names[start] + self.cell_names[end]

    def _own(self, state: State) -> Array:
        """Returns the board as the player to move sees it, int32 [size, size]: 1 own, -1 other."""
        return jnp.where(state.player == 0, state.board, -state.board[::-1])


def main(run_dir: str | Path = "runs/own_game", cycles: int = 150) -> azjax.MatchResult:
    """Trains in a new run directory, and plays a match against UCT with 100 simulations."""
    game = Breakthrough()
    assert check_game(game) == []
    config = azjax.load_config("tic_tac_toe", {"cycles": cycles, "evaluation": {"every": 0}})
    azjax.train(config, run_dir, game=game)
    player = azjax.load_player(run_dir, game=game, simulations=32)
    opponent = azjax.load_player("uct:100", game=game)
    key = jax.random.key(0)
    result = azjax.play_match(game, player, opponent, key, num_games=200, opening_plies=2)
    print(f"{result.score:.1%} of the points against UCT with 100 simulations")
    return result


if __name__ == "__main__":
    main(*sys.argv[1:])
