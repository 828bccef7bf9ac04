"""Clients for the faces of a player: scripts of lines, and a player that thinks of nothing."""

import dataclasses
import functools
import re
import sys

import jax
import numpy as np

from azjax.config import SearchConfig
from azjax.games import make_game
from azjax.network.network import make_network
from azjax.play.gtp.server import serve_gtp
from azjax.play.uci.engine import DIALECTS
from azjax.play.uci.server import serve_uci
from azjax.players.weights_file import save_player
from azjax.search.analysis import Findings
from tests import tiny


class Script:
    """Lines that have all come already; stands for `azjax.play.stdin.Lines`."""

    def __init__(self, lines):
        self._lines = list(reversed(lines))

    def next(self):
        return self._lines.pop() if self._lines else None

    def waiting(self):
        return True

    def wait(self):
        pass

    def give_back(self, lines):
        self._lines += reversed(lines)


FOUR = SearchConfig(num_simulations=4)


@dataclasses.dataclass(frozen=True)
class Idle:
    """Likes the first legal move, knows nothing, and is quick; stands for a `Thinker`."""

    game: object
    nodes: int = 8
    config: SearchConfig = FOUR

    def start(self, state, *, among=()):
        return IdleThinking(self, state, tuple(among))

    def playing(self, game):
        return dataclasses.replace(self, game=game)

    def warm_up(self):
        pass


@dataclasses.dataclass(frozen=True)
class IdleThinking:
    thinker: Idle
    state: object
    among: tuple[int, ...] = ()
    simulations: int = 0

    @property
    def full(self):
        return self.simulations >= self.thinker.nodes - 1

    def more(self, simulations):
        upper = min(self.simulations + simulations, self.thinker.nodes - 1)
        return dataclasses.replace(self, simulations=upper)

    def findings(self):
        legal = np.asarray(legal_mask(self.thinker.game, self.state))
        if self.among:
            legal = legal & np.isin(np.arange(legal.size), self.among)
        action = int(np.flatnonzero(legal)[0])
        visits = np.zeros(legal.shape, np.int32)
        visits[action] = self.simulations
        return Findings(
            simulations=self.simulations,
            action=action,
            value=0.25,
            draw=0.5,
            visits=visits,
            prior=(legal / legal.sum()).astype(np.float32),
            action_values=np.where(visits, np.float32(0.25), np.float32(0)),
            best_child=np.zeros(self.simulations + 1, np.int32),
            move_to=np.full(self.simulations + 1, action, np.int32),
            children={action: 1} if self.simulations else {},
        )


@functools.partial(jax.jit, static_argnums=0)
def legal_mask(game, state):
    return game.legal_action_mask(state)


def untrained(path, game, **changes):
    """Writes the file of a player with a tiny network that has learned nothing."""
    config = tiny.config(game={"name": game}, search={"num_simulations": 8}, **changes)
    rules = make_game(config)
    network = make_network(rules, config.network)
    variables = jax.jit(network.init)(jax.random.PRNGKey(1))
    save_player(path, config, variables, {"cycles": 0, "report": []})
    return path


def engine_command(face, player):
    """The program as a user starts it: `azjax FACE PLAYER`."""
    return [sys.executable, "-m", "azjax.cli", face, str(player)]


def uci_says(lines, game, dialect="uci"):
    """All that `uci` or `usi` says to lines that come at once, by an idle player."""
    said = []
    serve_uci(DIALECTS[dialect], game, lambda megabytes: Idle(game), Script(lines), said.append)
    text = "".join(said)
    assert text.endswith("\n") or not text
    return text.splitlines()


def best_moves(lines):
    return [line.split()[1] for line in lines if line.startswith("bestmove")]


def gtp_answers(lines, game):
    """What an idle player answers to lines that come at once: (mark and id, text) each."""
    said = []
    serve_gtp(Idle(game), Script(lines), said.append)
    said = "".join(said)
    assert said.endswith("\n\n") or not said
    answers = [answer.removeprefix("\n") for answer in said.split("\n\n")[:-1]]
    return [re.fullmatch(r"([=?]\d*) ?(.*)", each, re.DOTALL).groups() for each in answers]
