"""Go, with area scoring and positional superko."""

from azjax_envs.go.game import Go, GoState

__all__ = ["Go", "GoState"]
