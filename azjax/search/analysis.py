"""What a search of one position has found, on the host."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import mctx
import numpy as np

from azjax.types import Array


@dataclass(frozen=True)
class Findings:
    """What a search found in one position; values are seen by the player to move."""

    simulations: int
    action: int  # the move to play: the most visits, among equals the likelier one
    value: float  # expected after that move, in [-1, 1]; before any visit, the network's
    draw: float  # the network's probability of a draw; 0 where its head knows none
    visits: np.ndarray  # int32 [A]
    prior: np.ndarray  # float32 [A]
    action_values: np.ndarray  # float32 [A], 0 where unvisited
    best_child: np.ndarray  # int32 [simulations + 1], of each node; 0 where none
    move_to: np.ndarray  # int32 [simulations + 1], the action that leads to each node
    children: dict[int, int]  # the root's, by action

    def line(self, action: int) -> tuple[int, ...]:
        """The principal variation that begins with `action`: by the most visits from there on."""
        node, moves = self.children.get(action, 0), [action]
        while node and (node := int(self.best_child[node])):
            moves.append(int(self.move_to[node]))
        return tuple(moves)

    def ranked(self) -> list[int]:
        """The visited moves, best first; `action` alone before any visit."""
        moves = np.flatnonzero(self.visits)
        if not moves.size:
            return [self.action]
        return moves[np.lexsort((self.prior[moves], self.visits[moves]))[::-1]].tolist()


def read_findings(tree: mctx.Tree, simulations: int, draw: float) -> Findings:
    """What a search has found.

    Args:
      tree: of one game, compact.
      simulations: that were made.
      draw: the network's probability of a draw at the root.
    """
    nodes = jax.device_get(_read(tree))
    count = simulations + 1
    parents, actions, visits = (nodes[k][:count] for k in ("parents", "actions", "visits"))
    logits = nodes["logits"]
    found, action_values = np.zeros(logits.shape, np.int32), np.zeros_like(logits)
    below_root = np.flatnonzero(parents == mctx.Tree.ROOT_INDEX)
    found[actions[below_root]] = visits[below_root]
    action_values[actions[below_root]] = nodes["values"][below_root]
    prior = np.where(nodes["illegal"], 0.0, np.exp(logits))
    # The last one written stays: the most visits, and of those the oldest node.
    order = np.lexsort((-np.arange(1, count), visits[1:])) + 1
    best_child = np.zeros(count, np.int32)
    best_child[parents[order]] = order
    # A search visits what is over again and again, each time as a node below.
    best_child[1:][nodes["over"][1:count]] = 0
    action = int(np.lexsort((prior, found))[-1])
    return Findings(
        simulations=simulations,
        action=action,
        value=float(action_values[action] if found[action] else nodes["network"]),
        draw=draw,
        visits=found,
        prior=(prior / prior.sum()).astype(np.float32),
        action_values=action_values,
        best_child=best_child,
        move_to=actions,
        children=dict(zip(actions[below_root].tolist(), below_root.tolist(), strict=True)),
    )


@jax.jit
def _read(tree: mctx.Tree) -> dict[str, Array]:
    """All that is to be known of the nodes, without their states and priors but the root's."""
    moves = tree.extra_data
    return {
        "logits": tree.children_prior_logits[0, tree.ROOT_INDEX],
        "illegal": tree.root_invalid_actions[0],
        "parents": tree.parents[0],
        "actions": tree.action_from_parent[0],
        "visits": tree.node_visits[0],
        "values": moves.rewards[0] + moves.discounts[0] * tree.node_values[0],  # for the mover
        "over": moves.discounts[0] == 0,  # the game, with the move to it
        "network": tree.raw_values[0, tree.ROOT_INDEX],
    }
