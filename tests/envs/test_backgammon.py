"""Backgammon next to OpenSpiel, pgx and GNU Backgammon."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pyspiel
import pytest
from azjax_envs import (
    draw_chance,
    init_batch,
    legal_actions,
    make,
    observe_as,
    random_action,
)
from azjax_envs.backgammon import board
from pgx import backgammon as pgx_rules

from tests import absent

PASS = 50
PAIRS = [(low, high) for low in range(1, 7) for high in range(low + 1, 7)]
PAIRS += [(die, die) for die in range(1, 7)]
ALL = 10_000  # games


def spiel_game(name, chance):
    """Plays a random game of OpenSpiel; returns what it says of each move of one checker.

    The columns are the outcome of chance before the move, or -1, the legal actions, the action, the
    mover, the position after it, or -1 where OpenSpiel has none, the end, and the first player's
    points. Its actions are two moves each, of which those with one beginning are looked at.
    """
    hyper = str(name == "hypergammon").lower()
    options = f"hyper_backgammon={hyper},scoring_type=full_scoring,max_player_turns=5000"
    state = pyspiel.load_game(f"backgammon({options})").new_initial_state()
    first, rows, outcome, dice = None, [], -1, None
    while not state.is_terminal():
        if state.is_chance_node():
            roll = int(chance.integers(len(state.chance_outcomes())))
            outcome = roll // 2 if roll < 30 else roll - 15  # of two that differ in order
            dice = PAIRS[outcome]
            state.apply_action(roll)
            continue
        player, legal = state.current_player(), state.legal_actions()
        first = player if first is None else first
        turns = [_moves(state, player, action) for action in legal]
        index = int(chance.integers(len(turns)))
        chosen, old = turns[index], len(rows)
        half = outcome < 0  # the second half of a double, which may be empty
        for step in range(max(len(chosen), not half)):
            begun = [turn for turn in turns if turn[:step] == chosen[:step]]
            higher = max(dice) if step == 0 else 0
            names = [PASS if not turn[step:] else _number(*turn[step], higher) for turn in begun]
            mask = np.zeros(51, bool)
            mask[names] = True
            action = names[begun.index(chosen)]
            rows.append([outcome, mask, action, player != first, _NO_BOARDS, False, 0])
            outcome = -1
        state.apply_action(legal[index])
        if rows[old:]:
            rows[-1][4] = _boards(state, first)
    # OpenSpiel 2.0.2 has no winner of hypergammon, because it counts 15 checkers.
    points = _points(rows[-1][4]) if name == "hypergammon" else state.returns()[first]
    rows[-1][5:] = True, points
    return [np.array(column) for column in zip(*rows, strict=True)]


_NO_BOARDS = np.full((2, 25), -1, np.int8)


def _moves(state, player, action):
    """Returns the moves of an action: points, as the player counts them, and dice."""
    moves = state.spiel_move_to_checker_moves(player, action)
    return [
        (25 if m.pos == 100 else m.pos + 1 if player else 24 - m.pos, m.num)
        for m in moves
        if m.pos >= 0
    ]


def _number(point, die, higher):
    return point - 1 + 25 * (die < higher)


def _boards(state, first):
    """Returns both players' checkers on points 1 to 24 and the bar; the first player's first."""
    rows = []
    for player in (first, 1 - first):
        points = [state.board(player, place) for place in range(24)]
        rows.append([*(points if player else points[::-1]), state.board(player, 100)])
    return np.array(rows, np.int8)


def _points(boards):
    """Returns the points of the first player at the end of hypergammon."""
    loser = 0 if boards[0].any() else 1
    far = boards[loser][18:].any()
    points = 2 + far if boards[loser].sum() == 3 else 1
    return points if loser == 1 else -points


def of_players(state):
    """Returns the checkers on points 0 to 25 of player 0 and of player 1, uint8 [2, 26]."""
    pair = jnp.stack([board.counts(state.own), board.counts(state.other)])
    return jnp.where(state.player == 0, pair, pair[::-1])


@functools.partial(jax.jit, static_argnums=0)
def replay(game, outcomes, actions):
    """Plays games [B, T]; returns what is seen before and after each move."""

    def ply(state, choice):
        outcome, action = choice
        rolled = game.chance_step(state, outcome)
        after = game.step(rolled, action)
        seen = game.legal_action_mask(rolled), game.current_player(rolled), of_players(after)[:, 1:]
        return after, (*seen, game.is_terminal(after), game.returns(after)[0])

    def one(*choices):
        return jax.lax.scan(ply, game.init(), choices)[1]

    return jax.vmap(one)(outcomes, actions)


@pytest.mark.parametrize(
    ("name", "games"),
    [("backgammon", 3), ("hypergammon", 12), *((n, ALL) for n in ("backgammon", "hypergammon"))],
)
def test_moves_of_openspiel(name, games):
    game, chance, block = make(name), np.random.default_rng(games), min(games, 200)
    for _ in range(games // block):
        lines = [spiel_game(name, chance) for _ in range(block)]
        length = 1 << max(len(line[0]) for line in lines).bit_length()
        rolls, masks, actions, movers, boards, over, points = (
            np.stack([np.pad(x, [(0, length - len(x)), *[(0, 0)] * (x.ndim - 1)]) for x in column])
            for column in zip(*lines, strict=True)
        )
        seen = jax.device_get(replay(game, rolls, actions))
        for lane, line in enumerate(lines):
            n = len(line[0])
            mask, mover, after, ended, returns = (x[lane, :n] for x in seen)
            np.testing.assert_array_equal(mask, masks[lane, :n])
            np.testing.assert_array_equal(mover, movers[lane, :n])
            known = boards[lane, :n, 0, 0] >= 0
            np.testing.assert_array_equal(after[known], boards[lane, :n][known])
            np.testing.assert_array_equal(ended, over[lane, :n])
            np.testing.assert_allclose(returns * 3, points[lane, :n], atol=1e-6)


@pytest.fixture
def _pgx_promotes_ranks():
    with jax.numpy_rank_promotion("allow"):
        yield


@pytest.mark.usefixtures("_pgx_promotes_ranks")
@pytest.mark.parametrize("games", [32, ALL])
def test_moves_of_pgx(games):
    """pgx lets one die be played where both could be; so its rules are asked about the next move.

    A loser with a checker on the bar has lost a backgammon, which pgx counts only on points.
    """
    game, env, block = make("backgammon"), pgx.make("backgammon"), min(games, 500)
    other = jax.vmap(pgx_rules._is_action_legal, (None, 0))

    def wanted(theirs):
        """Returns the legal actions by pgx's rules of one die, bool [51]."""
        dice = jnp.sort(theirs._playable_dice)[::-1]
        high, low = dice[0], dice[1]
        sources = 26 - np.arange(1, 26)

        def of(die):
            return (die >= 0) & other(theirs._board, 6 * sources + die)

        def then(die, last):
            after = jax.vmap(pgx_rules._move, (None, 0))(theirs._board, 6 * sources + die)
            legal = jax.vmap(other, (0, None))(after, 6 * sources + last)
            return jnp.any(legal, axis=1)

        two = (low >= 0) & (low != high)
        by_high, by_low = of(high), of(low) & two
        both = by_high & then(high, low), by_low & then(low, high)
        pairs = two & (jnp.any(both[0]) | jnp.any(both[1]))
        by_low = jnp.where(pairs, both[1], by_low & ~jnp.any(by_high))
        by_high = jnp.where(pairs, both[0], by_high)
        legal = jnp.concatenate([by_high, by_low])
        return jnp.concatenate([legal, ~jnp.any(legal, keepdims=True)])

    def ply(carry, key):
        ours, theirs, first = carry
        rolled = draw_chance(game, key, ours)
        faces = jnp.sort(jnp.where((rolled.dice[:, None] >> np.arange(1, 7)) & 1, np.arange(6), -1))
        dice = jnp.stack([faces[:, -1], jnp.where(faces[:, -2] < 0, faces[:, -1], faces[:, -2])], 1)
        playable = jax.vmap(pgx_rules._set_playable_dice)(dice)
        fresh = theirs.replace(
            _dice=dice,
            _playable_dice=playable,
            _played_dice_num=jnp.zeros_like(theirs._played_dice_num),
            legal_action_mask=jax.vmap(pgx_rules._legal_action_mask)(theirs._board, playable),
        )
        theirs = _where(jax.vmap(game.is_chance)(ours), fresh, theirs)
        mask, open_ = jax.vmap(game.legal_action_mask)(rolled), ~jax.vmap(game.is_terminal)(rolled)
        faults = [jnp.any(mask != jax.vmap(wanted)(theirs), axis=1) & open_]
        action = random_action(jax.random.fold_in(key, 1), mask)
        now = jnp.sort(theirs._playable_dice, axis=1)[:, ::-1]
        die = jnp.where((action >= 25) & (action < PASS), now[:, 1], now[:, 0])
        theirs_action = jnp.where(action == PASS, 0, 6 * (25 - action % 25) + die)
        faults.append(
            open_ & ~jnp.take_along_axis(theirs.legal_action_mask, theirs_action[:, None], 1)[:, 0]
        )
        after = jax.vmap(game.step)(rolled, action)
        step = jax.vmap(env.step, (0, 0, None))
        moved = step(theirs, theirs_action, key)
        # pgx passes where the rest of a turn cannot be played.
        waits = (after.player != rolled.player) & (moved._turn == theirs._turn)
        moved = _where(waits, step(moved, jnp.zeros_like(action), key), moved)
        moved = _where(open_, moved, theirs)
        over = jax.vmap(game.is_terminal)(after)
        faults += [
            over != moved.terminated,
            jnp.any(jax.vmap(_seen)(after) != moved._board, axis=1),
        ]
        points = jax.vmap(game.returns)(after)[:, 0] * 3
        reward = jnp.take_along_axis(moved.rewards, first[:, None], 1)[:, 0]
        only_bar = (jax.vmap(board.some)(after.other) >> 19) == (board.BAR >> 19)
        reward = jnp.where(only_bar & (jnp.abs(reward) == 2), reward * 1.5, reward)
        faults.append(open_ & over & (jnp.abs(points - reward) > 1e-4))
        return (after, moved, first), (jnp.any(jnp.stack(faults), axis=1), jnp.all(over))

    play = jax.jit(lambda carry, keys: jax.lax.scan(ply, carry, keys))
    for seed in range(games // block):
        keys = jax.random.split(jax.random.key(seed), 2)
        theirs = jax.vmap(env.init)(jax.random.split(keys[0], block))
        states = jax.vmap(game.init)(jax.random.split(keys[0], block))
        carry, faults, over = (states, theirs, theirs.current_player), np.zeros(5, bool), False
        while not over:
            keys = jax.random.split(keys[1], 129)
            carry, (found, all_over) = play(carry, keys[1:])
            faults, over = faults | np.asarray(found).any(axis=0), bool(all_over[-1])
        assert not faults.any(), dict(
            zip(("mask", "illegal", "end", "board", "points"), faults, strict=True)
        )


def _at(tree, place):
    return jax.tree.map(lambda x: x[place], tree)


def _seen(state):
    """Returns the board as pgx has it: the mover's checkers, less the opponent's."""
    own, other = (board.counts(x).astype(jnp.int32) for x in (state.own, state.other))
    points = own[24:0:-1] - other[1:25]
    return jnp.concatenate([points, jnp.stack([own[25], -other[25], own[0], -other[0]])])


def _where(rows, one, two):
    return jax.tree.map(
        lambda x, y: jnp.where(rows.reshape(-1, *[1] * (x.ndim - 1)), x, y), one, two
    )


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def in_progress(game, key, count, plies):
    """Returns positions of random games after a roll, [plies, count, ...], and which are usable."""

    def ply(states, key):
        after = jax.vmap(game.step)(
            states, random_action(key, jax.vmap(game.legal_action_mask)(states))
        )
        return draw_chance(game, key, after), (states, jax.vmap(_is_new)(states))

    def _is_new(state):
        two = (state.dice & (state.dice - 1)) != 0
        return (state.left == jnp.where(two, 2, 4)) & ~game.is_terminal(state)

    return jax.lax.scan(ply, init_batch(game, key, count), jax.random.split(key, plies))[1]


@functools.partial(jax.jit, static_argnums=0)
def successors(game, states):
    step = jax.vmap(jax.vmap(game.step, (None, 0)), (0, None))
    after = step(states, np.arange(51, dtype=np.int32))
    look = {"legal": jax.vmap(game.legal_action_mask)(states)}
    look |= {"boards": jax.vmap(jax.vmap(of_players))(after), "player": after.player}
    return after, look | {"over": jax.vmap(jax.vmap(game.is_terminal))(after)}


def after_turns(game, states, movers):
    """Returns for each state the set of positions after its turn: checkers of both players."""
    size, found = 256, [set() for _ in movers]
    owners, seen = np.arange(len(movers)), set()
    while len(owners):
        nexts, next_owners = [], []
        for begin in range(0, len(owners), size):
            rows = np.minimum(np.arange(begin, begin + size), len(owners) - 1)
            after, look = jax.device_get(successors(game, _at(states, rows)))
            for row, action in np.argwhere(look["legal"][: len(owners) - begin]):
                owner = owners[begin + row]
                boards = look["boards"][row, action, :, 1:]
                if look["over"][row, action] or look["player"][row, action] != movers[owner]:
                    found[owner].add(boards.tobytes())
                    continue
                one = _at(after, (row, action))
                same = (owner, boards.tobytes(), int(one.dice), int(one.left))
                if same not in seen:
                    seen.add(same)
                    nexts.append(one)
                    next_owners.append(owner)
        owners = np.array(next_owners, int)
        states = jax.tree.map(lambda *x: np.stack(x), *nexts) if nexts else states
    return found


@pytest.mark.parametrize(
    ("name", "count"),
    [("backgammon", 24), ("hypergammon", 24), ("backgammon", 2000), ("hypergammon", 2000)],
)
def test_positions_after_turns_of_gnu_backgammon(name, count):
    gnubg = absent.package("gnubg_nn", unreleased=(3, 14), reason="gnubg-nn has no release here")
    game = make(name)
    states, usable = jax.device_get(in_progress(game, jax.random.key(count), 32, 512))
    places = np.argwhere(usable)
    places = places[np.random.default_rng(0).permutation(len(places))[:count]]
    states = _at(states, tuple(places.T))
    found = after_turns(game, states, states.player)
    for i, positions in enumerate(found):
        state = _at(states, i)
        pair = [np.asarray(board.counts(x))[1:] for x in (state.other, state.own)]
        faces = [die for die in range(1, 7) if state.dice >> die & 1]
        keys = gnubg.moves([x.tolist() for x in pair], faces[0], faces[-1])
        theirs = [gnubg.board_from_position_key(key) for key in keys] or [pair]
        order = -1 if state.player == 0 else 1
        assert positions == {np.array(x, np.uint8)[::order].tobytes() for x in theirs}


def positions_of(game, own, other, dice=()):
    """Returns a state with checkers {point: number} of both players, and a roll."""
    words = [
        board.pack([n.get(point, 0) for point in range(26)], len(game.init().own))
        for n in ({**side, 0: game.checkers - sum(side.values())} for side in (own, other))
    ]
    state = dataclasses.replace(game.init(), own=words[0], other=words[1], moves=jnp.uint16(9))
    return _roll(game, state, PAIRS.index(tuple(sorted(dice)))) if dice else state


@functools.partial(jax.jit, static_argnums=0)
def _roll(game, state, outcome):
    return game.chance_step(state, outcome)


@functools.partial(jax.jit, static_argnums=0)
def _step(game, state, action):
    return game.step(state, action)


def played(game, state, text):
    return _step(game, state, game.string_to_action(state, text))


def texts(game, state):
    return {game.action_to_string(state, a) for a in legal_actions(game, state)}


@pytest.mark.parametrize(
    ("own", "other", "dice", "legal"),
    [
        ({25: 1, 6: 3}, {6: 2, 4: 1}, (3, 6), {"bar/22"}),
        ({25: 1, 6: 3}, {6: 1, 3: 2}, (3, 6), {"bar/19*"}),
        ({25: 2, 6: 3}, {6: 2, 3: 2}, (3, 6), {"pass"}),
        ({6: 1, 5: 1, 2: 1}, {24: 2}, (6, 5), {"6/off", "5/off(5)"}),
        ({4: 1, 3: 1}, {20: 2}, (6, 5), {"4/off(6)", "4/off(5)"}),
        ({12: 1}, {19: 2}, (6, 4), {"12/8"}),  # both by the lower one first
        ({12: 1}, {23: 2}, (6, 4), {"12/6"}),  # only one, and that is the higher one
        ({12: 1}, {19: 1}, (6, 4), {"12/6*", "12/8"}),
        ({20: 1}, {11: 2, 16: 2}, (5, 6), {"20/15"}),
        ({2: 1}, {1: 15}, (3, 1), {"2/1"}),  # not 2/off, which leaves a die
        ({7: 1, 1: 2}, {1: 15}, (6, 6), {"7/1"}),
    ],
)
def test_legal_moves(own, other, dice, legal):
    game = make("backgammon")
    assert texts(game, positions_of(game, own, other, dice)) == legal


@pytest.mark.parametrize(
    ("name", "own", "other", "points"),
    [
        ("backgammon", {1: 1}, {3: 14}, 1),
        ("backgammon", {1: 1}, {3: 15}, 2),
        ("backgammon", {1: 1}, {3: 14, 19: 1}, 3),
        ("backgammon", {1: 1}, {3: 14, 18: 1}, 2),
        ("backgammon", {1: 1}, {3: 14, 25: 1}, 3),
        ("hypergammon", {1: 1}, {3: 2}, 1),
        ("hypergammon", {1: 1}, {3: 3}, 2),
        ("hypergammon", {1: 1}, {24: 3}, 3),
    ],
)
def test_points(name, own, other, points):
    game = make(name)
    state = positions_of(game, own, other, (2, 1))
    lost = _step(game, state, 11)
    assert (game.returns(lost) * 3).tolist() == [-3, 3]
    won = played(game, state, "1/off(2)")
    assert game.is_terminal(won)
    assert not game.is_chance(won)
    np.testing.assert_allclose(game.returns(won) * 3, [points, -points])
    cut = dataclasses.replace(state, moves=jnp.uint16(game.max_steps - 1))
    cut = played(game, cut, "1/off(2)")
    np.testing.assert_allclose(game.returns(cut) * 3, [points, -points])


def test_a_long_game_is_decided_by_pips():
    game = make("backgammon")
    for own, points in (({9: 2}, 1), ({8: 2}, 1), ({9: 3}, -1)):
        state = positions_of(game, own, {16: 1}, (2, 1))
        state = dataclasses.replace(state, moves=jnp.uint16(game.max_steps - 1))
        cut = played(game, state, "9/7" if 9 in own else "8/6")
        assert game.is_terminal(cut)
        np.testing.assert_allclose(game.returns(cut) * 3, [points, -points])


def test_the_first_roll_is_no_double():
    game = make("hypergammon")
    first, later = game.init(), positions_of(game, {24: 3}, {24: 3})
    for state, single, double in ((first, 1 / 15, 0), (later, 1 / 18, 1 / 36)):
        shares = game.chance_probabilities(state)
        np.testing.assert_allclose(shares, [single] * 15 + [double] * 6, rtol=1e-6)
    assert game.is_chance(game.chance_step(first, 15))
    assert [game.outcome_to_string(first, k) for k in (0, 4, 14, 20)] == [
        "2-1",
        "6-1",
        "6-5",
        "6-6",
    ]


def test_names_of_moves():
    game = make("backgammon")
    state = positions_of(game, {25: 1, 6: 3}, {6: 1, 3: 2}, (3, 6))
    assert [game.string_to_action(state, text) for text in ("bar/19*", "bar/19", " BAR/19 ")] == [
        24
    ] * 3
    with pytest.raises(ValueError, match="'6/3' is not legal here; legal: bar/19"):
        game.string_to_action(state, "6/3")
    assert "X: 1 on the bar, 11 off; O: 0 on the bar, 12 off" in game.to_string(state)
    assert game.to_string(state).splitlines()[-2] == "X to move, dice: 6 3"


@pytest.mark.parametrize("name", ["backgammon", "hypergammon"])
def test_what_both_players_see(name):
    game = make(name)
    few, planes = min(game.checkers, 5), min(game.checkers, 6)
    states, _ = jax.device_get(in_progress(game, jax.random.key(1), 8, 64))
    states = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), states)
    bits = [np.stack(x)[..., None] >> np.arange(26) & 1 for x in (states.own, states.other)]
    sides = [sum(word << k for k, word in enumerate(words)) for words in bits]
    look = jax.jit(jax.vmap(lambda s: [observe_as(game, s, s.player ^ seat) for seat in (0, 1)]))
    for seen, (mine, theirs) in zip(look(states), (sides, sides[::-1]), strict=True):
        seen = np.asarray(seen)[:, 0]
        for begin, side in ((0, mine), (planes, theirs[:, ::-1])):
            counts = seen[..., begin : begin + few].sum(-1)
            if game.checkers > 5:
                counts += seen[..., begin + 5] * 10
            on_board = slice(1, 26) if begin == 0 else slice(25)
            np.testing.assert_allclose(counts[:, on_board], side[:, on_board], atol=1e-5)
        off = np.stack([mine[:, 0], theirs[:, 0]], 1) / game.checkers
        np.testing.assert_allclose(seen[:, 3, 2 * planes : 2 * planes + 2], off, rtol=1e-6)
        dice = (states.dice[:, None] >> np.arange(1, 7)) & 1
        np.testing.assert_array_equal(seen[:, 7, -9:-3], dice)
        np.testing.assert_array_equal(seen[:, 7, -3:].sum(-1), np.maximum(states.left, 1) - 1)


def test_clicks_are_the_cells_that_a_move_leaves_and_enters():
    """They are read from the text of each legal move in random positions of hypergammon."""
    game, seen = make("hypergammon"), set()
    clicks, step = jax.jit(game.clicks), jax.jit(game.step)
    state, key = game.init(), jax.random.key(5)
    for _ in range(60):
        key, dice_key, move_key = jax.random.split(key, 3)
        state = jax.device_get(
            jax.tree.map(
                lambda x: x[0], draw_chance(game, dice_key, jax.tree.map(lambda x: x[None], state))
            )
        )
        player, found = int(state.player), np.asarray(clicks(state))
        legal = legal_actions(game, state)
        for action in legal:
            text = game.action_to_string(state, action)
            seen.add(text)
            if text == "pass":
                assert found[action, 0] == -1
                continue
            start, _, end = text.rstrip("*").partition("(")[0].partition("/")
            own = {str(p): (p - 1, 24 - p)[player] for p in range(1, 25)}
            cells = own | {"bar": 24 + player, "off": 26 + player}
            assert found[action, :2].tolist() == [cells[start], cells[end]]
        assert len({tuple(found[a].tolist()) for a in legal}) == len(legal)
        if not legal:
            break
        state = step(state, legal[int(jax.random.randint(move_key, (), 0, len(legal)))])
    assert any("off" in text for text in seen) or any("bar" in text for text in seen)
