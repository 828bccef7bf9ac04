"""A player's network alone as an ONNX model, for other programs."""

from pathlib import Path

import jax
import jax.numpy as jnp

from azjax.errors import UserError
from azjax.network import in_float32
from azjax.players.network_players import PolicyPlayer, SearchPlayer, ValuePlayer
from azjax.players.weights_file import new_file
from azjax.types import Array


def export_onnx(
    player: SearchPlayer | PolicyPlayer | ValuePlayer, path: str | Path, *, batch: int = 1
) -> None:
    """Writes a player's network as an ONNX model, without the game's rules and without search.

    The model's input is "observations", float32 [batch, height, width, channels], as the game's
    `observe` makes them. Its outputs are "policy_logits", float32 [batch, num_actions], of which
    those of illegal actions must be left out, and "value", float32 [batch], from the mover's
    perspective. The arithmetic is float32.

    Raises:
      UserError: the player has no network, the file exists, its name does not end in `.onnx`, a
      package is missing, or the network uses an operation that cannot be exported.
    """
    if not isinstance(player, SearchPlayer | PolicyPlayer | ValuePlayer):
        raise UserError(f"{getattr(player, 'name', player)} has no network to export")
    path = new_file(path, ".onnx")
    if batch < 1:
        raise UserError(f"batch = {batch} must be at least 1")
    try:
        from azjax.onnx_export.convert import UnsupportedPrimitive, to_onnx
    except ImportError as error:
        raise UserError(f'{error}: export_onnx needs pip install "azjax[web]"') from error
    network, variables = in_float32(player.network), player.variables

    def evaluate(observations: Array) -> list[Array]:
        prediction = network.apply(variables, observations)
        return [prediction.policy_logits, prediction.value]

    example = jax.ShapeDtypeStruct((batch, *player.game.observation_shape), jnp.float32)
    try:
        model = to_onnx(
            evaluate, example, inputs=["observations"], outputs=["policy_logits", "value"]
        )
    except UnsupportedPrimitive as error:
        raise UserError(f"{path}: not written: {error}") from error
    path.write_bytes(model.SerializeToString())
