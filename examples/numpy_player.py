"""Computes a policy and a value in plain NumPy, from a player's file and nothing else.

    azjax export connect_four four.safetensors --dtype float32
    python examples/numpy_player.py four.safetensors

Copy `Net` into a program that has no JAX. It reads every file of azjax's own networks, with weights
of float32, float16 or 8 bits. `docs/weights.md` describes the file. The shapes tell what the
network is; of the settings in the header only `residual` is needed.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import numpy as np

TYPES = {"F32": "<f4", "F16": "<f2", "I8": "i1"}


class Net:
    """A player's network: maps observations to policy logits and values."""

    def __init__(self, path: str | Path):
        with open(path, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            data = file.read()
        about = header.pop("__metadata__")
        assert about["azjax_format"] == "1"
        arrays = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            numbers = np.frombuffer(data[begin:end], TYPES[entry["dtype"]])
            arrays[name] = numbers.reshape(entry["shape"]).astype(np.float32)
        # Layers of 8 bits have a step for each output; the weights are the products.
        self.weights = {name: x * arrays.get(f"{name}.step", 1) for name, x in arrays.items()}
        self.game = json.loads(about["game"])
        self.residual = json.loads(about["network"]).get("residual", False)

    def __call__(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns policy logits [B, actions] and values [B] of boards [B, height, width, planes].

        Illegal actions have logits, too. Values are from -1 to 1, for the player to move.
        """
        x = observations.astype(np.float32)
        dense_trunk = "params.body.trunk.layers.0.kernel" in self.weights
        p, v = self.dense_trunk(x) if dense_trunk else self.tower(x)
        logits = self.dense("policy", p).reshape(len(x), -1)
        outputs = self.dense("value", relu(self.dense("value_hidden", v.reshape(len(x), -1))))
        if outputs.shape[-1] == 1:
            return logits, np.tanh(outputs[:, 0])
        win, _, loss = softmax(outputs).T  # and draws between them
        return logits, win - loss

    def dense_trunk(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the features [B, channels] of dense layers, for both heads."""
        for name in self.numbered("body.trunk.convs.{}"):
            x = relu(self.conv(name, x))
        x = x.reshape(len(x), -1)
        for number, name in enumerate(self.numbered("body.trunk.layers.{}")):
            y = relu(self.norm(f"body.trunk.norms.{number}", self.dense(name, x)))
            x = x + y if self.residual and number else y
        return x, x

    def tower(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns what the policy head and the value head get from residual convolutions."""
        x = relu(self.conv("body.trunk.stem", x))
        for name in self.numbered("body.trunk.blocks.{}"):
            y = self.conv(f"{name}.first", x)
            if f"params.{name}.spread.kernel" in self.weights:  # global pooling
                pools = y.shape[-1] - x.shape[-1]
                y, pooled = y[..., pools:], relu(y[..., :pools])
                whole = np.concatenate([pooled.mean((1, 2)), pooled.max((1, 2))], axis=-1)
                y = y + self.dense(f"{name}.spread", whole)[:, None, None]
            x = relu(x + self.conv(f"{name}.second", relu(y)))
        x = relu(self.conv("body.heads", x))
        cells = x.shape[1] * x.shape[2]
        split = x.shape[-1] - len(self.weights["params.value_hidden.kernel"]) // cells
        p, v = x[..., :split], x[..., split:]
        # A policy head of planes maps the channels of each cell to the cell's own actions.
        by_cell = len(self.weights["params.policy.kernel"]) == split
        return p if by_cell else p.reshape(len(x), -1), v

    def conv(self, name: str, x: np.ndarray) -> np.ndarray:
        """Returns a convolution, padded with zeros, and its normalisation."""
        kernel = self.weights[f"params.{name}.conv.kernel"]  # [size, size, inputs, outputs]
        (size, _), (height, width) = kernel.shape[:2], x.shape[1:3]
        edge = size // 2
        padded = np.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
        places = itertools.product(range(size), range(size))
        y = sum(padded[:, i : i + height, j : j + width] @ kernel[i, j] for i, j in places)
        return self.norm(f"{name}.norm", y + self.weights.get(f"params.{name}.conv.bias", 0))

    def dense(self, name: str, x: np.ndarray) -> np.ndarray:
        """Returns a dense layer, whose kernel is [inputs, outputs]."""
        y = x @ self.weights[f"params.{name}.kernel"]
        return y + self.weights.get(f"params.{name}.bias", 0)

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        """Returns batch or layer normalisation, or `x` if the network has none."""
        if f"params.{name}.scale" not in self.weights:
            return x
        mean, epsilon = self.weights.get(f"stats.{name}.mean"), 1e-5
        if mean is None:
            mean, variance, epsilon = x.mean(-1, keepdims=True), x.var(-1, keepdims=True), 1e-6
        else:
            variance = self.weights[f"stats.{name}.var"]
        scale, bias = (self.weights[f"params.{name}.{key}"] for key in ("scale", "bias"))
        return (x - mean) / np.sqrt(variance + epsilon) * scale + bias

    def numbered(self, pattern: str) -> list[str]:
        """Returns the names of layers of one kind, in their order."""
        prefixes = {key.removeprefix("params.") for key in self.weights}
        names = itertools.takewhile(
            lambda name: any(key.startswith(f"{name}.") for key in prefixes),
            map(pattern.format, itertools.count()),
        )
        return list(names)


def relu(x: np.ndarray) -> np.ndarray:
    """Returns the positive part."""
    return np.maximum(x, 0)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Returns probabilities over the last axis."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def main(path: str | Path) -> np.ndarray:
    """Prints the network's policy for the first position; only the game's rules need JAX."""
    from azjax_envs import make

    net = Net(path)
    game = make(**net.game)
    state = game.init()
    logits, value = net(np.asarray(game.observe(state))[None])
    policy = softmax(np.where(game.legal_action_mask(state), logits[0], -np.inf))
    for action in np.argsort(-policy)[:10]:
        print(f"{game.action_to_string(state, action)}  {policy[action]:.1%}")
    print(f"value {value[0]:+.2f} for the player to move")
    return policy


if __name__ == "__main__":
    main(*sys.argv[1:])
