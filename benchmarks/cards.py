"""Measures players that come with azjax anew, and writes their cards.

    python -m benchmarks.cards hex_5x5 hex_6x6 --out benchmarks/results/cards

Run it where the search of players has changed: a card must tell of the search that people meet.
Each player is measured on positions with exact values, and in the matches of `MEASURED`, by search
and by its policy. Its report is written first, then its file, whose weights stay as they are. A
player that has a report in `--out` is not measured again.
"""

import dataclasses
import functools
import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
import safetensors.numpy
import tyro

import azjax
from azjax.config import PlayerConfig
from azjax.evaluation.match import play_match
from azjax.players import Player
from azjax.players.card import card_texts, report_results
from azjax.players.weights_file import file_bytes, file_header, load_saved
from benchmarks import gnubg_matches

PRETRAINED = Path(azjax.__file__).parent / "pretrained"


@dataclasses.dataclass(frozen=True)
class Match:
    opponent: str
    games: int
    simulations: tuple[int, ...] = (0, 64)
    """Of the player; 0 is its policy."""
    opening_plies: int = 4


@dataclasses.dataclass(frozen=True)
class Measured:
    """How a player is measured."""

    matches: tuple[Match, ...] = ()
    own_games: int = 128
    """Whose positions are a suite."""


GNU_GO = "gtp:gnugo --level 10"
FAIRY = "fairy-stockfish?depth="
MEASURED = {
    "backgammon": Measured(
        (
            Match("GNU Backgammon at 0 ply", 2000, opening_plies=0),
            Match("pubeval", 2000, opening_plies=0),
        ),
        own_games=0,
    ),
    "chess": Measured(
        (
            Match("uct:1000", 10, (64,)),
            Match("uct:100", 20, (64,)),
            Match("random", 40, (64,)),
            Match("uci:stockfish?nodes=1&Skill Level=0", 40, (64,)),
            Match("uci:stockfish?nodes=1&Skill Level=3", 40, (64,)),
            Match(f"uci:{FAIRY}1", 40, (64,)),
        ),
        own_games=0,
    ),
    "connect_four": Measured((Match("uct:1000", 200, opening_plies=2),)),
    "dots_and_boxes_3x3": Measured(),
    "dots_and_boxes_4x4": Measured((Match("uct:1000", 100),)),
    "gardner_chess": Measured(
        (Match(f"uci:{FAIRY}2", 100), Match(f"uci:{FAIRY}2", 200, (400,))), own_games=0
    ),
    "go_7x7": Measured((Match(GNU_GO, 100, (0, 64, 400)),), own_games=0),
    "go_9x9": Measured((Match(GNU_GO, 100, (64, 400)),), own_games=0),
    "gomoku": Measured((Match("uct:1000", 200),), own_games=0),
    "gomoku_9x9": Measured((Match("uct:1000", 200, (64,)),), own_games=0),
    "hex_5x5": Measured(),
    "hex_6x6": Measured((Match("uct:1000", 100),)),
    "hex_7x7": Measured((Match("uct:1000", 100),), own_games=0),
    "hypergammon": Measured((Match("uct:200", 200, opening_plies=0),), own_games=0),
    "mancala": Measured((Match("uct:1000", 100),)),
    "mancala_4x3": Measured(),
    "othello": Measured((Match("uct:1000", 200, opening_plies=6),)),
    "othello_6x6": Measured((Match("uct:1000", 200, (64,)),)),
    "shogi": Measured(
        (
            Match("uct:1000", 10, (64,)),
            Match("uct:100", 10, (64,)),
            Match("random", 10, (64,)),
            Match(f"usi:{FAIRY}1", 20, (64,)),
        ),
        own_games=0,
    ),
    "tic_tac_toe": Measured(
        (Match("uct:1000", 200, opening_plies=0), Match("random", 200, opening_plies=0)),
        own_games=0,
    ),
    "ur": Measured((Match("uct:200", 200, opening_plies=0),), own_games=0),
    "ur_3": Measured((Match("exact", 1000, opening_plies=0),)),
}


@dataclasses.dataclass(frozen=True)
class Arguments:
    names: tyro.conf.Positional[tuple[str, ...]]
    """Players that come with azjax."""
    out: Path
    """Folder of the reports."""


def main(arguments: Arguments) -> None:
    for name in arguments.names:
        file = arguments.out / f"{name}.json"
        if not file.exists():
            began = time.monotonic()
            report = measure(name, MEASURED[name])
            report["seconds"] = round(time.monotonic() - began)
            file.write_text(json.dumps(report, indent=1) + "\n")
        path = PRETRAINED / f"{name}.safetensors"
        saved = load_saved(path)
        texts = card(saved.config, saved.metadata, json.loads(file.read_text()))
        arrays = safetensors.numpy.load_file(path)
        path.write_bytes(file_bytes(arrays, file_header(saved.config, texts)))
        print(texts["card"], flush=True)


def measure(name: str, how: Measured) -> dict[str, Any]:
    """Returns a report of the player, with the matches of all numbers of simulations."""
    say = functools.partial(print, file=sys.stderr)
    players = {0: azjax.load_player(f"{name}:policy"), 64: azjax.load_player(name, simulations=64)}
    game = players[0].game
    named = {"search:64": players[64], "policy": players[0]}
    report = azjax.report(game, named, own_games=how.own_games, progress=say).to_dict()
    rows = {row["name"]: row for row in report["players"]}
    for number, match in enumerate(how.matches):
        opponent = load_opponent(match.opponent, game)
        for simulations in match.simulations:
            shown = f"search:{simulations}" if simulations else "policy"
            player = players.get(simulations) or azjax.load_player(name, simulations=simulations)
            result = play_match(
                game,
                player,
                opponent,
                jax.random.key(number),
                num_games=match.games,
                opening_plies=match.opening_plies,
                progress=lambda line, shown=shown: say(f"{shown}: {line}"),
            )
            result = dataclasses.replace(result, player_a=shown, player_b=match.opponent)
            empty = {"name": shown, "scores": [], "values": [], "matches": []}
            rows.setdefault(shown, empty)["matches"].append(result.to_dict())
    return {"command": f"python -m benchmarks.cards {name}", **report, "players": [*rows.values()]}


def load_opponent(name: str, game: Any) -> Player:
    """Returns a player by its name: one that azjax loads, or an engine of `gnubg_matches`."""
    if name in gnubg_matches.ENGINES:
        return gnubg_matches.GnuBackgammon(game, name)
    return azjax.load_player(name, game=game)


def card(config: PlayerConfig, told: dict[str, str], report: dict[str, Any]) -> dict[str, str]:
    """Returns the texts of a player whose training is known."""
    return card_texts(config, {"training": told["training"], **report_results(report)})


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
