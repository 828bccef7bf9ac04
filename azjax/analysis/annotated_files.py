"""The files of an analysis: a page, and the game with comments where its format has them."""

from pathlib import Path

from sgfmill.common import move_from_vertex

from azjax.analysis.game_analysis import AnalysedMove, GameAnalysis
from azjax.errors import UserError
from azjax.files import pgn, san, sgf
from azjax.files.game_record import GameRecord
from azjax.files.played_game import PlayedGame, play_named


def new_files(stem: Path, suffix: str) -> list[Path]:
    """Returns the files that `write_analysis` writes.

    Raises:
      UserError: one of them exists already.
    """
    endings = [".html", suffix] if suffix.lower() in (".sgf", ".pgn") else [".html"]
    files = [stem.with_name(stem.name + ending) for ending in endings]
    for file in files:
        if file.exists():
            raise UserError(f"{file} exists already: move it away, or give another --out")
    return files


def write_analysis(
    analysis: GameAnalysis, played: PlayedGame, stem: Path, suffix: str
) -> list[Path]:
    """Writes the page, and for go and chess the game with comments; returns the new files.

    `stem` is their path without an ending, and `suffix` the ending of the file that was read.

    Raises:
      UserError: a file exists already.
    """
    files = new_files(stem, suffix)
    contents = [analysis.page(played.title or None).encode()]
    if isinstance(played.source, sgf.SgfSource):
        contents.append(write_sgf(analysis, played.source))
    elif isinstance(played.source, pgn.Pgn):
        contents.append(write_pgn(analysis, played.source).encode())
    for file, data in zip(files, contents, strict=True):
        try:
            file.write_bytes(data)
        except OSError as error:
            raise UserError(f"{file}: cannot be written ({error.strerror})") from error
    return files


def write_pgn(analysis: GameAnalysis, source: pgn.Pgn) -> str:
    """Returns the game as PGN, with a comment on each move and the better lines as variations."""
    tags = source.tags | {"Annotator": f"azjax ({analysis.player})"}
    words: list[str] = []
    for move in analysis.moves:
        before = analysis.record.truncate(move.number - 1)
        number = pgn.move_number(before)
        words += [number, san.to_san(before, analysis.record.positions[move.number].action)]
        words += ["$4" if move.loss >= 0.3 else "$2"] * move.is_mistake
        words += ["{", *analysis.comment(move).partition(";")[0].split(), "}"]
        if move.is_mistake:
            words += ["(", number, *_variation(before, move), ")"]
    return pgn.write_text(tags, words, source.result)


def write_sgf(analysis: GameAnalysis, source: sgf.SgfSource) -> bytes:
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
            colour = sgf.COLOURS[record.current.mover]
            branch = branch.new_child()
            branch.set_move(colour, move_from_vertex(name, size))
            record = play_named(record, name)
    return source.game.serialise()


def _variation(record: GameRecord, move: AnalysedMove) -> list[str]:
    words: list[str] = []
    for name in move.line:
        action = next(a for a, text in record.legal_moves().items() if text == name)
        if words and record.current.mover == 0:
            words.append(pgn.move_number(record))
        words.append(san.to_san(record, action))
        record = record.play(action)
    return words
