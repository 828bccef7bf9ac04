"""Type aliases shared by all modules, and the field helper of registered dataclasses."""

import dataclasses
from typing import TYPE_CHECKING, Any

import jax

Array = jax.Array
State = Any
"""A pytree of a game's state, or of B states with a leading axis."""
Params = Any
"""A pytree of arrays that an evaluation function takes: a network's variables, say."""
Metrics = dict[str, Array]
"""Named scalars of one cycle."""


if TYPE_CHECKING:  # type checkers recognise a field's default only in `dataclasses.field` itself
    from dataclasses import field as static
else:

    def static(**options: Any) -> Any:
        """Returns a dataclass field that `jax.tree_util.register_dataclass` keeps static."""
        return dataclasses.field(metadata={"static": True}, **options)
