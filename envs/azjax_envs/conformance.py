"""The contract of `azjax_envs.game.Game` as a check that anyone can run on a game of their own."""

from azjax_envs.game import Game


def check_game(game: Game) -> list[str]:
    raise NotImplementedError
