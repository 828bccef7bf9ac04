"""Engines under a clock, kept by a referee: `go movetime`, and games with an increment.

    python benchmarks/soak/clocks.py --json benchmarks/results/engine_clocks_2_cores.json

The players are untrained networks. The referee starts them as users do, `azjax uci FILE`, and reads
its own clock when it writes a command and when the move has come. With `--burners N` there are N
more processes that only compute, each pinned to a core.
"""

import dataclasses
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

import jax
import tyro

from azjax.config.toml import config_from_dict
from azjax.games import make_game
from azjax.network.two_headed import make_network
from azjax.players.weights_file import save_player

PROTOCOLS = {"chess": "uci", "shogi": "usi", "gardner_chess": "uci", "go_9x9": "gtp"}
TOLERANCE_MS = 20.0


@dataclasses.dataclass(frozen=True)
class Arguments:
    games: tuple[str, ...] = tuple(PROTOCOLS)
    """Games to play."""
    milliseconds: tuple[int, ...] = (50, 100, 500)
    """Times for a move."""
    moves: int = 200
    """Moves of each game at each of these times."""
    seconds: tuple[float, ...] = (1.0, 10.0)
    """Clocks of whole games, each with an increment of 0.1 s."""
    matches: int = 5
    """Whole games of each game and clock."""
    plies: int = 120
    """After this many plies a game ends undecided."""
    blocks: int = 4
    """Blocks of the network, a residual one."""
    channels: int = 64
    """Channels of the network."""
    burners: int = 1
    """Further processes that only compute, each on a core of its own."""
    json: Path | None = None
    """File of the record."""


def write_player(path: Path, game: str, network: dict) -> Path:
    """Writes the file of an untrained player."""
    config = config_from_dict({"game": {"name": game}, "network": network})
    rules = make_game(config)
    variables = jax.jit(make_network(rules, config.network).init)(jax.random.PRNGKey(0))
    save_player(path, config, variables, {"cycles": 0, "report": []})
    return path


class Engine:
    """A player as a process; `move` returns its move and the seconds that it took."""

    def __init__(self, protocol: str, player: Path, stderr: TextIO | None = None):
        self.protocol = protocol
        self._process = subprocess.Popen(
            [sys.executable, "-m", "azjax.cli", protocol, str(player)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
            bufsize=1,
        )
        self.pid = self._process.pid
        if protocol == "gtp":
            self.ask("genmove b", "=")  # compiles
            self.new_game()
        else:
            self.ask(protocol, f"{protocol}ok")
            self.new_game()

    def new_game(self) -> None:
        if self.protocol == "gtp":
            self.ask("clear_board", "=")
        else:
            self.write(f"{self.protocol}newgame")
            self.ask("isready", "readyok")

    def write(self, line: str) -> None:
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def ask(self, line: str, begin: str) -> str:
        """Writes a command and returns the line of the answer that begins so."""
        self.write(line)
        for answer in self._process.stdout:
            if answer.startswith("?"):
                raise SystemExit(f"{line}: {answer.strip()}")
            if answer.startswith(begin):
                return answer.strip()
        raise SystemExit(f"the engine ended with {self._process.wait()}")

    def read_any(self, begin: str) -> str:
        """Returns the next line that begins so, whatever comes before."""
        for answer in self._process.stdout:
            if answer.startswith(begin):
                return answer.strip()
        raise SystemExit(f"the engine ended with {self._process.wait()}")

    def move(self, moves: list[str], limit: str, colour: int) -> tuple[str, float, float]:
        """Returns (move or "" at the end of the game, seconds, seconds that the engine reports)."""
        if self.protocol == "gtp":
            began = time.monotonic()
            answer = self.ask(f"genmove {'bw'[colour]}", "=")
            seconds = time.monotonic() - began
            move = answer.removeprefix("=").strip()
            return ("" if move == "resign" else move), seconds, seconds
        told, began = 0.0, time.monotonic()
        self.write(f"position startpos{' moves ' if moves else ''}{' '.join(moves)}")
        self.write(f"go {limit}")
        for line in self._process.stdout:
            words = line.split()
            if words[:2] == ["info", "depth"]:
                told = int(words[4]) / 1000
            elif words[:1] == ["bestmove"]:
                move = "" if words[1] in ("(none)", "resign", "win") else words[1]
                return move, time.monotonic() - began, told
        raise SystemExit(f"the engine ended with {self._process.wait()}")

    def close(self) -> None:
        self.write("quit")
        self._process.wait(timeout=60)


def stolen_ms() -> int:
    """Returns for how long the host has taken cores away, so far; Linux counts in 10 ms."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0
    return 10 * int(stat.read_text().split("\n", 1)[0].split()[8])


def play_movetimes(engine: Engine, milliseconds: int, count: int, plies: int) -> dict:
    """Lets an engine play both sides with one time for every move."""
    over, untold, stolen = [], [], []
    moves: list[str] = []
    if engine.protocol == "gtp":
        engine.new_game()
        engine.ask(f"time_settings 0 {milliseconds / 1000} 1", "=")
    for _ in range(count):
        before = stolen_ms()
        move, seconds, told = engine.move(moves, f"movetime {milliseconds}", len(moves) % 2)
        over.append(1000 * seconds - milliseconds)
        untold.append(1000 * (seconds - told))
        stolen.append(stolen_ms() - before)
        moves.append(move)
        if not move or len(moves) >= plies or moves[-2:] in (["PASS"] * 2, ["pass"] * 2):
            moves = []
            if engine.protocol == "gtp":
                engine.ask("clear_board", "=")
    return {
        "moves": count,
        "median_ms": round(statistics.median(over) + milliseconds, 1),
        "longest_ms": round(max(over) + milliseconds, 1),
        # The move's number, by how much it was late, and what a virtual machine's host took of it.
        "beyond_tolerance": [
            (i, round(x, 1), stolen[i]) for i, x in enumerate(over) if x > TOLERANCE_MS
        ],
        "stolen_ms": sum(stolen),
        "largest_ms_not_reported": round(max(untold), 1),
    }


def play_game(engines: tuple[Engine, Engine], seconds: float, plies: int) -> dict:
    """Lets two engines play one game; the referee alone keeps the clocks."""
    increment = 0.1
    clocks, moves, least = [seconds, seconds], [], seconds
    for engine in engines:
        engine.new_game()
    for ply in range(plies):
        player = ply % 2
        engine = engines[player]
        left = [round(1000 * clock) for clock in clocks]
        if engine.protocol == "gtp":
            engine.ask(f"time_left {'bw'[player]} {clocks[player]:.3f} 0", "=")
        first, second = ("b", "w") if engine.protocol == "usi" else ("w", "b")
        limit = f"{first}time {left[0]} {second}time {left[1]} {first}inc 100 {second}inc 100"
        move, took, _ = engine.move(moves, limit, player)
        clocks[player] -= took
        least = min(least, clocks[player])
        if clocks[player] < 0:
            return {"plies": ply + 1, "lost_on_time": True, "least_s": round(least, 3)}
        clocks[player] += increment
        if not move or [move.lower(), *moves[-1:]] == ["pass"] * 2:
            break
        if engine.protocol == "gtp":
            engines[1 - player].ask(f"play {'bw'[player]} {move}", "=")
        moves.append(move.lower() if engine.protocol == "gtp" else move)
    return {"plies": len(moves), "lost_on_time": False, "least_s": round(least, 3)}


def _burn(number: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[number % len(cores)]})
    while os.getppid() != 1:
        sum(range(100_000))


def main(options: Arguments) -> None:
    burners = [
        multiprocessing.Process(target=_burn, args=(number,), daemon=True)
        for number in range(options.burners)
    ]
    for burner in burners:
        burner.start()
    record = {
        "command": "python benchmarks/soak/clocks.py",
        "options": {k: str(v) for k, v in dataclasses.asdict(options).items() if k != "json"},
        "machine": f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start",
        "movetime": {},
        "games": {},
    }
    network = {"architecture": "resnet", "blocks": options.blocks, "channels": options.channels}
    with tempfile.TemporaryDirectory() as folder:
        for game in options.games:
            player = write_player(Path(folder) / f"{game}.safetensors", game, network)
            engines = Engine(PROTOCOLS[game], player), Engine(PROTOCOLS[game], player)
            for milliseconds in options.milliseconds:
                result = play_movetimes(engines[0], milliseconds, options.moves, options.plies)
                record["movetime"][f"{game} {milliseconds} ms"] = result
                print(game, f"movetime {milliseconds}:", result, flush=True)
            for seconds in options.seconds:
                results = [
                    play_game(engines, seconds, options.plies) for _ in range(options.matches)
                ]
                record["games"][f"{game} {seconds:g} s + 0.1 s"] = results
                print(game, f"{seconds:g} s + 0.1 s:", results, flush=True)
            for engine in engines:
                engine.close()
    for burner in burners:
        burner.terminate()
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
