"""alpha-zero-general's own self-play, from a checkout of its repository.

`Coach.executeEpisode` plays one game at a time. The network is the one that all contestants share,
compiled for one position, which costs less than a call of Keras. Learning is left out, to its
advantage. Each core plays in a process of its own.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import jax
import numpy as np
from setting import Setting, Work

from azjax.network.network import Network, Variables


class AlphaZeroGeneral:
    """Self-play of connect four, by its `Coach`."""

    def __init__(self, setting: Setting) -> None:
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

        self._network = setting.make_network()
        self._variables = jax.jit(self._network.init)(jax.random.key(setting.seed))
        self._simulations = setting.simulations
        np.random.seed(setting.seed)  # noqa: NPY002 (its self-play draws from this)
        self._game, self._tree = Game(), MCTS
        # The options of its main.py.
        options = types.SimpleNamespace(numMCTSSims=setting.simulations, cpuct=1, tempThreshold=15)
        self._coach = Coach(self._game, _net(self._network, self._variables)(self._game), options)

    def iterate(self) -> Work:
        self._coach.mcts = self._tree(self._game, self._coach.nnet, self._coach.args)
        symmetries = 2  # each ply adds its mirror image, too
        plies = len(self._coach.executeEpisode()) // symmetries
        return Work(plies, plies * self._simulations)

    def trained(self) -> tuple[Network, Variables]:
        return self._network, self._variables


def _net(network: Network, variables: Variables) -> Any:
    """Returns a class of networks as alpha-zero-general expects them."""

    @jax.jit
    def predict(board: jax.Array) -> tuple[jax.Array, jax.Array]:
        discs = [(board == 1), (board == -1)]
        observation = jax.numpy.stack(discs, axis=-1).astype(jax.numpy.float32)
        prediction = network.apply(variables, observation[None])
        return jax.nn.softmax(prediction.policy_logits[0]), prediction.value[0]

    class Net:
        def __init__(self, game: Any) -> None:
            del game

        def predict(self, board: np.ndarray) -> tuple[np.ndarray, float]:
            policy, value = jax.device_get(predict(board.astype(np.int8)))
            return policy, float(value)

    return Net
