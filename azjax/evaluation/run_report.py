"""The report card of a run, and of a solved game, as the command line prints them."""

from __future__ import annotations

import time
from json import dumps
from pathlib import Path

from rich.console import Console

from azjax.evaluation.report import Report, report
from azjax.evaluation.report_table import render
from azjax.exact.solver import solve
from azjax.games import game_from_name
from azjax.players.load import (
    checkpoint_cycle,
    load_run_config,
    player_from_spec,
    untrained_player,
)


def report_run(
    run: str,
    *,
    simulations: int | None = None,
    beside: tuple[str, ...] = ("uct:1000",),
    against: tuple[str, ...] = ("random",),
    games: int = 200,
    opening_plies: int = 2,
    own_games: int = 128,
    seed: int = 0,
    json: bool = False,
    console: Console | None = None,
) -> Report:
    """Measures a run's player beside its raw policy and the untrained network, and writes it down.

    Prints the report and writes `report.json` into the run directory.

    Args:
      run: a run directory, or RUN@best, RUN@CYCLE.
      simulations: of the searching players; None for as many as the run's evaluations have.
      beside: more players to hold against the exact values.
      against: opponents that the run's player meets in matches, and its raw policy, too.
      games: games against each opponent.
      opening_plies: random plies of each game before the players start.
      own_games: games of the run's player with itself, from up to six random plies on, whose
        positions all players are held against, too; 0 for none.
      seed: of everything random.
      json: print JSON instead of tables.
      console: where to print.

    Raises:
      UserError: there is no such run or player.
    """
    directory = Path(run.partition("@")[0])
    config = load_run_config(directory)
    if simulations is None:
        simulations = config.evaluation.num_simulations
    player = player_from_spec(f"{run}:{simulations}")
    game = player.game
    players = {
        f"search:{simulations}": player,
        "policy": player_from_spec(f"{run}:policy"),
        f"untrained search:{simulations}": untrained_player(directory, simulations=simulations),
        **{spec: player_from_spec(spec, game) for spec in beside},
    }
    console = console or Console()
    with console.status("", spinner="dots") as status:
        card = report(
            game,
            players,
            opponents={spec: player_from_spec(spec, game) for spec in against},
            matched=2,
            num_games=games,
            opening_plies=opening_plies,
            own_games=own_games,
            seed=seed,
            progress=None if json else status.update,
        )
    text = dumps({"cycle": checkpoint_cycle(run), **card.to_dict()}, indent=2)
    (directory / "report.json").write_text(text + "\n")
    if json:
        print(text)
    else:
        render(card, console)
    return card


def solve_game(name: str, *, as_json: bool = False, console: Console | None = None) -> None:
    """Prints the exact value of a small game and of each first move.

    Raises:
      UserError: there is no such game, or it is too large.
    """
    game = game_from_name(name)
    console = console or Console()
    started = time.perf_counter()
    facts: dict[str, object] = {"game": game.name}
    start = game.init()
    payoffs = ["returns", "margin"] if hasattr(game, "score") else ["returns"]
    with console.status(f"solving {game.name}") as status:
        for payoff in payoffs:
            solution = solve(
                game,
                payoff=payoff,
                progress=lambda found, plies: status.update(f"{found:,} states, {plies} plies"),
            )
            key = "value" if payoff == "returns" else "margin"
            facts |= {"states": solution.num_states, "terminal": solution.num_terminal}
            facts[key] = solution.value
            values = solution.action_values([0])[0]
            facts[f"{key}_of_first_moves"] = {
                game.action_to_string(start, action): float(value)
                for action, value in enumerate(values)
                if value > -float("inf")
            }
    facts["seconds"] = round(time.perf_counter() - started, 2)
    if as_json:
        print(dumps(facts, indent=2))
        return
    words = {1.0: "the first player wins", 0.0: "a draw", -1.0: "the second player wins"}
    console.print(f"{game.name}: {words.get(solution_value := facts['value'], solution_value)}")
    for key, value in facts.items():
        if isinstance(value, dict):
            value = "  ".join(f"{move} {worth:+g}" for move, worth in value.items())
        console.print(f"  {key.replace('_', ' ')}: {value}", highlight=False)
