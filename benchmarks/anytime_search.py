"""The searches that can stop at any time: Gumbel's and PUCT, with equal simulations.

    python benchmarks/anytime_search.py mistakes connect_four othello --simulations 64 600
    python benchmarks/anytime_search.py match go_7x7 othello --simulations 64 400 --games 200

Engines and pages search one position in pieces (`azjax/engine/anytime.py`). Here the same rules
search many positions at once, for a player that comes with azjax. `mistakes` counts them in the
positions with exact values, next to those of the whole Gumbel search, which knows its number of
simulations. `match` plays the two rules against each other.
"""

import dataclasses
import json
import time
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import mctx
import tyro
from azjax_envs import Game

from azjax.config import SearchConfig
from azjax.evaluation.batch_evaluation import choose
from azjax.evaluation.match import play_match
from azjax.evaluation.position_suites import GameSuites
from azjax.evaluation.scores import score_actions
from azjax.players.load import load_player
from azjax.players.network_players import SearchPlayer
from azjax.search import search
from azjax.search.model import make_recurrent_fn, mask_logits, network_evaluate
from azjax.search.policies import Exploration, Gumbel, Positions, SearchKeys, make_algorithm
from azjax.types import Array, State, static

Rule = Literal["halving", "gumbel", "gumbel, most visited", "puct"]
RULES: tuple[Rule, ...] = ("halving", "gumbel", "gumbel, most visited", "puct")


@dataclasses.dataclass(frozen=True)
class Arguments:
    what: tyro.conf.Positional[Literal["mistakes", "match"]]
    """Mistakes in positions with exact values, or matches of Gumbel's rule."""
    players: tyro.conf.Positional[tuple[str, ...]]
    """Players with search, named as in `azjax eval`."""
    simulations: tuple[int, ...] = (64,)
    """Simulations a move."""
    widths: tuple[int, ...] = (1,)
    """Different moves of a step, by Gumbel's rule."""
    paces: tuple[float, ...] = ()
    """Simulations of each width in a match, relative to the opponent's, to play in equal time."""
    games: int = 200
    """Games of a match, after four random plies."""
    against: Literal["puct", "halving"] = "puct"
    """The opponent of a match: PUCT, or the search that knows its number of simulations."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class AnytimePlayer:
    """Plays as an anytime search of `config.num_simulations` simulations, for a batch."""

    base: SearchPlayer
    rule: Rule = static()
    config: SearchConfig = static()
    width: int = static(default=1)  # simulations of a step, which begin with different moves
    jittable: ClassVar[bool] = True

    @property
    def game(self) -> Game:
        return self.base.game

    @property
    def name(self) -> str:
        return f"{self.rule}: {self.config.num_simulations}, {self.width} wide"

    def __call__(self, key: Array, states: State) -> Array:
        evaluate = network_evaluate(self.game, self.base.network)
        if self.rule == "halving":  # as in self-play, but without noise
            variables, config = self.base.variables, self.config
            return search(self.game, evaluate, variables, key, states, config=config).action
        mask = jax.vmap(self.game.legal_action_mask)(states)
        logits, value = evaluate(self.base.variables, key, states)
        root = mctx.RootFnOutput(
            prior_logits=mask_logits(logits, mask), value=value, embedding=states
        )
        recurrent_fn = make_recurrent_fn(self.game, evaluate)
        positions = Positions(self.base.variables, recurrent_fn, root, mask)
        algorithm = make_algorithm(self.config)
        if isinstance(algorithm, Gumbel):
            algorithm = dataclasses.replace(algorithm, width=self.width)
        keys = SearchKeys(*jax.random.split(key, 3))
        found = algorithm.search(positions, keys, Exploration(), steps="anytime")
        if self.rule != "gumbel, most visited":
            return found.action
        visits = found.search_tree.summary().visit_counts
        scores = visits + jax.nn.softmax(logits) / 2  # among equals the higher prior
        return jnp.argmax(scores, axis=-1).astype(jnp.int32)


def anytime_player(
    base: SearchPlayer, rule: Rule, simulations: int, width: int = 1
) -> AnytimePlayer:
    """Returns a player with the network and the constants of another."""
    algorithm: Literal["gumbel", "puct"] = "puct" if rule == "puct" else "gumbel"
    config = dataclasses.replace(base.config, algorithm=algorithm, num_simulations=simulations)
    return AnytimePlayer(base, rule, config, width)


def main(options: Arguments) -> None:
    rows = []
    for name in options.players:
        player = load_player(name)
        if not isinstance(player, SearchPlayer):
            raise SystemExit(f"{name} must be a player with a network and a search")
        for simulations in options.simulations:
            found = (
                _matches(player, simulations, options)
                if options.what == "match"
                else _mistakes(player, simulations, options.widths)
            )
            rows.append({"player": name, "simulations": simulations} | found)
            print(json.dumps(rows[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def _mistakes(base: SearchPlayer, simulations: int, widths: tuple[int, ...]) -> dict[str, Any]:
    """Returns the mistakes in each suite by each rule, and by the whole Gumbel search."""
    players = {str(rule): anytime_player(base, rule, simulations) for rule in RULES}
    for width in widths:
        if width > 1:
            players[f"gumbel, {width} wide"] = anytime_player(base, "gumbel", simulations, width)
    suites, result = GameSuites(base.game).fixed, {}
    for name, player in players.items():
        began = time.monotonic()
        mistakes = {}
        for suite in suites:
            actions = choose(player, jax.random.key(0), suite.states, 512)
            mistakes[suite.name] = score_actions(suite, actions).mistakes
        result[name] = mistakes | {"seconds": round(time.monotonic() - began, 1)}
    return result


def _matches(base: SearchPlayer, simulations: int, options: Arguments) -> dict[str, Any]:
    """Returns wins, draws and losses of Gumbel's rule in each seat, for each width."""
    opponent = anytime_player(base, options.against, simulations)
    result = {}
    paces = options.paces or (1.0,) * len(options.widths)
    for width, pace in zip(options.widths, paces, strict=True):
        gumbel = anytime_player(base, "gumbel", round(pace * simulations), width)
        key, games = jax.random.key(1), options.games
        found = play_match(base.game, gumbel, opponent, key, num_games=games, opening_plies=4)
        result[f"{width} wide against {options.against}"] = found.to_dict() | {
            "elo": [round(x) for x in (found.elo_low, found.elo, found.elo_high)]
        }
    return result


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
