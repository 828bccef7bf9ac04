"""Plays backgammon against GNU Backgammon at 0 ply, and against pubeval.

    python -m benchmarks.gnubg_matches backgammon --games 2000 --json FILE

Both opponents are those of the package gnubg-nn. At 0 ply GNU Backgammon's networks value the
position after each way to play a roll; pubeval is G. Tesauro's linear program of 1993, the classic
yardstick. Games are in pairs with the same dice, without a cube; gammons and backgammons count.
"""

import dataclasses
import functools
import json
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple

import jax
import numpy as np
import tyro
from azjax_envs.backgammon import Backgammon, BackgammonState, board

from azjax.evaluation.match import play_match
from azjax.players import Player
from azjax.players.load import load_player
from azjax.pytrees import take
from azjax.types import Array

ENGINES = ("GNU Backgammon at 0 ply", "pubeval")
Step = tuple[int, int]  # the points where a checker starts and lands: 25 is the bar, 0 is off

PASS = 50


@dataclasses.dataclass(frozen=True)
class Arguments:
    player: tyro.conf.Positional[str]
    """A run, or a player that comes with azjax."""
    games: int = 2000
    """Of each match, in pairs with the same dice."""
    opponents: tuple[Literal["gnubg", "pubeval"], ...] = ("gnubg", "pubeval")
    how: tuple[str, ...] = ("64", "value", "policy")
    """Simulations, the network's values after one move of a checker, or its policy."""
    batch: int = 500
    """Pairs of games that are played at once."""
    seed: int = 0
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


class Position(NamedTuple):
    """What the engines are told of positions [B, ...]."""

    boards: Array  # uint8 [B, 2, 25], checkers of the mover and of the other, by their own points
    dice: Array  # uint8 [B], a bit for each die that is left
    left: Array  # uint8 [B], moves that are left
    player: Array  # uint8 [B]
    over: Array  # bool [B]
    legal: Array  # bool [B, A]


class GnuBackgammon:
    """A player of gnubg-nn, called as `player(key, states) -> actions`.

    It chooses a whole turn when a roll is fresh, and remembers the rest of it by the position in
    which it will be asked again. So it can't begin in the middle of a turn.
    """

    jittable: ClassVar[bool] = False

    def __init__(self, game: Backgammon, name: str) -> None:
        import gnubg_nn  # which has no release for Python 3.14

        self.game, self.name, self._gnubg = game, name, gnubg_nn
        self._rest: dict[bytes, list[Step]] = {}

    def __call__(self, key: Array, states: BackgammonState) -> np.ndarray:
        count = len(states.left)
        size = 1 << (count - 1).bit_length()  # few shapes, for each of which XLA compiles
        states = take(states, np.minimum(np.arange(size), count - 1))
        positions = jax.device_get(look(self.game, states))
        actions, rests = np.full(size, PASS, np.int32), [list[Step]()] * count
        for i in range(count):
            actions[i], rests[i] = self._play(take(positions, i))
        after = jax.device_get(_look_after(self.game, states, actions))
        for i, rest in enumerate(rests):
            if rest:
                self._rest[_code(take(after, i))] = rest
        return actions[:count]

    def _play(self, position: Position) -> tuple[int, list[Step]]:
        """Returns an action, and the steps of the turn that are to follow."""
        if position.over or position.legal[PASS]:
            return PASS, []
        faces = [die for die in range(1, 7) if position.dice >> die & 1]
        is_fresh = len(faces) == 2 or position.left == 4
        steps = self._turn(position, faces) if is_fresh else self._rest[_code(position)]
        for i, (start, end) in enumerate(steps):
            for die in faces:
                fits = start - end == die if end else start <= die
                action = start - 1 + 25 * (die < faces[-1])
                if fits and position.legal[action]:
                    return action, steps[:i] + steps[i + 1 :]
        raise ValueError(f"{self.name} plays {steps} with {faces} in {position.boards.tolist()}")

    def _turn(self, position: Position, faces: list[int]) -> list[Step]:
        """Returns the steps that the engine plays with a roll, from the back to the front."""
        mover, other = position.boards.tolist()
        if self.name == "pubeval":
            points = self._gnubg.pub_best_move([other, mover], faces[0], faces[-1])
            steps = [(a + 1, b + 1) for a, b in zip(points[::2], points[1::2], strict=True)]
        else:
            steps = self._gnubg.best_move([other, mover], faces[0], faces[-1])
        return sorted(((int(a), int(b)) for a, b in steps), reverse=True)


def _code(position: Position) -> bytes:
    return b"".join(np.asarray(x).tobytes() for x in position[:4])


@functools.partial(jax.jit, static_argnums=0)
def look(game: Backgammon, states: BackgammonState) -> Position:
    """Returns what the engines are told of states [B, ...]."""
    sides = jax.vmap(board.counts)(states.own), jax.vmap(board.counts)(states.other)
    return Position(
        boards=jax.numpy.stack(sides, 1)[:, :, 1:],
        dice=states.dice,
        left=states.left,
        player=states.player,
        over=jax.vmap(game.is_terminal)(states),
        legal=jax.vmap(game.legal_action_mask)(states),
    )


@functools.partial(jax.jit, static_argnums=0)
def _look_after(game: Backgammon, states: BackgammonState, actions: np.ndarray) -> Position:
    return look(game, jax.vmap(game.step)(states, actions))


def main(options: Arguments) -> None:
    found: dict = {"player": options.player, "seed": options.seed, "matches": []}
    for how in options.how:
        player: Player = load_player(f"{options.player}:{how}")
        game = player.game
        if not isinstance(game, Backgammon):
            raise SystemExit(f"{options.player} plays {game.name}, and not backgammon")
        for name in options.opponents:
            engine = ENGINES[name == "pubeval"]
            opponent, key = GnuBackgammon(game, engine), jax.random.key(options.seed)
            games, batch = options.games, options.batch
            result = play_match(
                game, player, opponent, key, num_games=games, batch=batch, progress=print
            )
            print(result, flush=True)
            found["matches"].append(result.to_dict())
            if options.json:
                options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
