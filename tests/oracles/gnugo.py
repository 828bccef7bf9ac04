"""GNU Go as a referee over GTP: a process gets all commands at once and is then read.

GNU Go 3.8 remembers only the last 500 moves, so its superko is right in games up to that length.
"""

import os
import shutil
import subprocess

LETTERS = "ABCDEFGHJKLMNOPQRST"
LONGEST = 490  # plies, within GNU Go's memory


def program() -> str | None:
    """Returns the path of GNU Go, or None; Debian installs it where a service may not search."""
    return shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games:/usr/local/games")


def ask(commands: list[str], *, suicide: bool = False) -> list[str]:
    """Returns GNU Go's answer to each command, under positional superko."""
    rules = ["--chinese-rules", "--positional-superko"]
    rules.append("--allow-suicide" if suicide else "--forbid-suicide")
    finished = subprocess.run(
        [program(), "--mode", "gtp", *rules],
        input="\n".join([*commands, "quit", ""]),
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
        env=os.environ | {"LC_ALL": "C"},
    )
    answers = finished.stdout.split("\n\n")[: len(commands)]
    assert len(answers) == len(commands), finished.stdout[-500:]
    for command, answer in zip(commands, answers, strict=True):
        if not answer.startswith("="):
            raise ValueError(f"GNU Go to {command!r}: {answer}")
    return [answer.removeprefix("=").strip() for answer in answers]


def vertex(size: int, action: int) -> str:
    row, col = divmod(action, size)
    return "pass" if row == size else f"{LETTERS[col]}{size - row}"


def points(size: int, text: str) -> list[int]:
    """Returns the actions that a list of vertices names, sorted."""
    found = []
    for name in text.split():
        found.append((size - int(name[1:])) * size + LETTERS.index(name[0].upper()))
    return sorted(found)


def referee(size: int, games: list[list[int]], *, suicide: bool = False) -> list[list[dict]]:
    """Returns GNU Go's legal, black and white points before each ply and after the last."""
    looks = ("all_legal {}", "list_stones black", "list_stones white")
    commands = []
    for moves in games:
        commands += [f"boardsize {size}", "clear_board"]
        for ply, move in enumerate([*moves, None]):
            colour = ("black", "white")[ply % 2]
            commands += [look.format(colour) for look in looks]
            if move is not None:
                commands.append(f"play {colour} {vertex(size, move)}")
    answers = iter(ask(commands, suicide=suicide))
    seen = []
    for moves in games:
        next(answers), next(answers)
        plies = []
        for ply in range(len(moves) + 1):
            legal, black, white = (points(size, next(answers)) for _ in looks)
            plies.append({"legal": legal, "black": black, "white": white})
            if ply < len(moves):
                next(answers)
        seen.append(plies)
    return seen
