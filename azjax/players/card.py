"""A player's card: how it was trained, how strong it is, and what it is bad at."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

from azjax.config import PlayerConfig
from azjax.errors import UserError, printable
from azjax.runs.metrics import training_time

_FEW = 20  # positions, of which a share says little
_SEATS = ("first", "second")
_EQUAL = (0.45, 0.55)  # scores against an opponent of the same strength
_OPPONENTS = {
    "gtp:gnugo --level ": "GNU Go at level ",
    "uci:fairy-stockfish?depth=": "Fairy-Stockfish at depth ",
    "usi:fairy-stockfish?depth=": "Fairy-Stockfish at depth ",
    "uci:stockfish?nodes=1&Skill Level=": "Stockfish at one node and skill level ",
    "uct:": "UCT-",
}
_ENGINES = ("gtp:", "uci:", "usi:")
_TOLD = ("cycles", "minutes", "before", "report", "weakest", "values", "matches")


def run_metadata(run_dir: Path, cycle: int | None, *, before: str = "") -> dict[str, Any]:
    """Returns what a player's file keeps of its run.

    The results are those of the run's report, if it is about this checkpoint.

    Args:
      before: the training of the player that the run began with, where there was one.

    Returns:
      "cycles"; "minutes" and "machine" of the training, where they are known; "before", if it is
      not empty; "report", for each
      position suite the "suite", "player", "positions" and "mistakes"; "weakest", the class of
      positions with the largest share of mistakes by search, if there are any; "values", the
      "suite", "player", "positions" and "right" of the first moves' values, where they are known;
      and "matches", for each opponent the "player", "opponent", "games",
      "score", and the scores when moving "first" and "second".
    """
    metadata: dict[str, Any] = {"cycles": cycle, "report": [], "matches": []}
    seconds, machine = training_time(run_dir, cycle)
    if seconds:
        metadata["minutes"] = round(seconds / 60, 1)
    if machine:
        metadata["machine"] = machine
    if before:
        metadata["before"] = before
    file = run_dir / "report.json"
    if not file.is_file():
        return metadata
    try:
        written = json.loads(file.read_text(encoding="utf-8-sig"))
        if written.get("cycle") == cycle:
            metadata |= _results(written)
        return checked_metadata(file, metadata)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(
            f"{file}: not as `azjax report` writes it; delete it, or write it again with "
            f"`azjax report {quote(str(run_dir))}`"
        ) from error


def describe_player(config: PlayerConfig, metadata: dict[str, Any]) -> str:
    """Returns the card of a player: a sentence for people, and lines with all details.

    It is "" if the file tells of no training.
    """
    if not any(metadata.get(key) for key in _TOLD):
        return ""
    return "\n".join(printable(line) for line in _lines(config, metadata))


def describe_in_short(metadata: dict[str, Any]) -> str:
    """Returns a player's strength, training and weakness, a sentence on each line.

    The first line is the headline, if there are results. It is "" if the file tells of no training.
    """
    if not any(metadata.get(key) for key in _TOLD):
        return ""
    sentences = [*describe_strength(metadata), f"trained for {describe_training(metadata)}"]
    if weakness := describe_weakness(metadata):
        sentences.append(f"weakest: {weakness}")
    if headline := describe_headline(metadata):
        sentences.insert(0, headline)
    return "\n".join(f"{text[:1].upper()}{text[1:]}." for text in map(printable, sentences))


def describe_headline(metadata: dict[str, Any]) -> str:
    """Returns a player's strength in a few words: "as strong as UCT-1000, with 64 simulations".

    It is the result of the match with the most simulations, or of one that shows a beginner.
    Without matches, and of a perfect player, it is the number of mistakes in the first position
    suite. Without results it is "".
    """
    if is_perfect(metadata):
        score = metadata["report"][0]
        positions = f"{score['positions']:,} {score['suite'].removeprefix('all ')}"
        return printable(f"makes no mistake in any of the {positions}, {_how(score['player'])}")
    if lost := _lost_to_an_engine(metadata):
        return printable(f"a beginner that {_outcome(lost)}")
    if matches := metadata.get("matches"):
        # A longer name has more simulations.
        return printable(_outcome(max(matches, key=lambda x: (len(x["player"]), x["player"]))))
    if metadata["report"]:
        score = metadata["report"][0]
        mistakes = f"{score['mistakes'] or 'no'} mistake{'s' * (score['mistakes'] != 1)}"
        positions = f"{score['positions']:,} {re.sub(r' [(].*?[)]', '', score['suite'])}"
        return printable(f"made {mistakes} in {positions}, {_how(score['player'])}")
    return ""


def is_perfect(metadata: dict[str, Any]) -> bool:
    """Returns whether a player makes no mistake in any position of its game."""
    first = next(iter(metadata["report"]), None)
    return first is not None and first["suite"].startswith("all ") and not first["mistakes"]


def describe_strength(metadata: dict[str, Any]) -> list[str]:
    """Returns a player's results as texts, one for each way in which it plays.

    They are such as "with 64 simulations: 99.0% of ...; 100.0% of the points ...". Each has the
    first position suite, all values and all matches.
    """
    results: dict[str, list[str]] = {}
    for score in metadata["report"]:
        if score["player"] not in results:
            results[score["player"]] = [_score_text(score)]
    for values in metadata.get("values", ()):
        results.setdefault(values["player"], []).append(_values_text(values))
    for match in metadata.get("matches", ()):
        results.setdefault(match["player"], []).append(_match_text(match))
    return [printable(f"{_how(name)}: {'; '.join(texts)}") for name, texts in results.items()]


def describe_weakness(metadata: dict[str, Any]) -> str:
    """Returns the weakest class of positions as text; "" if it is not known.

    Without a mistake in any class it is the wrong values of first moves, by search. Without wrong
    values it is the seat, first or second, with the worst score in matches by search. A perfect
    player has none.
    """
    if is_perfect(metadata):
        return ""
    if "weakest" in metadata:
        weak = metadata["weakest"]
        share = weak["mistakes"] / weak["positions"]
        return printable(f"mistakes in {share:.1%} of {weak['name']}, {weak['suite']}")
    for values in metadata.get("values", ()):
        wrong = values["positions"] - values["right"]
        if wrong and values["player"].startswith("search"):
            text = f"values of {values['suite']} wrong in {wrong} of {values['positions']}"
            return printable(f"{text}, {_how(values['player'])}")
    seats = [
        (match[seat], f"moving {seat} against {match['opponent']}, {_how(match['player'])}")
        for match in metadata.get("matches", ())
        if match["player"].startswith("search")
        for seat in _SEATS
        if match.get(seat, 1) < 1
    ]
    if not seats:
        return ""
    score, seat = min(seats)
    return printable(f"{score:.1%} of the points {seat}")


def beginner(metadata: dict[str, Any]) -> str:
    """Returns the result that shows a player with search to be a beginner; "" if none does.

    A beginner scored at most a tenth of the points against some engine.
    """
    match = _lost_to_an_engine(metadata)
    return printable(f"{_match_text(match)}, {_how(match['player'])}") if match else ""


def _lost_to_an_engine(metadata: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the first match of a player with search that shows it to be a beginner, if any."""
    for match in metadata.get("matches", ()):
        by_search = match["player"].startswith("search")
        if by_search and match["opponent"].startswith(_ENGINES) and match["score"] <= 0.1:
            return match
    return None


def _outcome(match: dict[str, Any]) -> str:
    """Returns the result of a match: "won all 200 games against UCT-1000, with 64 simulations"."""
    score, opponent = match["score"], match["opponent"]
    for code, name in _OPPONENTS.items():
        if opponent.startswith(code):
            opponent = name + opponent.removeprefix(code)
    result = f"scored {score:.1%} against"
    if score in (0, 1):
        result = f"{'won' if score else 'lost'} all {match['games']} games against"
    elif _EQUAL[0] <= score <= _EQUAL[1]:
        result = "as strong as"
    return f"{result} {opponent}, {_how(match['player'])}"


def _lines(config: PlayerConfig, metadata: dict[str, Any]) -> Iterator[str]:
    network = config.network
    dense = network.architecture == "mlp"
    kind = "residual mlp" if dense and network.residual else network.architecture
    sizes = f"{network.blocks} x {network.channels} {kind}"
    if network.convolutions and dense:
        sizes += f" after {network.convolutions} convolutions of {network.filters}"
    headline = describe_headline(metadata)
    if headline.startswith(("a ", "as ")):
        headline = f"is {headline}"
    yield f"{config.game.name} {headline or f'was trained for {describe_training(metadata)}'}."
    yield f"{config.game.name}: a {sizes}, trained for {describe_training(metadata)}"
    for score in metadata["report"]:
        yield f"{score['player']}: {_score_text(score)}"
    if weakness := describe_weakness(metadata):
        yield f"weakest: {weakness}"
    for values in metadata.get("values", ()):
        yield f"{values['player']}: {_values_text(values)}"
    for match in metadata.get("matches", ()):
        yield f"{match['player']}: {_match_text(match)}"


def _score_text(score: dict[str, Any]) -> str:
    share = 1 - score["mistakes"] / score["positions"]
    positions = f"{score['positions']:,} {score['suite']}"
    if score["suite"].startswith("all reachable "):
        positions = f"all {score['positions']:,} {score['suite'].removeprefix('all ')}"
    return f"{share:.1%} of {positions} without a mistake"


def _values_text(values: dict[str, Any]) -> str:
    return f"values of {values['suite']} right in {values['right']} of {values['positions']}"


def _match_text(match: dict[str, Any]) -> str:
    return (
        f"{match['score']:.1%} of the points in {match['games']} games against {match['opponent']}"
    )


def _how(name: str) -> str:
    """Returns how a network plays, by the player's name: "with 64 simulations" for "search:64"."""
    kind, _, number = name.partition(":")
    if kind == "search" and number:
        return f"with {number} simulations"
    return f"{name} alone" if name in ("policy", "value") else name


def describe_training(metadata: dict[str, Any]) -> str:
    """Returns how long a player was trained and where: "2800 cycles in 38 minutes on 2 x cpu"."""
    how = f"{metadata['cycles']} cycles"
    # Files of older versions do not have the rest.
    if "minutes" in metadata:
        how += f" in {metadata['minutes']:,.0f} minutes"
    if "machine" in metadata:
        how += f" on {metadata['machine']}"
    if "before" in metadata:
        how += f", after {metadata['before']}"
    return how


def _results(report: dict[str, Any]) -> dict[str, Any]:
    """Returns the results that a file keeps of an evaluation report."""
    scores, values, matches = [], [], []
    for player in report["players"][:2]:  # with search, and without
        suites = {score["suite"] for score in player["scores"]}
        for score in player["scores"]:
            kept = {k: score[k] for k in ("suite", "positions", "mistakes")}
            scores.append({"player": player["name"], **kept})
        for value in player["values"]:
            # Those of suites tell little: a wrong value may still lead to the right move. That of
            # the start alone tells little, too.
            if value["positions"] > 1 and value["suite"] not in suites:
                kept = {k: value[k] for k in ("suite", "positions", "right")}
                values.append({"player": player["name"], **kept})
        for match in player["matches"]:
            kept = {k: match[k] for k in ("games", "score")}
            for seat in _SEATS:
                wins, draws, losses = match[f"as_{seat}"]
                kept[seat] = (wins + draws / 2) / (wins + draws + losses)
            names = {"player": player["name"], "opponent": match["player_b"]}
            matches.append(names | kept)
    results: dict[str, Any] = {"report": scores, "matches": matches}
    if values:
        results["values"] = values
    if weakest := _weakest(report["players"][0]["scores"]):
        results["weakest"] = weakest
    return results


def _weakest(scores: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Returns the class of positions with the largest share of mistakes; None without any."""
    classes = [
        {"suite": score["suite"], **{k: bucket[k] for k in ("name", "positions", "mistakes")}}
        for score in scores
        for bucket in score["buckets"]
        if bucket["mistakes"] and bucket["positions"] >= _FEW
    ]
    return max(classes, key=lambda x: x["mistakes"] / x["positions"], default=None)


def checked_metadata(path: str | Path, metadata: Any) -> dict[str, Any]:
    """Returns what a file tells of its player, if it is as `run_metadata` makes it."""
    good = (
        isinstance(metadata, dict)
        and (metadata.get("cycles", 0) is None or _is_count(metadata.get("cycles")))
        and _is_number(metadata.get("minutes", 0), 10**9)
        and isinstance(metadata.get("machine", ""), str)
        and isinstance(metadata.get("before", ""), str)
        and _are_rows(metadata.get("report"), ("player", "suite"))
        and all(_is_part(row, "mistakes") for row in metadata["report"])
        and _are_rows([metadata["weakest"]] if "weakest" in metadata else [], ("suite", "name"))
        and ("weakest" not in metadata or _is_part(metadata["weakest"], "mistakes"))
        and _are_rows(metadata.get("values", []), ("player", "suite"))
        and all(_is_part(row, "right") for row in metadata.get("values", []))
        and _are_rows(metadata.get("matches", []), ("player", "opponent"))
        and all(
            _is_count(row.get("games"), 1)
            # Files of older versions have no score of each seat.
            and all(_is_number(row.get(key, 1), 1) for key in _SEATS)
            and _is_number(row.get("score"), 1)
            for row in metadata.get("matches", [])
        )
    )
    if not good:
        raise UserError(f"{path}: its results are not as `azjax export` writes them")
    return metadata


def _are_rows(rows: Any, texts: tuple[str, ...]) -> bool:
    """Returns whether a list holds dicts with these texts."""
    return isinstance(rows, list) and all(
        isinstance(row, dict) and all(isinstance(row.get(key), str) for key in texts)
        for row in rows
    )


def _is_part(row: dict[str, Any], part: str) -> bool:
    """Returns whether a row has a number of positions, and one of a part of them."""
    return _is_count(row.get("positions"), 1) and _is_count(row.get(part), 0, row["positions"])


def _is_count(number: Any, low: int = 0, high: int = 10**15) -> bool:
    return type(number) is int and low <= number <= high


def _is_number(number: Any, high: float) -> bool:
    return type(number) in (int, float) and 0 <= number <= high
