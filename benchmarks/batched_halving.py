"""Two batched evaluations a move in place of one evaluation a simulation, with a trained player.

    python benchmarks/batched_halving.py connect_four --json batched_halving.json
    python benchmarks/batched_halving.py connect_four --launches --json launches.json

nanoAlphaZero searches so: all considered moves of the root are evaluated in one call, then the
likeliest replies to the best of these in another. A reply that was not evaluated counts as Gumbel
search counts it (Danihelka et al. 2022, appendix D). The result is the number of mistakes in the
positions with exact values, next to those of Gumbel search with 4 to 64 simulations.

With `--launches` the moves of both are compiled for a GPU that is not here, with a residual tower
of 6 x 128. The result is the number of kernels of a move of 64 and of 1,024 games, and the
estimated time.
"""

import dataclasses
import functools
import json
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import tyro
from azjax_envs import Game

from azjax.config import Config, NetworkConfig, ReplayConfig, SelfPlayConfig
from azjax.config.schema import GameConfig
from azjax.evaluation.batch_evaluation import choose
from azjax.evaluation.position_suites import GameSuites
from azjax.evaluation.scores import score_actions
from azjax.network.two_headed import make_network
from azjax.players.load import load_player
from azjax.players.network_players import SearchPlayer
from azjax.search.model import mask_logits, network_evaluate, transition
from azjax.types import Array, State, static

_VISITS = 50.0  # Gumbel's c_visit, to which the most visits of a move would be added
# Considered moves, the best of them, and replies to each of these.
_SIZES = ((4, 2, 4), (7, 2, 7), (7, 4, 4), (7, 4, 7), (7, 7, 7))
_SCALES = (0.1, 0.3, 1.0)
_LANES = (64, 1024)  # games at once, for the count of kernels
_SIMULATIONS = (4, 8, 11, 16, 21, 32, 35, 56, 64)


@dataclasses.dataclass(frozen=True)
class Arguments:
    player: tyro.conf.Positional[str]
    """A player with search, named as in `azjax eval`."""
    launches: bool = False
    """Count kernels on a GPU instead of mistakes."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class BatchedHalving:
    """A player that evaluates its moves in one call, and replies to the best in another."""

    player: SearchPlayer
    considered: int = static()
    best: int = static()
    replies: int = static()
    scale: float = static()

    jittable = True
    name = "batched halving"

    @property
    def game(self) -> Game:
        return self.player.game

    def __call__(self, key: Array, states: State) -> Array:
        """Chooses actions int32 [B] for states [B, ...]."""
        legal = jax.vmap(self.game.legal_action_mask)(states)
        logits, _ = self._evaluate(key, states)
        prior, actions = jax.lax.top_k(mask_logits(logits, legal), self.considered)
        allowed = jnp.take_along_axis(legal, actions, 1)
        after, reward, discount = self._play(states, actions)
        replies, value = self._evaluate(key, after)
        merit = prior + self._weighted((reward + discount * value).reshape(prior.shape))
        _, kept = jax.lax.top_k(jnp.where(allowed, merit, -jnp.inf), self.best)
        rows = (jnp.arange(len(kept))[:, None] * self.considered + kept).reshape(-1)
        after, reward, discount, replies, value = jax.tree.map(
            lambda x: x[rows], (after, reward, discount, replies, value)
        )
        improved = self._improve(key, after, replies, value)
        values = (reward + discount * improved).reshape(kept.shape)
        merit = jnp.take_along_axis(prior, kept, 1) + self._weighted(values)
        merit = jnp.where(jnp.take_along_axis(allowed, kept, 1), merit, -jnp.inf)
        chosen = jnp.take_along_axis(kept, jnp.argmax(merit, 1)[:, None], 1)
        return jnp.take_along_axis(actions, chosen, 1)[:, 0].astype(jnp.int32)

    def _improve(self, key: Array, states: State, logits: Array, value: Array) -> Array:
        """Returns the values [N] of positions by one look at their likeliest moves."""
        legal = jax.vmap(self.game.legal_action_mask)(states)
        logits = mask_logits(logits, legal)
        _, actions = jax.lax.top_k(logits, self.replies)
        after, reward, discount = self._play(states, actions)
        found = (reward + discount * self._evaluate(key, after)[1]).reshape(actions.shape)
        rows = jnp.arange(len(actions))[:, None]
        values = jnp.zeros_like(logits).at[rows, actions].set(found)
        tried = jnp.zeros_like(legal).at[rows, actions].set(True) & legal
        weight = jnp.where(tried, jax.nn.softmax(logits), 0.0)
        mean = jnp.sum(weight * values, -1) / jnp.maximum(jnp.sum(weight, -1), 1e-6)
        count = jnp.sum(tried, -1)
        mixed = (value + count * mean) / (1 + count)
        completed = jnp.where(tried, values, mixed[:, None])
        policy = jax.nn.softmax(logits + self._weighted(completed))
        return jnp.where(count > 0, jnp.sum(policy * completed, -1), value)

    def _weighted(self, values: Array) -> Array:
        return self.scale * _VISITS * values

    def _evaluate(self, key: Array, states: State) -> tuple[Array, Array]:
        evaluate = network_evaluate(self.game, self.player.network)
        return evaluate(self.player.variables, key, states)

    def _play(self, states: State, actions: Array) -> tuple[State, Array, Array]:
        """Plays actions [N, M] in states [N, ...]; the results have N * M rows."""
        each = jax.tree.map(lambda x: jnp.repeat(x, actions.shape[1], axis=0), states)
        return jax.vmap(functools.partial(transition, self.game))(each, actions.reshape(-1))


def main(options: Arguments) -> None:
    player = load_player(options.player)
    if not isinstance(player, SearchPlayer):
        raise SystemExit(f"{options.player} must be a player with a network and a search")
    result = _launches(player) if options.launches else _mistakes(player)
    if options.json is not None:
        options.json.write_text(json.dumps({"player": options.player, **result}, indent=2) + "\n")


def _mistakes(player: SearchPlayer) -> dict[str, Any]:
    """Returns the mistakes of batched halving and of Gumbel search, by their sizes."""
    suites = GameSuites(player.game).fixed

    def mistakes(found: Any) -> dict[str, int]:
        key = jax.random.key(0)
        return {
            suite.name: score_actions(suite, choose(found, key, suite.states, 1024)).mistakes
            for suite in suites
        }

    result: dict[str, Any] = {"halving": [], "gumbel": []}
    for considered, best, replies in _SIZES:
        for scale in _SCALES:
            row = {
                "moves, best of them, replies": [considered, best, replies],
                "evaluations": considered + best * replies,
                "scale of values": scale,
                **mistakes(BatchedHalving(player, considered, best, replies, scale)),
            }
            result["halving"].append(row)
            print(json.dumps(row), flush=True)
    for simulations in _SIMULATIONS:
        search = dataclasses.replace(player.config, num_simulations=simulations)
        found = dataclasses.replace(player, config=search)
        result["gumbel"].append({"simulations": simulations, **mistakes(found)})
        print(json.dumps(result["gumbel"][-1]), flush=True)
    return result


def _launches(player: SearchPlayer) -> dict[str, Any]:
    """Returns the kernels of a move on a GPU, of both searches by their sizes."""
    # Imported here because only this needs the compilers for GPUs.
    from azjax.plan.compile import ahead_mesh, compile_ahead, placed
    from azjax.plan.machines import machine
    from benchmarks.kernels import hlo
    from benchmarks.kernels.clock import kernel_seconds
    from benchmarks.kernels.launches import launches
    from benchmarks.kernels.measure import measure_runs

    here, game = machine("h100"), player.game
    mesh = ahead_mesh(here)
    tower = NetworkConfig(blocks=6, channels=128, value_head="wdl", dtype="bfloat16")
    network = make_network(game, tower)
    config = Config(
        game=GameConfig(game.name),
        search=player.config,
        selfplay=SelfPlayConfig(parallel_games=64),
        replay=ReplayConfig(min_positions=1),
    )
    runs = measure_runs(config, game, games=64)
    key = jax.ShapeDtypeStruct((2,), jnp.uint32)
    variables = jax.eval_shape(lambda key: network.for_inference(network.init(key)), key)
    player = dataclasses.replace(player, network=network, variables=variables)

    def count(found: Any, games: int) -> dict[str, Any]:
        states = jax.eval_shape(jax.vmap(lambda _: game.init()), jnp.arange(games))
        move = jax.jit(lambda found, key, states: found(key, states))
        compiled = compile_ahead(move, placed((found, key, states), mesh))
        program = launches(hlo.parse(compiled.text), runs)
        seconds = program.total(lambda kernel: kernel_seconds(kernel, here))
        row = {"kernels": round(program.kernels), "ms": round(1e3 * seconds, 3)}
        return {"games": games} | row

    result: dict[str, Any] = {"machine": here.name, "halving": [], "gumbel": []}
    for games in _LANES:
        for considered, best, replies in _SIZES:
            halving = BatchedHalving(player, considered, best, replies, _SCALES[0])
            size = {"moves, best of them, replies": [considered, best, replies]}
            size["evaluations"] = considered + best * replies
            result["halving"].append(size | count(halving, games))
            print(json.dumps(result["halving"][-1]), flush=True)
        for simulations in _SIMULATIONS:
            search = dataclasses.replace(player.config, num_simulations=simulations)
            gumbel = dataclasses.replace(player, config=search)
            result["gumbel"].append({"simulations": simulations} | count(gumbel, games))
            print(json.dumps(result["gumbel"][-1]), flush=True)
    return result


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
