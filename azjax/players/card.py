"""A player's card: how it was trained, how strong it is, and what it is bad at."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from azjax.config import Config
from azjax.errors import UserError, printable
from azjax.runs.metrics import training_time

_FEW = 20  # positions, of which a share says little
_SEATS = ("first", "second")
_EQUAL = (0.45, 0.55)  # scores against an opponent of the same strength
_OPPONENTS = {
    "gtp:gnugo --level ": "GNU Go at level ",
    "uci:fairy-stockfish?depth=": "Fairy-Stockfish at depth ",
    "uct:": "UCT-",
}
_TOLD = ("cycles", "minutes", "before", "report", "weakest", "values", "matches")


def about_run(run_dir: Path, cycle: int | None, *, before: str = "") -> dict[str, Any]:
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
    about: dict[str, Any] = {"cycles": cycle, "report": [], "matches": []}
    seconds, machine = training_time(run_dir, cycle)
    if seconds:
        about["minutes"] = round(seconds / 60, 1)
    if machine:
        about["machine"] = machine
    if before:
        about["before"] = before
    file = run_dir / "report.json"
    if not file.is_file():
        return about
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
        if written.get("cycle") == cycle:
            about |= _results(written)
        return checked_about(file, about)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(
            f"{file}: not as `azjax report` writes it; delete it, or write it again with "
            f"`azjax report {run_dir}`"
        ) from error


def describe_player(config: Config, about: dict[str, Any]) -> str:
    """Returns the card of a player as text of a few lines; "" if its file tells of no training."""
    if not any(about.get(key) for key in _TOLD):
        return ""
    return "\n".join(printable(line) for line in _lines(config, about))


def describe_in_short(about: dict[str, Any]) -> str:
    """Returns a player's strength, training and weakness, a sentence on each line.

    The first line is the headline, if there are results. It is "" if the file tells of no training.
    """
    if not any(about.get(key) for key in _TOLD):
        return ""
    sentences = [*describe_strength(about), f"trained for {describe_training(about)}"]
    if weakness := describe_weakness(about):
        sentences.append(f"weakest: {weakness}")
    if headline := describe_headline(about):
        sentences.insert(0, headline)
    return "\n".join(f"{text[:1].upper()}{text[1:]}." for text in map(printable, sentences))


def describe_headline(about: dict[str, Any]) -> str:
    """Returns a player's strength in a few words: "as strong as UCT-1000, with 64 simulations".

    It is the result of the match with the most simulations. Without matches it is the number of
    mistakes in the first position suite; without results it is "".
    """
    if matches := about.get("matches"):
        # A longer name has more simulations.
        match = max(matches, key=lambda x: (len(x["player"]), x["player"]))
        score, opponent = match["score"], match["opponent"]
        for code, name in _OPPONENTS.items():
            if opponent.startswith(code):
                opponent = name + opponent.removeprefix(code)
        if score == 1:
            result = f"won all {match['games']} games against"
        elif _EQUAL[0] <= score <= _EQUAL[1]:
            result = "as strong as"
        else:
            result = f"scored {score:.1%} against"
        return printable(f"{result} {opponent}, {_how(match['player'])}")
    if about["report"]:
        score = about["report"][0]
        mistakes = f"{score['mistakes'] or 'no'} mistake{'s' * (score['mistakes'] != 1)}"
        positions = f"{score['positions']:,} {re.sub(r' [(].*?[)]', '', score['suite'])}"
        return printable(f"made {mistakes} in {positions}, {_how(score['player'])}")
    return ""


def describe_strength(about: dict[str, Any]) -> list[str]:
    """Returns a player's results as texts, one for each way in which it plays.

    They are such as "with 64 simulations: 99.0% of ...; 100.0% of the points ...". Each has the
    first position suite, all values and all matches.
    """
    results: dict[str, list[str]] = {}
    for score in about["report"]:
        if score["player"] not in results:
            results[score["player"]] = [_score_text(score)]
    for values in about.get("values", ()):
        results.setdefault(values["player"], []).append(_values_text(values))
    for match in about.get("matches", ()):
        results.setdefault(match["player"], []).append(_match_text(match))
    return [printable(f"{_how(name)}: {'; '.join(texts)}") for name, texts in results.items()]


def describe_weakness(about: dict[str, Any]) -> str:
    """Returns the weakest class of positions as text; "" if it is not known.

    Without a mistake in any class it is the wrong values of first moves, by search. Without wrong
    values it is the seat, first or second, with the worst score in matches by search.
    """
    if "weakest" in about:
        weak = about["weakest"]
        share = weak["mistakes"] / weak["positions"]
        return printable(f"mistakes in {share:.1%} of {weak['name']}, {weak['suite']}")
    for values in about.get("values", ()):
        wrong = values["positions"] - values["right"]
        if wrong and values["player"].startswith("search"):
            text = f"values of {values['suite']} wrong in {wrong} of {values['positions']}"
            return printable(f"{text}, {_how(values['player'])}")
    seats = [
        (match[seat], f"moving {seat} against {match['opponent']}, {_how(match['player'])}")
        for match in about.get("matches", ())
        if match["player"].startswith("search")
        for seat in _SEATS
        if match.get(seat, 1) < 1
    ]
    if not seats:
        return ""
    score, seat = min(seats)
    return printable(f"{score:.1%} of the points {seat}")


def _lines(config: Config, about: dict[str, Any]) -> Iterator[str]:
    network = config.network
    dense = network.architecture == "mlp"
    kind = "residual mlp" if dense and network.residual else network.architecture
    sizes = f"{network.blocks} x {network.channels} {kind}"
    if network.convolutions and dense:
        sizes += f" after {network.convolutions} convolutions of {network.filters}"
    yield f"{config.game.name}: a {sizes}, trained for {describe_training(about)}"
    for score in about["report"]:
        yield f"{score['player']}: {_score_text(score)}"
    if weakness := describe_weakness(about):
        yield f"weakest: {weakness}"
    for values in about.get("values", ()):
        yield f"{values['player']}: {_values_text(values)}"
    for match in about.get("matches", ()):
        yield f"{match['player']}: {_match_text(match)}"


def _score_text(score: dict[str, Any]) -> str:
    share = 1 - score["mistakes"] / score["positions"]
    return f"{share:.1%} of {score['positions']:,} {score['suite']} without a mistake"


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


def describe_training(about: dict[str, Any]) -> str:
    """Returns how long a player was trained and where: "2800 cycles in 38 minutes on 2 x cpu"."""
    how = f"{about['cycles']} cycles"
    # Files of older versions do not have the rest.
    if "minutes" in about:
        how += f" in {about['minutes']:,.0f} minutes"
    if "machine" in about:
        how += f" on {about['machine']}"
    if "before" in about:
        how += f", after {about['before']}"
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


def checked_about(path: str | Path, about: Any) -> dict[str, Any]:
    """Returns what a file tells of its player, if it is as `about_run` makes it."""
    good = (
        isinstance(about, dict)
        and (about.get("cycles", 0) is None or _is_count(about.get("cycles")))
        and _is_number(about.get("minutes", 0), 10**9)
        and isinstance(about.get("machine", ""), str)
        and isinstance(about.get("before", ""), str)
        and _are_rows(about.get("report"), ("player", "suite"))
        and all(_is_part(row, "mistakes") for row in about["report"])
        and _are_rows([about["weakest"]] if "weakest" in about else [], ("suite", "name"))
        and ("weakest" not in about or _is_part(about["weakest"], "mistakes"))
        and _are_rows(about.get("values", []), ("player", "suite"))
        and all(_is_part(row, "right") for row in about.get("values", []))
        and _are_rows(about.get("matches", []), ("player", "opponent"))
        and all(
            _is_count(row.get("games"), 1)
            # Files of older versions have no score of each seat.
            and all(_is_number(row.get(key, 1), 1) for key in _SEATS)
            and _is_number(row.get("score"), 1)
            for row in about.get("matches", [])
        )
    )
    if not good:
        raise UserError(f"{path}: its results are not as `azjax export` writes them")
    return about


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
