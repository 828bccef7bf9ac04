"""The files of an analysis: a page, and the game with comments where its format has them."""

from pathlib import Path

from sgfmill.common import move_from_vertex

from azjax.analysis.game_analysis import GameAnalysis
from azjax.errors import UserError
from azjax.files import notation, pgn, sgf
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
    """Returns the game as PGN, with a comment on each move and the better lines as variations.

    What the file says of its moves stays. Moves that cannot be played become a comment.
    """
    annotators = [source.tags.get("Annotator", ""), f"azjax ({analysis.player})"]
    tags = source.tags | {"Annotator": ", ".join(filter(None, annotators))}
    words = list(source.notes[0])
    for move in analysis.moves:
        state = analysis.record.positions[move.number - 1].state
        [played] = notation.numbered(analysis.game, state, [move.move])
        notes = source.notes[move.number]
        marks = [note for note in notes if note.startswith("$")]
        words += [*played.split(), *marks]
        words += ["$4" if move.loss >= 0.3 else "$2"] * move.is_mistake
        words += ["{", *analysis.comment(move).partition(";")[0].split(), "}"]
        words += [note for note in notes if note not in marks]
        if move.is_mistake:
            line = " ".join(notation.numbered(analysis.game, state, move.line))
            words += f"({line})".split()
    if rest := source.moves[len(analysis.moves) :]:
        words.append(f"{{the file goes on: {' '.join(rest)}}}")
    return pgn.write_text(tags, words, source.result or "*")


def write_sgf(analysis: GameAnalysis, source: sgf.SgfSource) -> bytes:
    """Returns the file's game with a comment on each move and the better lines as variations."""
    size = source.game.get_size()
    for move in analysis.moves:
        node = source.nodes.get(move.number)
        if node is None:
            continue  # a pass that the file does not have
        text = f"{analysis.player}: {analysis.comment(move)}"
        sgf.add_comment(node, text)
        if not move.is_mistake:
            continue
        node.set("BM", 1)
        if node.parent is None:
            continue  # a move in the root, beside which there can be no other
        branch, record = node.parent, analysis.record.truncate(move.number - 1)
        for name in move.line:
            colour = sgf.COLOURS[record.current.mover]
            branch = branch.new_child()
            branch.set_move(colour, move_from_vertex(name, size))
            record = play_named(record, name)
    return source.game.serialise()
