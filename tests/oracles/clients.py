"""Clients of the protocol servers: scripts of lines, and a search that computes nothing."""

import dataclasses
import functools
import re
import sys
import time

import jax
import numpy as np

from azjax.engine.gtp.server import serve_gtp
from azjax.engine.search_analysis import SearchAnalysis
from azjax.engine.uci.server import serve_uci
from azjax.games import make_game
from azjax.network.two_headed import make_network
from azjax.players.engines.uci_games import DIALECTS
from azjax.players.weights_file import save_player
from tests import tiny


class Script:
    """Lines that have all arrived already; replaces `azjax.engine.stdin.Lines`."""

    def __init__(self, lines):
        self._lines = list(reversed(lines))

    def next(self):
        return self._lines.pop() if self._lines else None

    @property
    def arrived(self):
        return time.monotonic()

    def waiting(self):
        return True

    def wait(self):
        pass

    def give_back(self, lines):
        self._lines += reversed(lines)


@dataclasses.dataclass(frozen=True)
class IdleSearch:
    """A search that finds the first legal move at once; replaces an `AnytimeSearch`."""

    game: object
    max_nodes: int = 8
    num_simulations: int = 4

    def start(self, state, *, root_actions=(), after=None, moves=None):
        return IdleProgress(self, state, tuple(root_actions))

    def with_game(self, game):
        return dataclasses.replace(self, game=game)

    def warm_up(self, state):
        return self.start(state)


@dataclasses.dataclass(frozen=True)
class IdleProgress:
    search: IdleSearch
    state: object
    root_actions: tuple[int, ...] = ()
    simulations: int = 0
    seconds_each = 0.0
    width = 1

    @property
    def full(self):
        return self.simulations >= self.search.max_nodes - 1

    def run(self, simulations, *, most=0):
        upper = min(self.simulations + simulations, self.search.max_nodes - 1)
        return dataclasses.replace(self, simulations=upper)

    def analysis(self):
        legal = np.asarray(legal_mask(self.search.game, self.state))
        if self.root_actions:
            legal = legal & np.isin(np.arange(legal.size), self.root_actions)
        action = int(np.flatnonzero(legal)[0])
        visits = np.zeros(legal.shape, np.int32)
        visits[action] = self.simulations
        return SearchAnalysis(
            simulations=self.simulations,
            action=action,
            value=0.25,
            draw=0.5,
            scores=visits.astype(np.float32),
            visits=visits,
            prior=(legal / legal.sum()).astype(np.float32),
            action_values=np.where(visits, np.float32(0.25), np.float32(0)),
            best_child=np.zeros(self.simulations + 1, np.int32),
            action_to_node=np.full(self.simulations + 1, action, np.int32),
            root_children={action: 1} if self.simulations else {},
        )


@functools.partial(jax.jit, static_argnums=0)
def legal_mask(game, state):
    return game.legal_action_mask(state)


def untrained(path, game, **changes):
    """Writes the file of an untrained player with a tiny network, and returns its path."""
    config = tiny.config(game={"name": game}, search={"num_simulations": 8}, **changes)
    rules = make_game(config)
    network = make_network(rules, config.network)
    variables = jax.jit(network.init)(jax.random.PRNGKey(1))
    save_player(path, config, variables, {"cycles": 0, "report": []})
    return path


def engine_command(protocol, player):
    """Returns the command that a user types: `azjax PROTOCOL PLAYER`."""
    return [sys.executable, "-m", "azjax.cli", protocol, str(player)]


def uci_output(lines, game, dialect="uci"):
    """Returns all output of `uci` or `usi`, with an idle search, for lines that arrive at once."""
    written = []
    search = IdleSearch(game)
    serve_uci(DIALECTS[dialect], game, lambda megabytes: search, Script(lines), written.append)
    text = "".join(written)
    assert text.endswith("\n") or not text
    return text.splitlines()


def best_moves(lines):
    return [line.split()[1] for line in lines if line.startswith("bestmove")]


def gtp_answers(lines, game):
    """Returns (mark and id, text) of each answer to lines that arrive at once."""
    written = []
    serve_gtp(IdleSearch(game), Script(lines), written.append)
    text = "".join(written)
    assert text.endswith("\n\n") or not text
    answers = [answer.removeprefix("\n") for answer in text.split("\n\n")[:-1]]
    return [re.fullmatch(r"([=?]\d*) ?(.*)", each, re.DOTALL).groups() for each in answers]
