"""The one exception that means: the user made a mistake, and this line says what would be right."""


class UserError(ValueError):
    """A mistake of the user's, told in one clear line.

    The command line prints it without a traceback and leaves with exit code 2.
    """
