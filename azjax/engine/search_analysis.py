"""The summary of a search of one position, on the host."""

import functools
from dataclasses import dataclass, replace

import jax
import mctx
import numpy as np

from azjax.pytrees import first
from azjax.search import AnytimeAlgorithm, CompactTree, with_root_edges
from azjax.types import Array


@dataclass(frozen=True)
class SearchAnalysis:
    """The result of searching one position; values are from the mover's perspective."""

    simulations: int
    action: int  # the move to play, the first of `ranked_actions`
    value: float  # expected after that move, in [-1, 1]; before any visit, the network's
    draw: float  # the network's probability of a draw; 0 if its value head has no draws
    visits: np.ndarray  # int32 [A]
    scores: np.ndarray  # float32 [A], by which the visited moves are ranked
    prior: np.ndarray  # float32 [A]
    action_values: np.ndarray  # float32 [A], 0 where unvisited
    best_child: np.ndarray  # int32 [simulations + 1], of each node; 0 where there is none
    action_to_node: np.ndarray  # int32 [simulations + 1], the action that leads to each node
    root_children: dict[int, int]  # the root's child nodes, by action

    def principal_variation(self, action: int) -> tuple[int, ...]:
        """Returns the line that begins with `action` and then follows the most visits."""
        node, moves = self.root_children.get(action, 0), [action]
        while node and (node := int(self.best_child[node])):
            moves.append(int(self.action_to_node[node]))
        return tuple(moves)

    def of_actions(self, count: int) -> "SearchAnalysis":
        """Returns the analysis without what follows the first `count` actions, such as outcomes."""
        names = ("visits", "scores", "prior", "action_values")
        return replace(self, **{name: getattr(self, name)[:count] for name in names})

    def ranked_actions(self) -> list[int]:
        """Returns the visited moves, best first; only `action` before any visit."""
        moves = np.flatnonzero(self.visits)
        if not moves.size:
            return [self.action]
        return moves[np.lexsort((self.prior[moves], self.scores[moves]))[::-1]].tolist()


def analyse_tree(
    tree: CompactTree, simulations: int, draw: float, algorithm: AnytimeAlgorithm
) -> SearchAnalysis:
    """Summarises the search tree of one game; `draw` is the network's chance of one."""
    nodes: dict[str, np.ndarray] = jax.device_get(_node_arrays(tree, algorithm))
    count = simulations + 1
    parents, actions, visits = (nodes[k][:count] for k in ("parents", "actions", "visits"))
    logits = nodes["logits"]
    root_visits, action_values = np.zeros(logits.shape, np.int32), np.zeros_like(logits)
    below_root = np.flatnonzero(parents == mctx.Tree.ROOT_INDEX)
    root_visits[actions[below_root]] = visits[below_root]
    action_values[actions[below_root]] = nodes["values"][below_root]
    prior = np.where(nodes["illegal"], 0.0, np.exp(logits))
    # The last write wins: the most visits, and among equals the oldest node.
    order = np.lexsort((-np.arange(1, count), visits[1:])) + 1
    best_child = np.zeros(count, np.int32)
    best_child[parents[order]] = order
    # A search visits a finished game again and again, each time as another node below it.
    best_child[1:][nodes["over"][1:count]] = 0
    scores = nodes["scores"]
    # Moves without visits are chosen only before any visit.
    action = int(np.lexsort((prior, np.where(root_visits > 0, scores, -np.inf)))[-1])
    return SearchAnalysis(
        simulations=simulations,
        action=action,
        value=float(action_values[action] if root_visits[action] else nodes["root_value"]),
        draw=draw,
        visits=root_visits,
        scores=scores,
        prior=(prior / prior.sum()).astype(np.float32),
        action_values=action_values,
        best_child=best_child,
        action_to_node=actions,
        root_children=dict(zip(actions[below_root].tolist(), below_root.tolist(), strict=True)),
    )


@functools.partial(jax.jit, static_argnames="algorithm")
def _node_arrays(tree: CompactTree, algorithm: AnytimeAlgorithm) -> dict[str, Array]:
    """Returns the data of the nodes that the analysis needs, without states and most priors."""
    nodes, root = first(tree), tree.ROOT_INDEX
    return {
        "logits": nodes.children_prior_logits[root],
        "scores": algorithm.scores(first(with_root_edges(tree))),
        "illegal": nodes.root_invalid_actions,
        "parents": nodes.parents,
        "actions": nodes.action_from_parent,
        "visits": nodes.node_visits,
        # From the perspective of the player who made the move to the node.
        "values": nodes.rewards + nodes.discounts * nodes.node_values,
        "over": nodes.discounts == 0,  # the move to the node ended the game
        "root_value": nodes.raw_values[root],
    }
