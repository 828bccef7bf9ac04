"""GTP's searches: a move within its limits, and analyses that clients such as Sabaki follow.

Sources: Sabaki's guide "Engine Analysis Integration"; KataGo's "GTP Extensions".
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from azjax_envs import Game
from azjax_envs.game import legal_actions

from azjax.engine.decision import Decision, continue_search
from azjax.engine.gtp.game import GtpGame, read_vertex, vertices
from azjax.engine.gtp.protocol import PLAYERS, GtpError, Reply, read_number, read_player
from azjax.engine.search_analysis import SearchAnalysis
from azjax.engine.search_reuse import effective_start, end_search, start_search

_MAX_LINE = 16  # moves of a principal variation


def choose_move(
    game: GtpGame,
    player: int,
    since: float,
    *,
    on_progress: Callable[[Decision], None] = lambda progress: None,
    root_actions: Sequence[int] = (),
    pick: Callable[[SearchAnalysis], int] = lambda analysis: analysis.action,
) -> tuple[GtpGame, SearchAnalysis]:
    """Searches for a move of `player` within its limits, and plays it.

    If it is not their turn, the opponent passes.

    Args:
      since: when the command came, by `time.monotonic()`.
      root_actions: legal actions to choose from; empty for all of them.

    Returns:
      (game after the move, analysis of the search).
    """
    clock = game.clocks[player]
    record = game.give_turn(player).record
    progress = start_search(game.search, record, game.last, root_actions, anew=clock is None)
    simulations, seconds = float(game.search.num_simulations), math.inf
    if clock is not None:
        simulations = math.inf
        seconds = clock.for_move()
    began = effective_start(since, seconds, game.last)
    for step in continue_search(progress, simulations=simulations, seconds=seconds, since=began):
        progress = step
        on_progress(progress)
    ended = time.monotonic()
    analysis = progress.analysis()
    game = game.play([(player, vertices(game.game)[pick(analysis)])])
    game = replace(game, last=end_search(progress, record, game.last, ended))
    return game.spend_time(player, time.monotonic() - since), analysis


def info_line(game: Game, analysis: SearchAnalysis, max_moves: int, *, kata: bool = False) -> str:
    """Returns one line of an analysis.

    As in Leela Zero, shares are numbers of 10,000. With `kata` they are fractions, as in KataGo.
    """
    names, parts = vertices(game), []
    for order, action in enumerate(analysis.ranked_actions()[:max_moves]):
        visits = analysis.visits[action]
        value = float(analysis.action_values[action]) if visits else analysis.value
        line = analysis.principal_variation(action)[:_MAX_LINE]
        chance, prior = (1 + min(max(value, -1.0), 1.0)) / 2, float(analysis.prior[action])
        shares = f"winrate {round(10000 * chance)} prior {round(10000 * prior)}"
        if kata:
            shares = f"utility {value:.4f} winrate {chance:.4f} prior {prior:.4f}"
        parts.append(
            f"info move {names[action]} visits {visits} {shares} order {order} "
            f"pv {' '.join(names[a] for a in line)}"
        )
    return " ".join(parts) + "\n"


def genmove_analyze(game: GtpGame, reply: Reply, *arguments: str, kata: bool = False) -> GtpGame:
    """Plays a move, with analyses until it is found."""
    options = _read_options(game, arguments)
    player = options.player
    if game.only_passes_left():
        reply.write(f"={reply.number}\nplay pass\n\n")
        return game.play([(player, "pass")])
    # Errors must be found before the answer begins.
    root_actions = options.root_actions(game.give_turn(player))
    reply.write(f"={reply.number}\n")
    write, write_when_due = _writers(game, reply, options, kata)
    after, analysis = choose_move(
        game, player, reply.lines.arrived, on_progress=write_when_due, root_actions=root_actions
    )
    write(analysis)
    reply.write(f"play {vertices(game.game)[analysis.action]}\n\n")
    return after


def analyze(game: GtpGame, reply: Reply, *arguments: str, kata: bool = False) -> GtpGame:
    """Searches until the next line of input, and reports what is found."""
    options = _read_options(game, arguments)
    in_turn = game.give_turn(options.player)
    root_actions = options.root_actions(in_turn)
    reply.write(f"={reply.number}\n")
    write, write_when_due = _writers(game, reply, options, kata)
    progress = start_search(game.search, in_turn.record, game.last, root_actions)
    for step in continue_search(progress):
        progress = step
        if reply.lines.waiting():
            break
        write_when_due(progress)
    ended = time.monotonic()
    write(progress.analysis())
    last = end_search(progress, in_turn.record, game.last, ended)
    reply.lines.wait()
    reply.write("\n")
    return replace(game, last=last)


@dataclass(frozen=True)
class _Options:
    """Arguments of an analysis."""

    player: int
    interval: float = 0.5  # seconds between two lines
    max_moves: int = 20  # in a line
    allowed: frozenset[int] | None = None  # actions; None: all
    avoided: frozenset[int] = frozenset()

    def root_actions(self, game: GtpGame) -> list[int]:
        """Returns the legal actions to choose from."""
        legal = set(legal_actions(game.game, game.current.state)) - self.avoided
        chosen = legal if self.allowed is None else legal & self.allowed
        if not chosen:
            raise GtpError("illegal move: no legal move is left to search")
        return sorted(chosen)


def _writers(
    game: GtpGame, reply: Reply, options: _Options, kata: bool
) -> tuple[Callable[[SearchAnalysis], None], Callable[[Decision], None]]:
    """Returns what writes a line now, and what does so if the last line is old enough."""
    written = time.monotonic()

    def write(analysis: SearchAnalysis) -> None:
        nonlocal written
        written = time.monotonic()
        reply.write(info_line(game.game, analysis, options.max_moves, kata=kata))

    def write_when_due(progress: Decision) -> None:
        if time.monotonic() - written >= options.interval:
            write(progress.analysis())

    return write, write_when_due


# How many words follow each keyword. Keywords that `_read_options` does not use are ignored.
_KEYWORDS = {
    **dict.fromkeys(("interval", "minmoves", "maxmoves"), 1),
    **dict.fromkeys(("avoid", "allow"), 3),  # COLOUR MOVE,MOVE,... DEPTH
    **dict.fromkeys(("ownership", "ownershipstdev", "movesownership", "movesownershipstdev"), 1),
    **dict.fromkeys(("rootinfo", "pvvisits", "pvedgevisits", "noresultvalue"), 1),
}


def _read_options(game: GtpGame, arguments: Sequence[str]) -> _Options:
    """Reads [COLOUR] [CENTISECONDS] [KEYWORD VALUE]..."""
    words = [word.lower() for word in arguments]
    named = bool(words) and words[0] in PLAYERS
    options = _Options(read_player(words.pop(0)) if named else game.current.mover)
    if words and words[0] not in _KEYWORDS:
        words.insert(0, "interval")
    while words:
        keyword = words.pop(0)
        if keyword not in _KEYWORDS or len(words) < _KEYWORDS[keyword]:
            known = ", ".join(_KEYWORDS)
            raise GtpError(f"syntax error: expected a color, centiseconds, or one of {known}")
        values = [words.pop(0) for _ in range(_KEYWORDS[keyword])]
        if keyword == "interval":
            options = replace(options, interval=read_number(*values) / 100)
        elif keyword == "maxmoves":
            options = replace(options, max_moves=max(read_number(*values), 1))
        elif keyword in ("avoid", "allow"):
            options = _restrict(options, game.game, keyword, *values)
    return options


def _restrict(
    options: _Options, game: Game, keyword: str, colour: str, moves: str, depth: str
) -> _Options:
    """Adds `avoid` or `allow`, which hold at the root only, whatever the depth."""
    actions = frozenset(read_vertex(game, move)[0] for move in moves.split(","))
    if read_number(depth) == 0 or read_player(colour) != options.player:
        return options
    if keyword == "avoid":
        return replace(options, avoided=options.avoided | actions)
    return replace(options, allowed=actions | (options.allowed or frozenset()))
