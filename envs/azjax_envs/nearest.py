"""The name that was probably meant, for messages about names that do not exist."""

import difflib
import re
from collections.abc import Iterable, Mapping

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def nearest(
    name: str,
    names: Iterable[str],
    *,
    cutoff: float = 0.6,
    also_called: Mapping[str, str] | None = None,
) -> str | None:
    """Returns the one of `names` that is most like `name`; None if none is like it.

    Capitals, blanks and signs do not count, and a digit is the same as its word: "Connect 4" is
    "connect_four". Sizes must be equal, since another size is another game.

    Args:
      cutoff: the least likeness of names that differ in letters, from 0 to 1.
      also_called: other names of some of `names`, in letters alone, such as "reversi".
    """
    written, size = _letters_and_size(name)
    known = {_letters_and_size(each): each for each in names}
    same = {letters: each for (letters, its), each in known.items() if its == size}
    for other, each in (also_called or {}).items():
        same |= {other: each} if each in same.values() else {}
    if written in same:
        return same[written]
    near = difflib.get_close_matches(written, same, n=1, cutoff=cutoff)
    return same[near[0]] if near else None


def _letters_and_size(name: str) -> tuple[str, str]:
    """Returns a name in small letters without signs, and its size, such as "9x9"."""
    text = re.sub(r"[\W_]+", " ", name.casefold()).strip()
    # Beginning within a row of digits too, the search would take the square of its length.
    size = re.search(r"(?<!\d)\d+(x\d+)+$", text)
    if size:
        text = text.removesuffix(size[0])
    text = re.sub(r"(?<![0-9])[0-9](?![0-9])", lambda digit: _WORDS[int(digit[0])], text)
    return text.replace(" ", ""), size[0] if size else ""
