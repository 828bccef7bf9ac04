"""Games of go in SGF: read, and written with comments and variations next to the game."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from azjax_envs.go import Go
from sgfmill import sgf, sgf_grammar
from sgfmill.common import format_vertex, move_from_vertex

from azjax.analysis.game_analysis import GameAnalysis
from azjax.analysis.played_game import PlayedGame, play_named
from azjax.errors import UserError
from azjax.play.game_record import GameRecord, start_game
from azjax.play.gtp.sgf import komi_of, size_of, texts_of

_COLOURS = "bw"


@dataclass(frozen=True)
class SgfSource:
    """The file's game, and the node of each move."""

    game: sgf.Sgf_game
    nodes: dict[int, Any]  # by the number of the move in the record, from 1


def read_sgf(data: bytes, game: Go) -> Iterator[Callable[[], PlayedGame]]:
    """Yields a function for each game of a file, which returns it or raises a UserError.

    Stones that are set up count as played, with passes between; so do two moves of one colour.

    Args:
      game: go of the player's board. The file's komi takes the place of its own.
    """
    try:
        trees = sgf_grammar.parse_sgf_collection(data)
    except ValueError as error:
        raise UserError("it is not an SGF file") from error
    for tree in trees:
        yield lambda tree=tree: _played(tree, game)


def board_size(data: bytes) -> int:
    """Returns the size of the first game's board; 19 where the file does not say."""
    with contextlib.suppress(ValueError, IndexError):
        return size_of(texts_of(sgf_grammar.parse_sgf_collection(data)[0].sequence[0]))
    return 19


def write_sgf(analysis: GameAnalysis, source: SgfSource) -> bytes:
    """Returns the file's game with a comment on each move and the better lines as variations."""
    size = source.game.get_size()
    for move in analysis.moves:
        node = source.nodes.get(move.number)
        if node is None:
            continue  # a pass that the file does not have
        text = f"{analysis.player}: {analysis.comment(move)}"
        node.add_comment_text(text)
        if not move.is_mistake:
            continue
        node.set("BM", 1)
        branch, record = node.parent, analysis.record.truncate(move.number - 1)
        for name in move.line:
            colour = _COLOURS[record.current.mover]
            branch = branch.new_child()
            branch.set_move(colour, move_from_vertex(name, size))
            record = play_named(record, name)
    return source.game.serialise()


def _played(tree: Any, game: Go) -> PlayedGame:
    root = texts_of(tree.sequence[0])
    if root.get("GM", ["1"])[0] not in ("", "1"):
        raise UserError("it is not a game of go")
    try:
        size, komi = size_of(root), komi_of(root)
    except ValueError as error:
        raise UserError(str(error)) from error
    if size != game.size:
        raise UserError(f"it is a game on {size}x{size}, and the player plays {game.name}")
    if komi is not None:
        game = dataclasses.replace(game, komi=komi)
    tree.sequence[0]["SZ"] = [str(size).encode()]  # "9:9" is not read below
    opened = sgf.Sgf_game.from_coarse_game_tree(tree)
    record, nodes, early = start_game(game), {}, ""
    for node in opened.get_main_sequence():
        if node.has_setup_stones():
            black, white, _ = node.get_setup_stones()
            for side, points in enumerate((black, white)):
                for point in sorted(points):
                    record = _play(record, side, point)
        try:
            colour, point = node.get_move()
        except ValueError as error:
            colour, raw = node.get_raw_move()
            text = f"{(colour or '').upper()}[{(raw or b'').decode('ascii', 'replace')}]"
            raise UserError(f"{text} is not a point of the board") from error
        if colour is None:
            continue
        if record.current.over:
            early = f"the game is over by its rules after {record.num_moves} moves"
            break
        record = _play(record, _COLOURS.index(colour), point)
        nodes[record.num_moves] = node
    if not record.num_moves:
        raise UserError("it has no moves")
    names = [opened.get_player_name(colour) or "" for colour in _COLOURS]
    title = " - ".join(names) if all(names) else ""
    return PlayedGame(record, title, early, SgfSource(opened, nodes))


def _play(record: GameRecord, player: int, point: tuple[int, int] | None) -> GameRecord:
    """Returns the record after a move; the other side passes first if it is to move."""
    if record.current.mover != player and not record.current.over:
        record = play_named(record, "pass")
    return play_named(record, format_vertex(point))
