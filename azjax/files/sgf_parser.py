"""Text in SGF as trees of `sgfmill`, also where it does not keep to the format.

Source of the format: A. Hollosi, "SGF File Format FF[4]", https://www.red-bean.com/sgf/.
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sgfmill.sgf_grammar import Coarse_game_tree, main_sequence_iter

from azjax.files.text import decode, is_utf8

_NAME = "[A-Z][A-Za-z]{0,63}"  # old files write "AddBlack" for AB
_NEXT = rf"(?:{_NAME}\s+)?{_NAME}\s*\["  # the first name may lack its values
# A bracket ends a text if what comes next can follow a value; otherwise it belongs to the text.
_END = rf"\](?=\s*(?:[\[)]|{_NEXT}|{_NAME}\s*[;)]|[;(]\s*(?:[;()]|{_NEXT}|$)|$))"
_TEXT = re.compile(rf"\s*\[([^\\\]]*(?:(?:\\.|(?!{_END})\])[^\\\]]*)*){_END}", re.DOTALL)
_WORD = re.compile(r"\s*\[([^\\\]]*(?:\\.[^\\\]]*)*)\]", re.DOTALL)
_WORDS = {"B", "W", "AB", "AW", "AE", "SZ", "KM", "GM", "FF", "CA"}  # their values have no brackets
_ROOT = {"GM", "FF", "SZ"}  # only the first node of a game has them
_LOWER = re.compile("[a-z]")
_BRACKET = re.compile(r"(\\.)|\]", re.DOTALL)  # or a character that is escaped
_TOKEN = re.compile(rf"[;()\[]|{_NAME}|[a-z]+")
_START = re.compile(rf"\(\s*(?:[;(]|{_NEXT})|;\s*{_NEXT}")
# Nodes of one move, with clocks and comments, as most of a file is; brackets and escapes need care.
_MOVE = r"([BW])\s*\[((?:[A-Za-z]{2})?)\]"
_REMARK = rf"(?:C|N|[BW]L|O[BW])\s*\[[^\\\[\]]*+{_END}\s*"
_RUN = re.compile(rf"(?:;\s*{_MOVE}\s*(?:{_REMARK})*+(?=[;()]))++")
_MOVES = re.compile(rf";\s*{_MOVE}")
_PROPERTY = re.compile(r"(;)|([A-Z]+)\s*\[([^\]]*)\]")
_BYTES_END = re.compile(rb"\](?=\s*(?:;?\s*[A-Z]{1,2}\s*\[|\(\s*;))")
# In an undeclared encoding a backslash before the end may be the second byte of a character.
_TRAIL = re.compile(rb"([\x81-\xfe])\\(?=" + _BYTES_END.pattern + rb")")
_CHARSET = re.compile(rb"(?<![A-Za-z])CA\s*\[([^\]]{0,40})\]")


# Encodings that write ASCII as ASCII does, without escapes.
_ASCII_ALIKE = {"utf-8", "utf8", "ascii", "us-ascii", "iso-8859-1", "latin1", "gb2312", "gbk"}
_ASCII_ALIKE |= {"gb18030", "big5", "shift_jis", "euc-kr", "windows-1252"}


@dataclass(frozen=True)
class SgfTree:
    """A game of a file."""

    packed: Any  # a `Coarse_game_tree` with runs of moves as text, see `main_line`
    cut: bool  # the file ends within the game

    @functools.cached_property
    def root(self) -> Any:
        """A `Coarse_game_tree`, whose values are in UTF-8."""
        root = Coarse_game_tree()
        opened = [(self.packed, root)]
        while opened:  # no recursion, as hostile files are deep
            packed, tree = opened.pop()
            tree.sequence = [node for part in packed.sequence for node in _nodes(part)]
            tree.children = [Coarse_game_tree() for _ in packed.children]
            opened += zip(packed.children, tree.children, strict=True)
        return root

    def main_line(self) -> Iterator[dict[str, list[bytes]] | str]:
        """Yields the main line: a node, or several of one move each as text, ";B[aa];W[]C[a pass]".

        The points have two letters; a pass has none. The root is a node.
        """
        return main_sequence_iter(self.packed)


def moves_of(run: str) -> list[tuple[str, str]]:
    """Returns colour and point of each move of a run."""
    return _MOVES.findall(run)


def _nodes(part: dict[str, list[bytes]] | str) -> list[dict[str, list[bytes]]]:
    if not isinstance(part, str):
        return [part]
    nodes: list[dict[str, list[bytes]]] = []
    for begins, name, value in _PROPERTY.findall(part):
        if begins:
            nodes.append({})
        else:
            nodes[-1].setdefault(name, []).append(value.encode())
    return nodes


def parse_sgf(data: bytes) -> list[SgfTree]:
    """Returns the games of a file; none if it has no SGF."""
    return _Parser(_decoded(data)).games


def _decoded(data: bytes) -> str:
    """Decodes before the parser looks for brackets, as characters may have the bytes of some.

    A file that was put together may declare several encodings, each from its game on. A character
    that was cut off at the end of a value must not take the bracket with it, so a control character
    stands between them meanwhile.
    """
    charsets = list(_CHARSET.finditer(data))
    declared = {found[1].strip().lower().decode("latin-1") for found in charsets}
    if data.isascii() and b"\x1f" not in data and declared <= _ASCII_ALIKE:
        return decode(data)
    starts = [max(data.rfind(b"(", 0, found.start()), 0) for found in charsets]
    names = [found[1].decode("latin-1") for found in charsets]
    if not starts or b"(" in data[: starts[0]]:  # a game that declares none
        starts, names = [0, *starts], ["", *names]
    parts = []
    for start, end, name in zip([0, *starts[1:]], [*starts[1:], len(data)], names, strict=True):
        part = data[start:end]
        if name:
            marked = _BYTES_END.sub(b"\x1f]", part)
        else:
            marked = part if is_utf8(part) else _TRAIL.sub(rb"\1\\\\", part)
        parts.append(decode(marked, name).replace("\x1f]", "]"))
    return "".join(parts)


class _Parser:
    """One pass over a text, which finds its `games`."""

    def __init__(self, text: str):
        self.games: list[SgfTree] = []
        self._open: list[Any] = []  # from the game's tree to the innermost one
        at: int | None = 0
        while at is not None:
            at = self._read(text, at)
        while self._open:
            self._close(cut=True)

    def _read(self, text: str, at: int) -> int | None:
        """Reads a mark or a property, and returns where it ends; None at the end of the text."""
        if not self._open:
            start = _START.search(text, at)
            if start is None:
                return None
            at = start.start()
            if text[at] == ";":
                self._open.append(Coarse_game_tree())
        token = _TOKEN.search(text, at)
        if token is None:
            return None
        match token[0]:
            case "(":
                self._open.append(Coarse_game_tree())
            case ")":
                self._close(cut=False)
            case ";":
                nodes = self._open[-1].sequence
                run = _RUN.match(text, token.start()) if nodes else None
                nodes.append({} if run is None else run[0])
                return token.end() if run is None else run.end()
            case "[":  # a value without a name, or one that has no end
                value = _WORD.match(text, token.start())
                return None if value is None else value.end()
            case name if name[0].isupper():
                name = name if name.isupper() else _LOWER.sub("", name)
                return self._read_values(name, text, token.end())
        return token.end()

    def _read_values(self, name: str, text: str, at: int) -> int:
        """Adds a property to the newest node, unless it has no values; returns where they end."""
        pattern, values = _WORD if name in _WORDS else _TEXT, []
        while found := pattern.match(text, at):
            value = found[1]
            if "]" in value:
                value = _BRACKET.sub(lambda m: m[1] or r"\]", value)
            values.append(value.encode())
            at = found.end()
        if values:
            if not self._open[-1].sequence:
                self._open[-1].sequence.append({})
            if name in _ROOT and len(self._open) > 1 and self._open[0].sequence:
                game = self._open.pop()  # the games around it have lost their ends
                while self._open:
                    self._close(cut=True)
                self._open = [game]
            nodes = self._open[-1].sequence
            if isinstance(nodes[-1], str):
                nodes[-1:] = _nodes(nodes[-1])
            nodes[-1].setdefault(name, []).extend(values)
        return at

    def _close(self, *, cut: bool) -> None:
        tree = self._open.pop()
        # Brackets may also stand around games or around variations.
        for each in [tree] if tree.sequence else tree.children:
            if self._open:
                self._open[-1].children.append(each)
            else:
                self.games.append(SgfTree(each, cut))
