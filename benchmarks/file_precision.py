"""Compares two files of one player whose weights are stored with different precision.

    python benchmarks/file_precision.py before/othello.safetensors after/othello.safetensors

Both play the scored positions of their game, by the policy and with 64 simulations. Their
predictions, and those of the first file in bfloat16, are compared in positions of random games.
"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from azjax_envs import Game

from azjax.evaluation.batch_evaluation import choose
from azjax.evaluation.position_suites import GameSuites
from azjax.evaluation.scores import score_actions
from azjax.network.network import Prediction
from azjax.network.two_headed import make_network
from azjax.players.load import load_player
from azjax.players.network_players import PolicyPlayer, SearchPlayer
from azjax.players.weights_file import load_saved
from azjax.types import Array

SIMULATIONS = 64
POSITIONS, MOST_PLIES = 1024, 24


@dataclasses.dataclass(frozen=True)
class Arguments:
    before: tyro.conf.Positional[Path]
    """A player's file."""
    after: tyro.conf.Positional[Path]
    """A file of the same player."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Add the result there, as a line."""


def main(options: Arguments) -> None:
    files = (options.before, options.after)
    players = [load_player(str(path)) for path in files]
    if not all(isinstance(player, SearchPlayer) for player in players):
        raise SystemExit("both must be players with a network and a search")
    game = players[0].game
    result: dict[str, Any] = {
        "player": options.before.stem,
        "bytes": [path.stat().st_size for path in files],
        "mistakes": _mistakes(game, players),
        "predictions": _differences(game, *files),
    }
    print(json.dumps(result))
    if options.json is not None:
        with options.json.open("a") as out:
            out.write(json.dumps(result) + "\n")


def _mistakes(game: Game, players: list[Any]) -> dict[str, dict[str, int | list[int]]]:
    """Returns the mistakes of both in each suite, and the positions where they play otherwise."""
    found: dict[str, dict[str, int | list[int]]] = {}
    for suite in GameSuites(game).fixed:
        for simulations in (0, SIMULATIONS):
            actions = []
            for player in players:
                one: Any = PolicyPlayer(game, player.network, player.variables)
                if simulations:
                    config = dataclasses.replace(player.config, num_simulations=simulations)
                    one = dataclasses.replace(player, config=config)
                actions.append(np.asarray(choose(one, jax.random.key(0), suite.states, 512)))
            found[f"{suite.name}, {simulations} simulations"] = {
                "positions": len(actions[0]),
                "mistakes": [score_actions(suite, each).mistakes for each in actions],
                "other moves": int((actions[0] != actions[1]).sum()),
            }
    return found


def _differences(game: Game, before: Path, after: Path) -> dict[str, dict[str, float | int]]:
    """Returns how far predictions are from those of `before` in float32."""
    observations, legal = random_positions(game)
    first, second = load_saved(before), load_saved(after)

    def predict(saved: Any, dtype: str) -> tuple[np.ndarray, np.ndarray]:
        network = make_network(game, dataclasses.replace(saved.config.network, dtype=dtype))
        found: Prediction = jax.jit(network.apply)(saved.variables, observations)
        policy = jax.nn.softmax(jnp.where(legal, found.policy_logits, -jnp.inf))
        return np.asarray(policy), np.asarray(found.value)

    exact_policy, exact_value = predict(first, "float32")
    found: dict[str, dict[str, float | int]] = {}
    for name, saved, dtype in (
        ("before, bfloat16", first, "bfloat16"),
        ("after, float32", second, "float32"),
        ("after, bfloat16", second, "bfloat16"),
    ):
        policy, value = predict(saved, dtype)
        moved = np.abs(policy - exact_policy).sum(axis=-1) / 2
        found[name] = {
            "positions": len(policy),
            "policy moved on average": round(float(moved.mean()), 5),
            "value moved on average": round(float(np.abs(value - exact_value).mean()), 5),
            "other best moves": int((policy.argmax(-1) != exact_policy.argmax(-1)).sum()),
        }
    return found


def random_positions(game: Game) -> tuple[Array, Array]:
    """Returns observations and legal moves of positions after up to 24 random plies."""

    def one(key: Array) -> tuple[Array, Array]:
        length_key, key = jax.random.split(key)
        plies = jax.random.randint(length_key, (), 0, MOST_PLIES)

        def play(ply: Array, state: Any) -> Any:
            mask = game.legal_action_mask(state)
            logits = jnp.where(mask, 0.0, -jnp.inf)
            after = game.step(state, jax.random.categorical(jax.random.fold_in(key, ply), logits))
            keep = (ply < plies) & ~game.is_terminal(after)
            return jax.tree.map(lambda old, new: jnp.where(keep, new, old), state, after)

        state = jax.lax.fori_loop(0, MOST_PLIES, play, game.init())
        return game.observe(state), game.legal_action_mask(state)

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(1), POSITIONS))


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
