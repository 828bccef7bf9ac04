"""alpha-zero-general's own self-play, from a checkout of its repository.

`Coach.executeEpisode` plays one game at a time, and asks for one position at a time. Learning is
left out, to its advantage. Each core plays in a process of its own. It is measured twice:

- with Keras, as its own networks of connect four call it: `model.predict` of one position. Its file
  of that network is written for TensorFlow 1 and no longer runs, so the layers are ours.
- with the network that all contestants share, compiled by JAX for one position. Nobody who uses
  alpha-zero-general has that. It shows what its search alone costs.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from setting import Setting, Work

from azjax.network.network import Network, Variables


class AlphaZeroGeneral:
    """Self-play of connect four by its `Coach`, with the network compiled by JAX."""

    def __init__(self, setting: Setting) -> None:
        self._network = setting.make_network()
        self._variables = jax.jit(self._network.init)(jax.random.key(setting.seed))
        self._episodes = Episodes(setting, compiled_network(self._network, self._variables))

    def iterate(self) -> Work:
        return self._episodes.play()

    def trained(self) -> tuple[Network, Variables]:
        return self._network, self._variables


class AlphaZeroGeneralWithKeras:
    """Self-play of connect four by its `Coach`, with a Keras model."""

    def __init__(self, setting: Setting) -> None:
        self._episodes = Episodes(setting, keras_network(setting.network))

    def iterate(self) -> Work:
        return self._episodes.play()

    def trained(self) -> tuple[Network, Variables]:
        raise SystemExit("peers: alpha-zero-general's network is not trained here")


class Episodes:
    """Its `Coach` with a network, which plays one game after the other."""

    def __init__(self, setting: Setting, network: Callable[[np.ndarray], Any]) -> None:
        checkout = Path(setting.checkout)
        if not (checkout / "Coach.py").is_file():
            raise SystemExit(f"peers: {checkout} has no Coach.py; give alpha-zero-general's folder")
        sys.path.insert(0, str(checkout))
        # Its progress bar is the only use of this package.
        sys.modules.setdefault("tqdm", types.SimpleNamespace(tqdm=lambda x, **_: x))
        # numpy 1.24 has removed this name, which its board uses.
        np.__dict__["int"] = int
        from Coach import Coach
        from connect4.Connect4Game import Connect4Game
        from MCTS import MCTS

        class Game(Connect4Game):
            """Its game; numpy 2.3 no longer has the method `tostring`."""

            @staticmethod
            def stringRepresentation(board: np.ndarray) -> bytes:
                return board.tobytes()

        class Net:
            """A network as it expects them."""

            def __init__(self, game: Any) -> None:
                del game

            def predict(self, board: np.ndarray) -> Any:
                return network(board)

        self._simulations = setting.simulations
        np.random.seed(setting.seed)  # noqa: NPY002 (its self-play draws from this)
        self._game, self._tree = Game(), MCTS
        # The options of its main.py.
        options = types.SimpleNamespace(numMCTSSims=setting.simulations, cpuct=1, tempThreshold=15)
        self._coach = Coach(self._game, Net(self._game), options)

    def play(self) -> Work:
        """Plays one game."""
        self._coach.mcts = self._tree(self._game, self._coach.nnet, self._coach.args)
        symmetries = 2  # each ply adds its mirror image, too
        plies = len(self._coach.executeEpisode()) // symmetries
        return Work(plies, plies * self._simulations)


def compiled_network(network: Network, variables: Variables) -> Callable[[np.ndarray], Any]:
    """Returns the shared network's policy [7] and value of a board, int [6, 7] of 1, -1 and 0."""

    @jax.jit
    def predict(board: jax.Array) -> tuple[jax.Array, jax.Array]:
        observation = jnp.stack([board == 1, board == -1], axis=-1).astype(jnp.float32)
        prediction = network.apply(variables, observation[None])
        return jax.nn.softmax(prediction.policy_logits[0]), prediction.value[0]

    def policy_and_value(board: np.ndarray) -> tuple[np.ndarray, float]:
        policy, value = jax.device_get(predict(board.astype(np.int8)))
        return policy, float(value)

    return policy_and_value


def keras_network(network: dict[str, Any]) -> Callable[[np.ndarray], Any]:
    """Returns the same for a residual tower of Keras, evaluated as alpha-zero-general does."""
    import keras
    from keras import layers

    def convolve(x: Any, filters: int, window: int) -> Any:
        x = layers.Conv2D(filters, window, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    boards = layers.Input((6, 7))
    x = layers.Reshape((6, 7, 1))(boards)
    x = layers.ReLU()(convolve(x, network["channels"], 3))
    for _ in range(network["blocks"]):
        y = layers.ReLU()(convolve(x, network["channels"], 3))
        x = layers.ReLU()(layers.Add()([x, convolve(y, network["channels"], 3)]))
    policy = layers.Flatten()(layers.ReLU()(convolve(x, 2, 1)))
    policy = layers.Dense(7, activation="softmax")(policy)
    value = layers.Flatten()(layers.ReLU()(convolve(x, 1, 1)))
    value = layers.Dense(network["value_hidden"], activation="relu")(value)
    model = keras.Model(boards, [policy, layers.Dense(1, activation="tanh")(value)])

    def policy_and_value(board: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        policy, value = model.predict(board[None], verbose=0)
        return policy[0], value[0]

    return policy_and_value
