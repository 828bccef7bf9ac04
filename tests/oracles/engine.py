"""A scripted engine: python engine.py PROTOCOL BEHAVIOUR NOTES

PROTOCOL is gtp, uci or usi. The engine writes its process id and every line that it reads to the
file NOTES. With the BEHAVIOUR "well" it follows the protocol. Over gtp it places a stone on the
first free cell of a small board; with "analyses" it tells chances, too, as KataGo does. Over uci it
plays the first legal chess move in alphabetical order, by python-chess. It exits with an error on
any illegal move in a position.
"""

import os
import sys
import time

protocol, behaviour, notes = sys.argv[1:]


def note(line):
    with open(notes, "a") as file:
        file.write(f"{line}\n")


def say(text):
    print(text, flush=True)


def misbehave():
    """Returns the answer that replaces a move, or None."""
    if behaviour == "hang":
        time.sleep(600)
    if behaviour == "die":
        print("out of cheese", file=sys.stderr)
        sys.exit(3)
    if behaviour.endswith("later"):
        board["moves"] = board.get("moves", 0) + 1
        if board["moves"] % 5:
            return None
        if behaviour == "dies later":
            sys.exit(3)
    illegal = "a9" if protocol == "gtp" else "e2e5"
    answers = {"illegal": illegal, "illegal later": illegal, "resign": "resign", "win": "win"}
    return answers.get(behaviour)


def gtp(line, board):
    command, *words = line.split()
    if behaviour == "garbage":
        return say("Good day to you!")
    if command == "boardsize":
        if behaviour == "refuse":
            return say("? unacceptable size\n")
        board["size"] = int(words[0])
    if command == "clear_board":
        board["taken"] = []
    if command == "play":
        assert words[1] not in board["taken"]
        board["taken"].append(words[1])
    move = ""
    if command == "genmove":
        free = (cell for cell in cells_of(board) if cell not in board["taken"])
        move = misbehave() or next(free)
    if command == "known_command" and behaviour == "analyses":
        return say(f"= {str(words[0] == 'kata-genmove_analyze').lower()}\n")
    if command == "kata-genmove_analyze":
        best, other = [cell for cell in cells_of(board) if cell not in board["taken"]][:2]
        say(f"=\ninfo move {other} visits 1 winrate 0.4 order 0 pv {other}")
        say(
            f"info move {best} visits 9 winrate 0.75 order 0 pv {best} {other} info move {other}"
            f" visits 1 winrate 0.2 order 1 pv {other}"
        )
        return say(f"play {best}\n")
    say(f"= {move}\n")


def cells_of(board):
    size = range(board["size"])
    return [f"{'abcdefgh'[c]}{r + 1}" for r in size for c in size]


def uci(line, board):
    command, *words = line.split()
    if command == protocol:
        if behaviour == "garbage":
            return say("Unknown command: uci")
        say("id name Told")
        say("option name Skill Level type spin default 20 min 0 max 20")
        say("option name UCI_LimitStrength type check default false")
        say("option name UCI_Elo type spin default 1350 min 1350 max 2850")
        say("option name Style type combo default Solid var Solid var Quite Risky")
        say(f"{protocol}ok")
    if command == "isready":
        say("readyok")
    if command == "position":
        board["position"] = words
    if command == "go":
        say("info depth 1 score cp 0")
        say(f"bestmove {misbehave() or first_legal(board['position'])} ponder e7e5")


def first_legal(words):
    import chess

    assert words[0] == "fen"
    board = chess.Board(" ".join(words[1:7]))
    for move in words[8:]:
        board.push_uci(move)  # raises ValueError if it is illegal
    return min(move.uci() for move in board.legal_moves)


note(f"pid {os.getpid()}")
board = {}
while True:
    line = sys.stdin.readline()
    if not line:
        if behaviour == "stay":
            time.sleep(600)
        break
    note(line.strip())
    (gtp if protocol == "gtp" else uci)(line, board)
