"""The algorithms of a search: Gumbel and PUCT by mctx's own functions, and UCT.

`make_algorithm` is the only place that reads `search.algorithm`. An algorithm has

- `search`, whose action is the move to play (UCT is `players.uct.uct_search`),
- `anytime_selection`, how a search selects at the root and below that may stop at any time; the
  last actions may be `outcomes` of chance,
- `scores`, float32 [A], by which the moves with visits rank, of one game's tree with root edges,
- `constants` of the selection, as `web/page/search.js` reads them.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import mctx

from azjax.config import GumbelConfig, PUCTConfig, SearchConfig
from azjax.search.chance_nodes import with_chance
from azjax.search.descent import Selection, one_at_the_root
from azjax.search.dirichlet import add_dirichlet_noise
from azjax.search.halving import (
    Phase,
    rounds_of_all,
    rounds_of_full,
    select_behind,
    select_round,
    unfinished,
)
from azjax.search.loop import make_loop_fn, no_selection
from azjax.search.model import log_of, mask_logits
from azjax.types import Array, Params

# Above every bound of a tried action, and small enough that float32 keeps the logits.
_UNTRIED = 1000.0
_WIDTH = 4


Steps = Literal["rounds", "fixed", "single", "anytime"]
"""The steps of a search by Gumbel:

- "rounds": each is a round of sequential halving. Visits equal those of mctx, but a position with
  one legal move gets fewer.
- "fixed": the rounds of a position that has all considered actions. One with fewer legal actions
  visits as many in each step as it has, so it gets fewer simulations.
- "single": one simulation each, as mctx makes them.
- "anytime": no halving. Each visits the moves whose visits are furthest behind the improved policy.
  Players search so, since it needs no number of simulations beforehand.
"""


class Exploration(NamedTuple):
    """Randomness at a search's root; none by default."""

    gumbel_scale: Array | float = 0.0
    """Gumbel: scale of the noise, float32 [B] or one number. 1 explores, 0 plays the best move."""
    dirichlet_fraction: Array | float = 0.0
    """PUCT: share of Dirichlet noise in the root's prior, float32 [B] or one number."""
    temperature: Array | float = 0.0
    """PUCT: the move is drawn by visits ** (1 / temperature), float32 [B] or one number. 0 plays
    the most visited move."""


class Positions(NamedTuple):
    """B positions, and how a search goes on from them."""

    params: Params  # passed to `recurrent_fn`
    recurrent_fn: mctx.RecurrentFn
    root: mctx.RootFnOutput  # masked logits, values and states
    mask: Array  # bool [B, A], legal actions
    outcomes: int = 0  # of chance: the last of the A actions


class SearchKeys(NamedTuple):
    """The PRNG keys of one search."""

    tree: Array
    noise: Array  # of PUCT's prior
    evaluate: Array  # of the root


@dataclass(frozen=True)
class Gumbel:
    """Gumbel AlphaZero, `mctx.gumbel_muzero_policy` (Danihelka et al. 2022).

    It plays the best move of the improved policy, and moves rank by that policy's logits.
    """

    num_simulations: int
    config: GumbelConfig
    width: int = _WIDTH  # simulations of an anytime search's step
    name: ClassVar[str] = "Gumbel"

    def search(
        self,
        positions: Positions,
        keys: SearchKeys,
        exploration: Exploration,
        *,
        steps: Steps = "rounds",
    ) -> mctx.PolicyOutput:
        if steps == "anytime":
            return self._search_anytime(positions, keys, exploration)
        params, recurrent_fn, root, mask, outcomes = positions
        considered = min(self.config.max_considered_actions, mask.shape[-1] - outcomes)
        simulations = self.num_simulations
        of_rounds = functools.partial(select_round, values=self.values)
        places, phases, goes_on = simulations, None, None
        if steps == "rounds":
            phases = rounds_of_all(considered, simulations)
            places = sum(phase.width * int(phase.steps) for phase in phases)
            select_root = functools.partial(of_rounds, own_rounds=(considered, simulations))
            goes_on = functools.partial(unfinished, simulations=simulations)
        elif steps == "fixed":
            phases, select_root = rounds_of_full(considered, simulations), of_rounds
        else:
            select_root = one_at_the_root(
                functools.partial(
                    mctx.gumbel_muzero_root_action_selection,
                    num_simulations=simulations,
                    max_num_considered_actions=considered,
                    qtransform=self.values,
                )
            )
        return mctx.gumbel_muzero_policy(
            params,
            keys.tree,
            root,
            recurrent_fn,
            places,
            invalid_actions=~mask,
            loop_fn=make_loop_fn(
                params,
                recurrent_fn,
                with_chance(Selection(select_root, self._select), outcomes, weighted=True),
                phases=phases,
                goes_on=goes_on,
                deterministic=True,
                pack_states=True,
            ),
            qtransform=self.values,
            max_num_considered_actions=considered,
            gumbel_scale=_by_position(exploration.gumbel_scale, root),
        )

    def _search_anytime(
        self, positions: Positions, keys: SearchKeys, exploration: Exploration
    ) -> mctx.PolicyOutput:
        """Searches as `engine.anytime` does, and plays a move of the improved policy."""
        params, recurrent_fn, root, mask, outcomes = positions
        key, noise_key = jax.random.split(keys.tree)
        # A position with a choice has at least two moves to visit in a step.
        steps = math.ceil(self.num_simulations / min(self.width, 2))
        tree = mctx.search(
            params,
            key,
            root=root.replace(prior_logits=normalise_logits(root.prior_logits, mask)),
            recurrent_fn=recurrent_fn,
            root_action_selection_fn=no_selection,
            interior_action_selection_fn=no_selection,
            num_simulations=self.width * steps,
            invalid_actions=~mask,
            loop_fn=make_loop_fn(
                params,
                recurrent_fn,
                self.anytime_selection(self.num_simulations, outcomes),
                phases=[Phase(self.width, steps)],
                goes_on=functools.partial(unfinished, simulations=self.num_simulations),
                deterministic=True,
                pack_states=True,
            ),
        )
        prior = tree.children_prior_logits[:, tree.ROOT_INDEX]
        scores = jax.vmap(self.scores)(tree)
        noise = jax.random.gumbel(noise_key, scores.shape, scores.dtype)
        noisy = scores + _by_position(exploration.gumbel_scale, root) * noise
        visits = tree.children_visits[:, tree.ROOT_INDEX]
        # Among equals the higher prior; it decides alone where nothing was visited.
        order = jnp.lexsort((prior, jnp.where(visits > 0, noisy, -jnp.inf)))
        policy = jax.nn.softmax(mask_logits(scores, mask))
        action = order[:, -1].astype(jnp.int32)
        return mctx.PolicyOutput(action=action, action_weights=policy, search_tree=tree)

    def anytime_selection(self, simulations: int | Array, outcomes: int = 0) -> Selection:
        """Returns the selection below the root for the root, too, until it has `simulations`.

        Sequential halving would have to know their number at the start. So each move gets visits in
        proportion to the improved policy (Danihelka et al. 2022, section 5).
        """
        select_root = functools.partial(select_behind, values=self.values, simulations=simulations)
        return with_chance(Selection(select_root, self._select), outcomes, weighted=True)

    def scores(self, tree: mctx.Tree) -> Array:
        root = tree.ROOT_INDEX
        return tree.children_prior_logits[root] + self.values(tree, root)

    def constants(self) -> dict[str, float | bool]:
        return {
            "scale": self.config.value_scale,
            "rescale": self.config.rescale_values,
            "width": self.width,
        }

    @property
    def values(self) -> Callable[..., Array]:
        """What is added to a node's logits: scaled values, also of moves without visits."""
        return functools.partial(
            mctx.qtransform_completed_by_mix_value,
            value_scale=self.config.value_scale,
            rescale_values=self.config.rescale_values,
        )

    @property
    def _select(self) -> Callable[..., Array]:
        return functools.partial(
            mctx.gumbel_muzero_interior_action_selection, qtransform=self.values
        )


@dataclass(frozen=True)
class PUCT:
    """AlphaZero's PUCT by `mctx.search`. It draws its move by the visits, and moves rank by them.

    The result equals that of `mctx.muzero_policy` without noise, bit for bit, also its move if the
    temperature is 1. That function draws noise over all actions even if its share is 0, and on CPU
    one variate after the other. For 256 games of chess this takes seconds per move.
    """

    num_simulations: int
    config: PUCTConfig
    width: ClassVar[int] = 1
    name: ClassVar[str] = "PUCT"

    def search(
        self,
        positions: Positions,
        keys: SearchKeys,
        exploration: Exploration,
        *,
        steps: Steps = "single",
    ) -> mctx.PolicyOutput:
        """Makes one simulation a step, whatever the last argument says."""
        del steps
        params, recurrent_fn, root, mask, outcomes = positions
        logits = add_dirichlet_noise(
            keys.noise,
            root.prior_logits,
            mask,
            _by_position(exploration.dirichlet_fraction, root),
            total=self.config.dirichlet_concentration,
        )
        selection = self.anytime_selection(self.num_simulations, outcomes)
        key, _, tree_key = jax.random.split(keys.tree, 3)  # as in mctx: the second is for noise
        tree = mctx.search(
            params,
            tree_key,
            root=root.replace(prior_logits=normalise_logits(logits, mask)),
            recurrent_fn=recurrent_fn,
            root_action_selection_fn=no_selection,
            interior_action_selection_fn=no_selection,
            num_simulations=self.num_simulations,
            invalid_actions=~mask,
            loop_fn=make_loop_fn(params, recurrent_fn, selection, pack_states=True),
        )
        shares = tree.summary().visit_probs
        action = draw_moves(key, shares, _by_position(exploration.temperature, root))
        return mctx.PolicyOutput(action=action, action_weights=shares, search_tree=tree)

    def anytime_selection(self, simulations: int | Array, outcomes: int = 0) -> Selection:
        """Returns the selection of every PUCT search; the number makes no difference."""
        del simulations
        select = functools.partial(
            mctx.muzero_action_selection,
            pb_c_init=self.config.pb_c_init,
            pb_c_base=self.config.pb_c_base,
            # AlphaZero's values: results lie in [-1, 1], and an unvisited move counts as lost.
            # MuZero's own rescaling by the siblings' values would make the smallest difference
            # decide.
            qtransform=functools.partial(mctx.qtransform_by_min_max, min_value=-1.0, max_value=1.0),
        )
        selection = Selection(one_at_the_root(functools.partial(select, depth=0)), select)
        return with_chance(selection, outcomes)

    def scores(self, tree: mctx.Tree) -> Array:
        return tree.children_visits[tree.ROOT_INDEX].astype(jnp.float32)

    def constants(self) -> dict[str, float | bool]:
        return {"exploration": self.config.pb_c_init, "base": self.config.pb_c_base}


@dataclass(frozen=True)
class UCT:
    """UCT (Kocsis & Szepesvari 2006), whose moves rank by their visits.

    Consider a node visited N times through its actions. An action tried n times with mean result q
    in [-1, 1] from the mover's perspective scores (q + 1) / 2 + exploration * sqrt(ln N / n).
    Untried actions come first, in the order of the node's logits, which lie in [-1, 1).
    """

    num_simulations: int
    exploration: float = math.sqrt(2.0)
    width: ClassVar[int] = 1

    def anytime_selection(self, simulations: int | Array, outcomes: int = 0) -> Selection:
        """Returns the selection by UCB1 for all nodes; the number makes no difference."""
        del simulations
        selection = Selection(
            one_at_the_root(lambda key, tree, node: self._select(tree, node)),
            lambda key, tree, node, depth: self._select(tree, node),
        )
        return with_chance(selection, outcomes)

    def scores(self, tree: mctx.Tree) -> Array:
        return tree.children_visits[tree.ROOT_INDEX].astype(jnp.float32)

    def _select(self, tree: mctx.Tree, node: Array) -> Array:
        """Returns the action with the highest upper confidence bound at one node: int32 []."""
        logits, visits = tree.children_prior_logits[node], tree.children_visits[node]
        q = tree.children_rewards[node] + tree.children_discounts[node] * tree.children_values[node]
        tried = jnp.maximum(visits, 1).astype(q.dtype)
        total = jnp.maximum(visits.sum(), 1).astype(q.dtype)
        bound = (q + 1) / 2 + self.exploration * jnp.sqrt(jnp.log(total) / tried)
        bound = jnp.where(visits > 0, bound, _UNTRIED + jnp.maximum(logits, -1))
        legal = logits > jnp.finfo(logits.dtype).min
        # After the end every action stays there. All are open, so that visits to an end spread over
        # short branches; one action alone would grow into a long chain.
        return jnp.argmax(jnp.where(legal | ~legal.any(), bound, -1.0)).astype(jnp.int32)


Algorithm = Gumbel | PUCT
AnytimeAlgorithm = Gumbel | PUCT | UCT


def make_algorithm(config: SearchConfig) -> Algorithm:
    """Returns the algorithm that a config names."""
    if config.algorithm == "gumbel":
        return Gumbel(config.num_simulations, config.gumbel)
    return PUCT(config.num_simulations, config.puct)


def draw_moves(key: Array, shares: Array, temperature: Array) -> Array:
    """Draws moves by their shares of the visits, float32 [B, A], to the power 1 / temperature.

    The largest share is taken where the temperature, float32 [B, 1], is 0.
    """
    logits = log_of(shares)
    logits -= jnp.max(logits, axis=-1, keepdims=True)
    # Moves without visits stay out of reach, however high the temperature is.
    heated = logits / jnp.where(temperature > 0, temperature, 1.0)
    drawn = jax.random.categorical(key, jnp.where(shares > 0, heated, logits))
    most = jnp.argmax(shares, axis=-1)
    return jnp.where(temperature[:, 0] > 0, drawn, most).astype(jnp.int32)


def normalise_logits(logits: Array, mask: Array) -> Array:
    """Returns masked logits [B, A] of the same prior as mctx makes them for a PUCT root.

    The largest of each row is 0.
    """
    logits = log_of(jax.nn.softmax(logits))
    return mask_logits(logits - jnp.max(logits, axis=-1, keepdims=True), mask)


def _by_position(number: Array | float, root: mctx.RootFnOutput) -> Array:
    """Returns a number for each of B positions, [B, 1]."""
    value = root.value
    return jnp.broadcast_to(jnp.asarray(number, root.prior_logits.dtype), value.shape)[:, None]
