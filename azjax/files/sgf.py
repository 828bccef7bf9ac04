"""Games of go in SGF: read, and written with comments and variations next to the game."""

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from azjax_envs.go import Go
from sgfmill import sgf, sgf_grammar

from azjax.errors import UserError
from azjax.files.game_record import start_game
from azjax.files.played_game import PlayedGame, play_named, played_game
from azjax.files.sgf_tree import read_tree, size_of, texts_of, vertex_of

COLOURS = "bw"


@dataclass(frozen=True)
class SgfSource:
    """The file's game, and the node of each move."""

    game: sgf.Sgf_game
    nodes: dict[int, Any]  # by the number of the move in the record, from 1


def split_games(data: bytes) -> Iterator[Any]:
    """Yields the games of a file as trees."""
    try:
        yield from sgf_grammar.parse_sgf_collection(data)
    except ValueError as error:
        raise UserError("it is not an SGF file") from error


def board_size(data: bytes) -> int:
    """Returns the size of the first game's board; 19 where the file does not say."""
    with contextlib.suppress(ValueError, IndexError):
        return size_of(texts_of(sgf_grammar.parse_sgf_collection(data)[0].sequence[0]))
    return 19


def read_game(game: Go, tree: Any) -> PlayedGame:
    """Returns a game of a file, or raises a UserError. Its komi takes the place of `game`'s own.

    Stones that are set up count as played, with passes between; so do two moves of one colour.
    """
    try:
        size, komi, moves = read_tree(tree, sets_up_later=True)
    except ValueError as error:
        raise UserError(str(error)) from error
    if size != game.size:
        raise UserError(f"it is a game on {size}x{size}, and the player plays {game.name}")
    if komi is not None:
        game = dataclasses.replace(game, komi=komi)
    tree.sequence[0]["SZ"] = [str(size).encode()]  # sgfmill does not read "9:9"
    opened = sgf.Sgf_game.from_coarse_game_tree(tree)
    line = opened.get_main_sequence()
    record, nodes, ended = start_game(game), {}, False
    for player, point, node in moves:
        if ended := record.current.over and node is not None:
            break
        if record.current.mover != player and not record.current.over:
            record = play_named(record, "pass")
        record = play_named(record, vertex_of(point, size))
        if node is not None:
            nodes[record.num_moves] = line[node]
    sides = [opened.get_player_name(colour) or "" for colour in COLOURS]
    return played_game(record, sides, ended=ended, source=SgfSource(opened, nodes))
