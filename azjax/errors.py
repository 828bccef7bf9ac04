"""The exception for mistakes of the user; its message says what would be right."""

_LONGEST = 2000


class UserError(ValueError):
    """A mistake of the user, described in one clear line.

    The command line prints the line without a traceback and exits with code 2. Messages may quote
    files of strangers, so the line is made `printable`.
    """

    def __init__(self, message: object) -> None:
        text = printable(str(message))
        if len(text) > _LONGEST:
            left_out = len(text) - _LONGEST
            half = _LONGEST // 2
            text = f"{text[:half]} ... [{left_out:,} characters] ... {text[-half:]}"
        super().__init__(text)


def printable(text: str) -> str:
    """Returns a text as one line that no terminal obeys: control characters become escapes.

    So do line breaks, characters that change the direction of writing, and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
