"""A report's result in plain sentences."""

from collections.abc import Iterator, Mapping, Sequence

from azjax.evaluation.match_result import MatchResult, percent, short_names
from azjax.evaluation.scores import Score

_WORDS = {
    "search": "the network with {} simulations",
    "policy": "the network without search",
    "value": "the network one move ahead",
    "uct": "UCT with {} simulations",
    "mc": "Monte Carlo with {} playouts",
    "minimax": "minimax with {} plies",
    "random": "random play",
    "exact": "perfect play",
}
_UNTRAINED = "untrained "


def summarize(
    game: str,
    player: str,
    score: Score | None,
    matches: Sequence[MatchResult],
    others: Mapping[str, Score],
) -> Iterator[str]:
    """Yields up to three sentences: a player's mistakes, its matches, and others' mistakes.

    Args:
      player: its name, such as "search:32".
      score: its moves in the first position suite; None without any.
      others: the moves of other players in the same positions, by their names.
    """
    name = _in_words(player)
    if score is not None:
        positions = f"{score.positions:,} {score.suite}"
        if score.suite.startswith("all "):  # "all reachable positions"
            of = "all" if score.mistakes else "any of the"
            positions = f"{of} {score.positions:,} {score.suite.removeprefix('all ')}"
        made = f"makes {score.mistakes or 'no'} mistake{'s' * (score.mistakes > 1)}"
        if score.expected:
            made = f"loses {score.loss:.3%} of the points by a move"
        yield _sentence(f"{name} {made} in {positions} of {game}")
        name = "it"
    if matches:
        yield _sentence(_matches(name, matches))
    if score is not None and others:
        counts = [f"{x.loss:.3%}" if x.expected else f"{x.mistakes:,}" for x in others.values()]
        counts[0] = f"{'loses' if score.expected else 'makes'} {counts[0]}"
        parts = [f"{_in_words(x)} {count}" for x, count in zip(others, counts, strict=True)]
        yield _sentence(f"in the same positions {_joined(parts)}")


def _matches(name: str, matches: Sequence[MatchResult]) -> str:
    """Returns the clause about a player's matches, which all begin in the same way."""
    opponents = [_in_words(each) for each in short_names([x.player_b for x in matches])]
    plies = matches[0].opening_plies
    if plies == 0:
        losses = [x.losses for x in matches]
        return f"from the start of the game {name} lost {_counts(losses, matches, opponents)}"
    start = f"after {plies} random {'ply' if plies == 1 else 'plies'} {name}"
    lost = [x.losses_of_lost_openings for x in matches]
    if None not in lost:
        held = [x.losses - (n or 0) for x, n in zip(matches, lost, strict=True)]
        where = "apart from openings that were lost already"
        return f"{start} lost {_counts(held, matches, opponents)}, {where}"
    shares = [f"{percent(x.score)} against {y}" for x, y in zip(matches, opponents, strict=True)]
    return f"{start} scored {_joined(shares)}"


def _counts(counts: Sequence[int], matches: Sequence[MatchResult], opponents: Sequence[str]) -> str:
    """Returns numbers of games: "0 of 200 games against random play and 1 of 200 against ..."."""
    parts = zip(counts, matches, opponents, strict=True)
    return _joined(
        [
            f"{count or 'none'} of {match.num_games:,}{' games' * (i == 0)} against {opponent}"
            for i, (count, match, opponent) in enumerate(parts)
        ]
    )


def _in_words(name: str) -> str:
    """Returns what a sentence calls a player; a name of another form stays as it is."""
    kind, _, number = name.removeprefix(_UNTRAINED).partition(":")
    words = _WORDS.get(kind, "")
    if not words or ("{}" in words) != number.isdecimal():
        return name
    words = words.format(f"{int(number):,}" if number else "")
    if number == "1":
        words = words.replace("simulations", "simulation").replace("playouts", "playout")
        words = words.replace("plies", "ply")
    if name.startswith(_UNTRAINED):
        words = words.replace("network", "untrained network")
    return words


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
