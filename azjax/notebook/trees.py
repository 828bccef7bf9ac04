"""The tree of one search, after any number of its simulations."""

import html
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance

from azjax.errors import UserError
from azjax.files.notation import shown_action, shown_moves
from azjax.notebook.board_drawing import Picture
from azjax.notebook.tree_drawing import Node, draw
from azjax.players.network_players import SearchPlayer
from azjax.players.uct import UCTPlayer, uct_search
from azjax.pytrees import expand, first, take
from azjax.search import compact, tree_nodes
from azjax.types import Array, State


@dataclass(frozen=True, eq=False, repr=False)
class SearchTree:
    """A search tree of N nodes in the order of the simulations: simulation i added node i.

    A notebook shows it as a picture next to a table of the moves at the root. There all values are
    from the perspective of the player to move at the root.
    """

    game: Game
    title: str  # the name of the search
    states: State  # on the host, [N, ...]
    movers: np.ndarray  # int32 [N], the player to move
    over: np.ndarray  # bool [N], the game is over
    chance: np.ndarray  # bool [N], chance is next, such as a roll of dice
    parents: np.ndarray  # int32 [N], -1 at the root
    actions: np.ndarray  # int32 [N], the move from the parent, -1 at the root; A + k: outcome k
    rewards: np.ndarray  # float32 [N], of the move from the parent, for its mover
    discounts: np.ndarray  # float32 [N], factor of the node's value for that mover: -1, 0 or 1
    evaluations: np.ndarray  # float32 [N], the network's value or the playout's result
    visits: np.ndarray  # int32 [N], number of evaluations in the node and below it
    values: np.ndarray  # float32 [N], their mean, from the perspective of the mover there
    prior: np.ndarray | None  # float32 [A], of the root; None if the search has none
    policy: np.ndarray | None  # float32 [A], the improved policy; None before the last simulation
    action: int | None  # the move played; None before the last simulation

    @property
    def simulations(self) -> int:
        """Number of simulations so far."""
        return len(self.parents) - 1

    def after(self, simulations: int) -> "SearchTree":
        """Returns the tree after the first `simulations` simulations."""
        if not 0 <= simulations <= self.simulations:
            raise UserError(
                f"after({simulations}): must be from 0 to {self.simulations} simulations"
            )
        if simulations == self.simulations:
            return self
        rows = (
            "movers",
            "over",
            "chance",
            "parents",
            "actions",
            "rewards",
            "discounts",
            "evaluations",
        )
        cut = {name: getattr(self, name)[: simulations + 1] for name in rows}
        states = take(self.states, slice(simulations + 1))
        return _back_up(replace(self, states=states, policy=None, action=None, **cut))

    def moves(self) -> list[dict[str, Any]]:
        """Returns the legal moves at the root, the most visited first, as the table shows them.

        Each is a dict of `action`, `move` (its name), `visits`, `value` (for the mover; None if it
        has no visits), `prior` and `policy` (None if the search has none).
        """
        root = first(self.states)
        nodes = {int(self.actions[i]): int(i) for i in np.flatnonzero(self.parents == 0)}
        rows = []
        for action, name in shown_moves(self.game, root).items():
            node = nodes.get(action)
            rows.append(
                {
                    "action": action,
                    "move": name,
                    "visits": 0 if node is None else int(self.visits[node]),
                    "value": None if node is None else self._value(node),
                    "prior": None if self.prior is None else float(self.prior[action]),
                    "policy": None if self.policy is None else float(self.policy[action]),
                }
            )
        return sorted(rows, key=lambda move: (-move["visits"], -(move["prior"] or 0)))

    def picture(self, *, max_nodes: int = 24) -> Picture:
        """Draws the `max_nodes` most visited nodes, and the path to the newest node in bold."""
        path = set()
        node = self.simulations
        while node >= 0:
            path.add(node)
            node = int(self.parents[node])
        # Searches go on below the end of a game, but nothing is there to draw. A parent is older
        # than its children and has at least as many visits, so it is never left out.
        real = [i for i in range(len(self.parents)) if i == 0 or not self.over[self.parents[i]]]
        ranked = sorted(real, key=lambda i: (-self.visits[i], i))
        shown = sorted({*ranked[:max_nodes], *(path & set(real))})
        index = {node: number for number, node in enumerate(shown)}
        nodes = [
            Node(
                parent=index.get(int(self.parents[i]), -1),
                move=self._move(i) if i else "",
                visits=int(self.visits[i]),
                value=self._value(i),
                same_mover=bool(self.movers[i] == self.movers[0]),
                over=bool(self.over[i]),
                chance=bool(self.chance[i]),
                on_path=i in path and self.simulations > 0,
            )
            for i in shown
        ]
        return draw(nodes, hidden=len(real) - len(shown))

    def _value(self, node: int) -> float:
        """Returns the value of the move to a node, or of the root, for the mover at the root."""
        if node == 0:
            return float(self.values[0])
        value = self.rewards[node] + self.discounts[node] * self.values[node]
        return float(value if self.movers[self.parents[node]] == self.movers[0] else -value)

    def _move(self, node: int) -> str:
        """Returns the name of the move to a node, or of the outcome, such as "6-1: 6%"."""
        parent = int(self.parents[node])
        state, action = take(self.states, parent), int(self.actions[node])
        if isinstance(self.game, HasChance) and self.chance[parent]:
            outcome = action - self.game.num_actions
            share = float(np.asarray(self.game.chance_probabilities(state))[outcome])
            return f"{self.game.outcome_to_string(state, outcome)}: {share:.0%}"
        return shown_action(self.game, state, action)

    def __repr__(self) -> str:
        return f"<{self.title} of {self.game.name}, {self.simulations} simulations>"

    def _repr_html_(self) -> str:
        style = "display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start"
        count = f"{self.simulations} simulation{'s' if self.simulations != 1 else ''}"
        head = f"<b>{html.escape(self.title)}</b>, {count}"
        if self.action is not None:
            root = first(self.states)
            head += f": plays <b>{html.escape(shown_action(self.game, root, self.action))}</b>"
        table = _table(self.moves(), self.action)
        return f'<p>{head}</p><div style="{style}">{self.picture()._repr_html_()}{table}</div>'


def search_tree(player: SearchPlayer | UCTPlayer, state: State, key: Array) -> SearchTree:
    """Searches one position as `player` would, by Gumbel, PUCT or UCT, and returns the tree.

    Args:
      state: the position. In a game of chance the dice are rolled; see `azjax_envs.draw_chance`.

    Raises:
      UserError: `player` does not search a tree, the game is over, or the dice are to be rolled.
    """
    if not isinstance(player, SearchPlayer | UCTPlayer):
        raise UserError(
            f"{player.name} has no search tree: the player must search with a network "
            "(azjax.load_player) or by UCT (azjax.players.uct.UCTPlayer)"
        )
    if isinstance(player, SearchPlayer) and player.has_custom_search:
        raise UserError(f"{player.name} searches by a function of its own, which shows no tree")
    states = expand(jax.tree.map(jnp.asarray, state))
    if bool(jax.vmap(player.game.is_terminal)(states)[0]):
        raise UserError("the game is over: there is no move to search for")
    if isinstance(player.game, HasChance) and player.game.is_chance(first(states)):
        raise UserError("the dice must be rolled first, as azjax_envs.draw_chance does")
    found = jax.device_get(first(_search(player, key, states)))
    nodes, prior, policy, action, movers, over, chance = found
    # A root with few legal moves leaves places without a node.
    kept = np.flatnonzero(nodes.visits)
    parents = np.where(kept > 0, np.searchsorted(kept, nodes.parents[kept]), -1)
    nodes = take(nodes, kept)._replace(parents=parents)
    return SearchTree(
        game=player.game,
        title=player.algorithm.name if isinstance(player, SearchPlayer) else "UCT",
        movers=movers[kept],
        over=over[kept],
        chance=chance[kept],
        prior=prior,
        policy=policy,
        action=int(action),
        **nodes._asdict(),
    )


@jax.jit
def _search(player: SearchPlayer | UCTPlayer, key: Array, states: State) -> tuple[Any, ...]:
    """Returns the trees, priors and policies [B, A], actions [B], and facts of the nodes [B, N].

    The facts are each node's mover, whether the game is over, and whether chance is next.
    """
    game = player.game
    prior, policy = None, None
    if isinstance(player, SearchPlayer):
        result, nodes = player.analyse_with_tree(key, states)
        prior, policy, action = result.prior, result.policy, result.action
    else:
        tree = uct_search(player, key, states)
        nodes, action = tree_nodes(compact(tree)), jnp.argmax(tree.summary().visit_probs, axis=-1)
    movers = jax.vmap(jax.vmap(game.current_player))(nodes.states)
    over = jax.vmap(jax.vmap(game.is_terminal))(nodes.states)
    chance = jnp.zeros_like(over)
    if isinstance(game, HasChance):
        chance = jax.vmap(jax.vmap(game.is_chance))(nodes.states)
    return nodes, prior, policy, action, movers, over, chance


def _back_up(tree: SearchTree) -> SearchTree:
    """Returns the tree with the visits and values of its simulations, one after the other."""
    visits = np.ones(len(tree.parents), np.int32)
    values = tree.evaluations.astype(np.float32)
    for added in range(1, len(tree.parents)):
        node, value = added, tree.evaluations[added]
        while tree.parents[node] >= 0:
            value = np.float32(tree.rewards[node] + tree.discounts[node] * value)
            node = tree.parents[node]
            values[node] = (values[node] * visits[node] + value) / np.float32(visits[node] + 1)
            visits[node] += 1
    return replace(tree, visits=visits, values=values)


def _table(moves: list[dict[str, Any]], action: int | None, max_rows: int = 12) -> str:
    """Returns the moves as an HTML table, with the played move in bold."""
    columns = ["move", "visits", "prior", "value", "policy"]
    columns = [c for c in columns if any(move[c] is not None for move in moves) or c == "value"]
    forms = {"prior": "{:.1%}", "policy": "{:.1%}", "value": "{:+.2f}", "visits": "{:,}"}
    rows = ["".join(f'<th style="text-align: {_side(column)}">{column}</th>' for column in columns)]
    for move in moves[:max_rows]:
        cells = ""
        for column in columns:
            text = forms.get(column, "{}").format(move[column]) if move[column] is not None else "-"
            weight = "bold" if move["action"] == action else "normal"
            style = f"text-align: {_side(column)}; font-weight: {weight}"
            cells += f'<td style="{style}">{html.escape(text)}</td>'
        rows.append(cells)
    if len(moves) > max_rows:
        rows.append(f'<td colspan="{len(columns)}">and {len(moves) - max_rows} more</td>')
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _side(column: str) -> str:
    return "left" if column == "move" else "right"
