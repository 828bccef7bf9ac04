"""Loads the weights of a player's file into a Flax module of one's own, and trains it a little.

    azjax export connect_four four.safetensors --dtype float32
    python examples/flax_weights.py four.safetensors

`Net` needs Flax alone. Its layers are named as the arrays of the file are, so that `load` is a few
lines. `docs/weights.md` describes the file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import safetensors
from flax import linen as nn

COLLECTIONS = {"params": "params", "stats": "batch_stats"}
# A file holds the settings of the network that are not these.
DEFAULTS = {
    "architecture": "resnet",
    "blocks": 6,
    "channels": 64,
    "convolutions": 0,
    "filters": 32,
    "residual": False,
    "pooling_every": 0,
    "norm": "batch",
    "policy_head": "dense",
    "policy_channels": 2,
    "value_channels": 1,
    "value_hidden": 256,
    "value_head": "tanh",
}


class Net(nn.Module):
    """Maps boards [B, height, width, planes] to policy logits [B, actions] and values [B]."""

    actions: int
    settings: dict[str, Any]

    @nn.compact
    def __call__(self, x: jax.Array, train: bool = False) -> tuple[jax.Array, jax.Array]:
        get, batch, cells = self.settings.get, len(x), x.shape[1] * x.shape[2]
        by_cell = get("policy_head") == "planes"
        if get("architecture") == "resnet":
            split = get("channels") if by_cell else get("policy_channels")
            x = self.conv("body.heads", split + get("value_channels"), self.tower(x, train), train)
            p, v = nn.relu(x[..., :split]), nn.relu(x[..., split:])
        else:
            p = v = self.dense_trunk(x, train)
        if by_cell:
            logits = nn.Dense(self.actions // cells, name="policy")(p).reshape(batch, -1)
        else:
            logits = nn.Dense(self.actions, name="policy")(p.reshape(batch, -1))
        hidden = nn.Dense(get("value_hidden"), name="value_hidden")(v.reshape(batch, -1))
        outputs = 3 if get("value_head") == "wdl" else 1
        value = nn.Dense(outputs, name="value")(nn.relu(hidden))
        chances = nn.softmax(value)  # of win, draw and loss
        return logits, jnp.tanh(value[:, 0]) if outputs == 1 else chances[:, 0] - chances[:, 2]

    def tower(self, x: jax.Array, train: bool) -> jax.Array:
        """Returns the features [B, height, width, channels] of residual convolutions."""
        width, every = self.settings["channels"], self.settings["pooling_every"]
        x = nn.relu(self.conv("body.trunk.stem", width, x, train))
        for number in range(self.settings["blocks"]):
            name = f"body.trunk.blocks.{number}"
            pools = max(width // 4, 1) if every and (number + 1) % every == 0 else 0
            y = self.conv(f"{name}.first", width + pools, x, train)
            if pools:  # the mean and the maximum of some channels go to every cell
                y, pooled = y[..., pools:], nn.relu(y[..., :pools])
                whole = jnp.concatenate([pooled.mean((1, 2)), pooled.max((1, 2))], axis=-1)
                y += nn.Dense(width, name=f"{name}.spread")(whole)[:, None, None]
            x = nn.relu(x + self.conv(f"{name}.second", width, nn.relu(y), train))
        return x

    def dense_trunk(self, x: jax.Array, train: bool) -> jax.Array:
        """Returns the features [B, channels] of dense layers, perhaps after convolutions."""
        for number in range(self.settings["convolutions"]):
            name = f"body.trunk.convs.{number}"
            x = nn.relu(self.conv(name, self.settings["filters"], x, train))
        x = x.reshape(len(x), -1)
        for number in range(self.settings["blocks"]):
            bias, name = self.settings["norm"] == "none", f"body.trunk.layers.{number}"
            y = nn.Dense(self.settings["channels"], use_bias=bias, name=name)(x)
            y = nn.relu(self.norm(f"body.trunk.norms.{number}", y, train))
            x = x + y if self.settings["residual"] and number else y
        return x

    def conv(self, name: str, filters: int, x: jax.Array, train: bool) -> jax.Array:
        """Returns a convolution and its normalisation; those of heads of one layer are 1x1."""
        heads = name == "body.heads" and self.settings["policy_head"] == "dense"
        bias, size = self.settings["norm"] == "none", 1 if heads else 3
        x = nn.Conv(filters, (size, size), use_bias=bias, name=f"{name}.conv")(x)
        return self.norm(f"{name}.norm", x, train)

    def norm(self, name: str, x: jax.Array, train: bool) -> jax.Array:
        """Returns the normalised features; batches by running statistics unless it trains."""
        if self.settings["norm"] == "batch":
            layer = nn.BatchNorm(momentum=0.95, epsilon=1e-5, name=name)
            return layer(x, use_running_average=not train)
        return nn.LayerNorm(epsilon=1e-6, name=name)(x) if self.settings["norm"] == "layer" else x


def load(path: str | Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Returns the game, the network's settings, and the variables of `Net`, from a float32 file."""
    variables: dict[str, Any] = {"params": {}}
    with safetensors.safe_open(path, framework="flax") as file:
        about = file.metadata()
        for name in file.keys():  # noqa: SIM118
            kind, rest = name.split(".", 1)
            layer, key = rest.rsplit(".", 1)
            arrays = variables.setdefault(COLLECTIONS[kind], {}).setdefault(layer, {})
            arrays[key] = file.get_tensor(name)
            if arrays[key].dtype != jnp.float32:
                raise SystemExit(f"{path}: write it with azjax export ... --dtype float32")
    return json.loads(about["game"]), DEFAULTS | json.loads(about["network"]), variables


def main(path: str | Path, updates: int = 20) -> list[float]:
    """Teaches the network that the game's first position is a draw; returns the errors."""
    from azjax_envs import make

    config, settings, variables = load(path)
    game = make(**config)
    net = Net(game.num_actions, settings)
    observations = game.observe(game.init())[None]

    def error(params: Any) -> jax.Array:
        return jnp.mean(net.apply(variables | {"params": params}, observations)[1] ** 2)

    params, errors, gradient = variables["params"], [], jax.jit(jax.value_and_grad(error))
    for _ in range(updates):
        found, gradients = gradient(params)
        params = jax.tree.map(lambda x, slope: x - 0.01 * slope, params, gradients)
        errors.append(float(found))
    print(f"squared error of the value {errors[0]:.3f}, then {errors[-1]:.3f}")
    return errors


if __name__ == "__main__":
    main(*sys.argv[1:])
