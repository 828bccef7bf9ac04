"""GNU Go as a referee over GTP: a process is given all its commands at once, then read.

GNU Go 3.8 remembers the last 500 moves only, so its superko holds in games no longer than that.
"""

import os
import shutil
import subprocess

LETTERS = "ABCDEFGHJKLMNOPQRST"
LONGEST = 490  # plies within GNU Go's memory


def program() -> str | None:
    """Where GNU Go is, if it is; Debian puts it where the PATH of a service may not look."""
    return shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games:/usr/local/games")


def ask(commands: list[str], *, suicide: bool = False) -> list[str]:
    """GNU Go's answer to each command, under positional superko."""
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
    """The actions that a list of vertices names, in order."""
    found = []
    for name in text.split():
        found.append((size - int(name[1:])) * size + LETTERS.index(name[0].upper()))
    return sorted(found)


def referee(size: int, games: list[list[int]], *, suicide: bool = False) -> list[list[dict]]:
    """What GNU Go sees before each ply of each game, and after the last: legal, black, white."""
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
