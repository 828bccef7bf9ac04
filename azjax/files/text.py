"""The text of files with games, in whatever encoding other programs wrote it."""

import codecs
import re
import string

_MARKS = {  # UTF-32 comes first: its mark begins with that of UTF-16
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",  # as Windows' shell writes after `>`
    codecs.BOM_UTF16_BE: "utf-16-be",
}
LATIN = "cp1252"
"""Windows' superset of ISO 8859-1, the encoding of PGN."""
SHIFT_JIS = "cp932"
"""Windows' form of Shift JIS, the encoding of most files of shogi."""

# Programs declare an encoding and write the one that Windows has in its place.
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "shift_jis": SHIFT_JIS,
    "euc_kr": "cp949",
    "iso8859-1": LATIN,
}
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_ASCII = string.printable + r"\x41"  # which Python's own escapes change


def decode(data: bytes, declared: str = "", *, fallback: str = LATIN) -> str:
    r"""Returns the text of a file, with its lines ended by "\n".

    A byte order mark tells the encoding, and so do characters of three bytes in UTF-8, which no
    text in another encoding has by chance. Otherwise it is the one that the file declares; without
    one it is UTF-8, or else `fallback`. Bytes that cannot be decoded become U+FFFD.

    Args:
      declared: the name of an encoding that the file gives; unknown ones are passed over.
      fallback: the encoding of old files of this format.

    Example:
        ```python
        decode(b"1. e4 {\xa9 A. M\xfcller}")  # "1. e4 {© A. Müller}"
        ```
    """
    return re.sub("\r\n?", "\n", _decode(data, declared, fallback))


def is_utf8(data: bytes) -> bool:
    """Returns whether all bytes are text in UTF-8, or in UTF-16 or UTF-32 with a mark."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.startswith(tuple(_MARKS))
    return True


def _decode(data: bytes, declared: str, fallback: str) -> str:
    if not declared and data.isascii():
        return data.decode()
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    text, fits = data.decode(errors="replace"), True
    try:
        data.decode()
    except UnicodeDecodeError as error:
        fits = error.start >= len(data) - 3 and error.end == len(data)  # cut within a character
    if fits and max(text.rstrip(_REPLACED), default="") >= "\u0800":
        return text
    known = _known(declared)
    texts = [text, _replacing(data, fallback)] if known is None else [text]
    if known is not None and known != "utf-8":
        texts.insert(0, _replacing(data, known))
    return min(texts, key=lambda each: each.count(_REPLACED))  # the first of equals


def _replacing(data: bytes, encoding: str) -> str:
    """Returns the text without the characters that an encoding leaves to private agreements."""
    return re.sub("[\ue000-\uf8ff]", _REPLACED, data.decode(encoding, "replace"))


def _known(declared: str) -> str | None:
    """Returns the encoding to use for a declared one; None unless it is a superset of ASCII."""
    try:
        name = codecs.lookup(declared.strip()).name
        b"\xff".decode(name, "replace")
        same = _ASCII.encode().decode(name) == _ASCII
    except (LookupError, ValueError):
        return None
    return _WIDER.get(name, name) if same else None
