"""Commands for people who play."""

import dataclasses

import tyro

from azjax.commands.arguments import parse
from azjax.errors import UserError


def play(arguments: list[str]) -> None:
    """Play against a run in the terminal: azjax play runs/tic_tac_toe"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: tyro.conf.Positional[str]
        """The opponent: a run directory, as in `azjax eval`; or a game that a player comes with
        azjax for, such as connect_four."""
        side: int | None = None
        """Your seat: 0 moves first, 1 second; drawn by lot if left out."""
        watch: bool = False
        """Let the player play both sides."""
        seed: int = 0
        """Seed of the player's choices."""

    options = parse(play, Arguments, arguments, "play")
    if options.side not in (None, 0, 1):
        raise UserError(f"--side {options.side}: 0 (moves first) or 1 is wanted")
    import random

    import jax

    from azjax.play.terminal import play as play_in_terminal
    from azjax.players.load import describe, player_from_spec

    player = player_from_spec(options.run)
    if about := describe(options.run):
        print(about)
    human = None if options.watch else options.side
    if human is None and not options.watch:
        human = random.randint(0, 1)
    play_in_terminal(player.game, player, human=human, key=jax.random.PRNGKey(options.seed))
