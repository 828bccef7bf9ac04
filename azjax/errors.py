"""The exceptions for mistakes of the user and for failures around a run, each in one line."""

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


class FatalError(UserError):
    """A failure after which the process must end at once.

    Threads of libraries could keep it alive for long, so the command line does not wait for them.
    """


def printable(text: str) -> str:
    """Returns a text as one line that no terminal obeys: control characters become escapes.

    So do line breaks, characters that change the direction of writing, and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
