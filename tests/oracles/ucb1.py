"""UCT in plain Python on OpenSpiel's states, one simulation after another."""

import math

import numpy as np


class Node:
    def __init__(self, state, tie_break):
        self.state = state
        self.tie_break = tie_break
        self.visits = np.zeros(len(tie_break), np.int64)
        self.totals = np.zeros(len(tie_break))
        self.children = {}


def replay(state, exploration, *, parents, actions, playouts, tie_breaks):
    """Replays a search simulation by simulation and returns the visits of the root's actions.

    Node 0 is the root. Node i is the child of node `parents[i]` by action `actions[i]`. Its playout
    had the result `playouts[i]` for its player to move. `tie_breaks[i]` orders its untried actions.
    Bounds closer than 1e-4 count as equal, because the search adds in another order. A finished
    game stays as it is after any action and yields no further value.

    Raises:
      AssertionError: on the way to a new node, a choice was not that of UCB1.
    """
    nodes = [Node(state, tie_breaks[0])]
    for number in range(1, len(parents)):
        parent = nodes[parents[number]]
        path, here = [], number
        while here:
            path.append((nodes[parents[here]], actions[here]))
            here = parents[here]
        for node, action in reversed(path):
            _check_choice(node, action, exploration, number)
        ended = parent.state.is_terminal()
        child = parent.state if ended else parent.state.child(int(actions[number]))
        nodes.append(Node(child, tie_breaks[number]))
        assert actions[number] not in parent.children
        parent.children[actions[number]] = nodes[-1]
        value = float(playouts[number])
        for node, action in path:
            value = _seen_from(node.state, node.children[action].state, value)
            node.totals[action] += value
            node.visits[action] += 1
    return nodes[0].visits


def _check_choice(node, action, exploration, number):
    legal = node.state.legal_actions() or range(len(node.visits))
    assert action in legal, f"simulation {number}: illegal {action}"
    untried = [a for a in legal if not node.visits[a]]
    if untried:
        first = max(node.tie_break[a] for a in untried)
        assert action in untried, f"simulation {number}: {action}, while {untried} are untried"
        assert node.tie_break[action] == first, f"simulation {number}: wrong order"
        return
    log_total = math.log(node.visits.sum())
    bounds = {
        a: (node.totals[a] / node.visits[a] + 1) / 2
        + exploration * math.sqrt(log_total / node.visits[a])
        for a in legal
    }
    assert bounds[action] > max(bounds.values()) - 1e-4, f"simulation {number}: {action} {bounds}"


def _seen_from(parent, child, value):
    """Converts a result for the mover in `child` into one for the mover in `parent`."""
    if parent.is_terminal():
        return 0.0
    mover = parent.current_player()
    if child.is_terminal():
        return child.returns()[mover]
    return value if child.current_player() == mover else -value
