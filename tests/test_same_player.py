"""A player makes the same moves, from the same visits, wherever people meet it."""

import dataclasses
import functools
import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.analysis.analyse import analyse
from azjax.engine.gtp.game import vertices
from azjax.engine.gtp.server import serve_gtp
from azjax.engine.player_search import make_engine_search
from azjax.engine.uci.server import serve_uci
from azjax.evaluation.batch_evaluation import choose
from azjax.files.game_record import start_game
from azjax.notebook.trees import search_tree
from azjax.play.session import start_session
from azjax.players.engines.uci_games import DIALECTS
from azjax.web.api import search_position
from tests.oracles.clients import Script, best_moves
from tests.web.sites import untrained

SIMULATIONS = 22  # whose last step is not full
# Actions of a game by their number in the list of legal ones, and after which of them to ask.
GAMES = {
    "tic_tac_toe": ([4, 0, 3, 5, 1, 0, 2], range(7)),
    "go_5x5": ([12, 3, 17, 8, 2, 20, 5], range(7)),
    "gardner_chess": ([0, 1, 2, 3, 4, 5], range(6)),
}


@functools.cache
def player(name):
    found = untrained(name)
    parameters = jax.tree.map(lambda x: 3 * x, found.variables["params"])
    config = dataclasses.replace(found.config, num_simulations=SIMULATIONS)
    return dataclasses.replace(
        found, variables=found.variables | {"params": parameters}, config=config
    )


@functools.cache
def records(name):
    """Returns a game after none, one, two and more of its moves."""
    moves, plies = GAMES[name]
    record, found = start_game(player(name).game), []
    for move in moves:
        found.append(record)
        legal = np.flatnonzero(np.asarray(record.game.legal_action_mask(record.current.state)))
        record = record.play(int(legal[move % len(legal)]))
    return [found[ply] for ply in plies]


@functools.cache
def in_a_match(name):
    """Returns the moves, and the visits [positions, A], of a batch of searches."""
    states = jax.tree.map(
        lambda *x: jnp.stack(x), *(record.current.state for record in records(name))
    )
    key = jax.random.PRNGKey(0)
    actions = choose(player(name), key, states, len(records(name)))
    visits = np.asarray(jax.jit(player(name).analyse)(key, states).visits)
    assert (visits.sum(1) == SIMULATIONS).all()
    return actions, visits


def row(pairs, name):
    visits = np.zeros(player(name).game.num_actions, int)
    for action, count in pairs:
        visits[action] = count
    return visits


def terminal(name):
    for record in records(name):
        session = start_session(
            record.game, player(name), humans=(), key=jax.random.PRNGKey(5), record=record
        )
        action, found = session.choose()
        yield action, found.visits


def notebook(name):
    for record in records(name):
        tree = search_tree(player(name), record.current.state, jax.random.PRNGKey(6))
        yield tree.action, row(((x["action"], x["visits"]) for x in tree.moves()), name)


def analysis(name):
    last = records(name)[-1]
    legal = np.flatnonzero(np.asarray(last.game.legal_action_mask(last.current.state)))
    for move in analyse(last.game, last.play(int(legal[0])), player(name)).moves:
        yield move.best, dict(move.visits)  # of the moves visited most


def local_server(name):
    search = make_engine_search(player(name), memory_mb=1)
    for record in records(name):
        moves = [position.action for position in record.positions[1:]]
        *_, found = search_position(search, moves, SIMULATIONS)
        yield found["action"], row(found["visits"], name)


def gtp(name):
    search = make_engine_search(player(name), memory_mb=1)
    names = {vertex: action for action, vertex in enumerate(vertices(search.game))}
    last, lines, written = records(name)[-1], [], []
    played = [(position.moved_by, position.move) for position in last.positions[1:]]
    for count in range(len(played) + 1):  # the engine searches as the game goes on
        lines += [f"lz-genmove_analyze {'bw'[count % 2]} maxmoves 99", "undo"]
        lines += [f"play {'bw'[seat]} {move}" for seat, move in played[count : count + 1]]
    serve_gtp(search, Script(lines), written.append)
    for answer in re.findall(r"((?:info.*\n)+)play (\S+)", "".join(written)):
        found = re.findall(r"info move (\S+) visits (\d+)", answer[0].splitlines()[-1])
        yield names[answer[1]], row(((names[move], int(n)) for move, n in found), name)


def uci(name):
    search, written = make_engine_search(player(name), memory_mb=1), []
    record = records(name)[-1]
    lines = []
    for count in range(record.num_moves + 1):
        moves = " ".join(["moves", *record.moves[:count]]) if count else ""
        lines += [f"position startpos {moves}", "go"]
    serve_uci(DIALECTS["uci"], record.game, lambda megabytes: search, Script(lines), written.append)
    for position, move in zip(
        records(name), best_moves("".join(written).splitlines()), strict=True
    ):
        yield {name: a for a, name in position.legal_moves().items()}[move], None


DOORS = [terminal, notebook, analysis, local_server]
CASES = [*itertools.product(GAMES, DOORS), ("go_5x5", gtp), ("gardner_chess", uci)]


@pytest.mark.parametrize(("name", "door"), CASES)
def test_every_door_leads_to_the_same_player(name, door):
    actions, visits = in_a_match(name)
    found = list(door(name))
    assert len(found) == len(actions)
    for ply, (action, counts) in enumerate(found):
        assert action == actions[ply], ply
        if isinstance(counts, dict):
            assert counts
            assert counts == {a: visits[ply, a] for a in counts}
        elif counts is not None:
            np.testing.assert_array_equal(counts, visits[ply], str(ply))
