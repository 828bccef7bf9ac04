"""Random play of benchmarks is fair, and starts new games after the end."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import make

from azjax.bench.games import rules_of
from azjax.bench.random_play import FEW_PLIES, RandomPlayer, play, random_bits, spread_out


def test_random_bits_are_spread():
    bits = np.stack([random_bits(4096, jnp.uint32(now)) for now in (0, 1)])
    assert len(np.unique(bits)) > 0.999 * bits.size
    ones = (bits[..., None] >> np.arange(32) & 1).mean(axis=(0, 1))
    np.testing.assert_allclose(ones, 0.5, atol=0.03)


def test_random_play_is_fair_and_starts_anew():
    rules = rules_of(make("tic_tac_toe"))
    warm = spread_out(rules, 9)
    ages = [int(x).bit_count() for x in warm.taken]
    assert len(set(ages)) >= 5
    states = jax.tree.map(lambda x: jnp.tile(x, 64), warm)
    played = play(rules, states, jnp.uint32(0), 64)
    assert not jax.vmap(rules.over)(played).any()
    choices = 0
    for now in range(64):
        choices += jax.vmap(rules.mask)(states).sum(axis=1).mean() / 64
        states = play(rules, states, jnp.uint32(now), 1)
    jax.tree.map(np.testing.assert_array_equal, played, states)
    moves, expected = expected_of_random_game(0, 0)
    np.testing.assert_allclose(choices, expected / moves, rtol=0.005)
    later = play(rules, states, jnp.uint32(1000), 64)
    assert (np.asarray(later.taken) != np.asarray(played.taken)).mean() > 0.5


def test_the_loop_knows_its_end():
    """Otherwise a GPU would ask the host before each ply."""
    rules = rules_of(make("tic_tac_toe"))
    states = spread_out(rules, 9)
    program = jax.make_jaxpr(play, static_argnums=(0, 3))(rules, states, jnp.uint32(0), 37)
    assert "length=37" in str(program)


def test_a_call_repeats_a_program_until_it_takes_long_enough():
    rules = rules_of(make("tic_tac_toe"))
    player = RandomPlayer(rules, spread_out(rules, 9), 8, seconds=0.05)
    assert player._plies > FEW_PLIES
    before = player._time
    player()
    assert player.steps == 8 * (player._time - before) > 0


@functools.cache
def expected_of_random_game(own: int, other: int) -> tuple[float, float]:
    """Returns the expected number of moves left in a random game of tic-tac-toe, and the expected
    sum of their numbers of legal choices. Bits are cells; `own` is the player to move."""
    lines = (0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
    free = [1 << cell for cell in range(9) if not (own | other) >> cell & 1]
    if not free or any(other & line == line for line in lines):
        return 0.0, 0.0
    rest = [expected_of_random_game(other, own | bit) for bit in free]
    moves, choices = (sum(values) / len(free) for values in zip(*rest, strict=True))
    return 1 + moves, len(free) + choices
