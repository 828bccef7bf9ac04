"""Checks that a game keeps the contract of `azjax_envs.game.Game`."""
