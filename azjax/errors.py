"""The exception for mistakes of the user; its message says what would be right."""


class UserError(ValueError):
    """A mistake of the user, described in one clear line.

    The command line prints the line without a traceback and exits with code 2.
    """
