"""Engines for a long time: nonsense, whole games and interrupted searches; memory stays as it is.

    python benchmarks/soak/engines.py --json benchmarks/results/engine_soak_2_cores.json

Each engine runs as users start it, `azjax uci FILE`, with an untrained network. It must answer all
lines of nonsense without a traceback and play a whole game afterwards. Then it plays games in a row
and is stopped in endless searches. Its memory after all of them is compared with its memory after
the first few.
"""

import dataclasses
import json
import os
import random
import sys
import tempfile
import threading
from pathlib import Path

import tyro

sys.path.insert(0, str(Path(__file__).parent))
from clocks import Engine, write_player

GAMES = {"gtp": "go_5x5", "uci": "gardner_chess", "usi": "shogi"}
NETWORK = {"architecture": "mlp", "blocks": 1, "channels": 16}
NUMBERS = [*map(str, range(-5, 31)), "9" * 5000, "1e999", "nan", "²", "٣", "0x5", "5.5"]
JUNK = [
    "",
    "\t",
    "#",
    "\x1b[31m",
    "\x00",
    "é",
    "漢",
    "\ufeff",
    "'",
    '"',
    "\\",
    "%s",
    "{}",
    "a" * 70000,
]
UCI = ["uci", "usi", "isready", "ucinewgame", "usinewgame", "position", "go", "stop", "ponderhit"]
UCI += ["setoption", "debug", "register", "gameover"]
UCI_WORDS = ["startpos", "fen", "sfen", "moves", "infinite", "ponder", "nodes", "movetime", "wtime"]
UCI_WORDS += [
    "btime",
    "winc",
    "binc",
    "movestogo",
    "byoyomi",
    "depth",
    "mate",
    "searchmoves",
    "name",
]
UCI_WORDS += ["value", "b2b3", "d4d3", "7g7f", "P*5e", "Hash", "USI_Hash", "UCI_ShowWDL", "true"]
GTP = ["protocol_version", "name", "version", "list_commands", "known_command", "boardsize", "play"]
GTP += ["clear_board", "genmove", "undo", "showboard", "time_settings", "time_left", "final_score"]
GTP += ["fixed_handicap", "loadsgf", "lz-analyze", "lz-genmove_analyze", "list_games", "set_game"]
GTP_WORDS = [
    "b",
    "w",
    "black",
    "White",
    "pass",
    "resign",
    "C3",
    "e5",
    "I1",
    "a6",
    "interval",
    "allow",
]
GTP_WORDS += ["maxmoves", "avoid", "a1,b2", "swap-pieces"]


@dataclasses.dataclass(frozen=True)
class Arguments:
    protocols: tuple[str, ...] = tuple(GAMES)
    """Protocols to test."""
    lines: int = 20_000
    """Lines of nonsense."""
    games: int = 30
    """Games in a row."""
    searches: int = 200
    """Endless searches, each stopped."""
    plies: int = 200
    """After this many plies a game ends undecided."""
    seed: int = 0
    """Of the nonsense."""
    json: Path | None = None
    """File of the record."""


def nonsense(protocol: str, count: int, seed: int) -> list[str]:
    """Returns lines that begin with a command more often than not, but never `quit`."""
    draw = random.Random(seed)
    commands, words = (GTP, GTP_WORDS) if protocol == "gtp" else (UCI, UCI_WORDS)
    lines = []
    for _ in range(count):
        kind = draw.random()
        rest = [
            draw.choice(draw.choice([words, words, NUMBERS])) for _ in range(draw.randint(0, 6))
        ]
        if kind < 0.8:
            line = " ".join([draw.choice(commands), *rest])
        elif kind < 0.9:
            line = " ".join([draw.choice(JUNK), *rest])
        else:
            line = "".join(chr(draw.randint(32, 0x2FFF)) for _ in range(draw.randint(0, 40)))
        lines.append("" if line.split()[:1] == ["quit"] else line)
    return lines


def survive_nonsense(engine: Engine, lines: list[str]) -> None:
    """Writes the lines while their answers are read; the last two end any search."""
    last = ["", "", "987654321 name"] if engine.protocol == "gtp" else ["stop", engine.protocol]

    def write() -> None:
        for line in [*lines, *last]:
            engine.write(line)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    if engine.protocol == "gtp":
        engine.read_any("=987654321")
    else:
        introductions = 1 + sum(line.split()[:1] == last[-1:] for line in lines)
        for _ in range(introductions):
            engine.read_any("id name")
    writer.join()


def play_whole_game(engine: Engine, plies: int) -> int:
    """Lets the engine play both sides; returns the number of plies."""
    engine.new_game()
    moves: list[str] = []
    if engine.protocol == "gtp":
        engine.ask("time_settings 0 1 0", "=")
    for ply in range(plies):
        move, _, _ = engine.move(moves, "nodes 8", ply % 2)
        if not move or [move.lower(), *moves[-1:]] == ["pass"] * 2:
            return ply
        moves.append(move.lower() if engine.protocol == "gtp" else move)
    return plies


def stop_endless_search(engine: Engine) -> None:
    if engine.protocol == "gtp":
        engine.ask("clear_board", "=")
        engine.write("lz-analyze b 1")
        engine.read_any("info")
        engine.ask("protocol_version", "= 2")
    else:
        engine.write("position startpos")
        engine.write("go infinite")
        engine.read_any("info")
        engine.ask("stop", "bestmove")


def memory_mb(engine: Engine) -> float:
    for line in Path(f"/proc/{engine.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise SystemExit("the system does not tell the memory of a process")


def soak(protocol: str, player: Path, options: Arguments) -> dict:
    errors = player.with_suffix(".stderr")
    with errors.open("w") as stderr:
        engine = Engine(protocol, player, stderr=stderr)
        survive_nonsense(engine, nonsense(protocol, options.lines, options.seed))
        if protocol != "gtp":
            hash_option = "Hash" if protocol == "uci" else "USI_Hash"
            engine.write(f"setoption name {hash_option} value 16")
            engine.new_game()
        plies = play_whole_game(engine, options.plies)
        play_whole_game(engine, options.plies)
        stop_endless_search(engine)
        before = memory_mb(engine)
        for _ in range(options.games):
            play_whole_game(engine, options.plies)
        after_games = memory_mb(engine)
        for _ in range(options.searches):
            stop_endless_search(engine)
        after = memory_mb(engine)
        engine.close()
    return {
        "lines_of_nonsense": options.lines,
        "plies_of_the_game_after_them": plies,
        "memory_mb": round(before, 1),
        f"memory_mb_after_{options.games}_games": round(after_games, 1),
        f"memory_mb_after_{options.searches}_searches": round(after, 1),
        "growth_percent": round(100 * (max(after, after_games) / before - 1), 2),
        "stderr": errors.read_text()[:2000],
    }


def main(options: Arguments) -> None:
    record = {
        "command": "python benchmarks/soak/engines.py",
        "machine": f"{os.cpu_count()} cores",
        "options": {k: str(v) for k, v in dataclasses.asdict(options).items() if k != "json"},
        "results": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        for protocol in options.protocols:
            player = write_player(
                Path(folder) / f"{protocol}.safetensors", GAMES[protocol], NETWORK
            )
            record["results"][protocol] = soak(protocol, player, options)
            print(protocol, record["results"][protocol], flush=True)
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    wrong = [p for p, result in record["results"].items() if result["stderr"]]
    if wrong:
        raise SystemExit(f"something was written to stderr: {', '.join(wrong)}")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
