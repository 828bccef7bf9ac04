"""A player's card: how it was trained, how strong it is, and what it is bad at.

The card is written when the player is exported. Whoever loads the file shows the text as it is.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

from azjax.config import PlayerConfig
from azjax.errors import UserError, printable
from azjax.runs.metrics import training_time
from azjax.runs.recorded_games import count_games

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
_TEXTS = {"card", "short", "training", "beginner"}
_MAX_LETTERS = 100_000  # of a text


def run_metadata(
    run_dir: Path, cycle: int | None, config: PlayerConfig, *, before: str = ""
) -> dict[str, str]:
    """Returns what a player's file keeps of its run, as texts; see `card_texts`.

    The results are those of the run's report, if it is about this checkpoint.

    Args:
      before: the training of the player that the run began with, where there was one.

    Raises:
      UserError: the report is not as `azjax report` writes it.
    """
    results: dict[str, Any] = {"cycles": cycle, "before": before, "report": [], "matches": []}
    results["games"] = count_games(run_dir)
    seconds, results["machine"] = training_time(run_dir, cycle)
    if seconds:
        results["minutes"] = seconds / 60
    file = run_dir / "report.json"
    try:
        if file.is_file():
            written = json.loads(file.read_text(encoding="utf-8-sig"))
            if written.get("cycle") == cycle:
                written["players"] = written["players"][:2]  # with search, and without
                results |= report_results(written)
        return card_texts(config, results)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise UserError(
            f"{file}: not as `azjax report` writes it; delete it, or write it again with "
            f"`azjax report {quote(str(run_dir))}`"
        ) from error


def card_texts(config: PlayerConfig, results: dict[str, Any]) -> dict[str, str]:
    """Returns the texts about a player.

    Args:
      results: "cycles" or the whole text "training", "report" and "matches", and where they are
        known "games" (recorded ones that it learned from), "minutes", "machine", "before", "values"
        and "weakest"; see `report_results`.

    Returns:
      "training", how long and where; if there was a training or there are results, "card", a
      sentence for people and lines with all details, and "short", the headline, strength, training
      and weakness, a sentence on each line; and "beginner", the result that shows a player with
      search to be one. A beginner scored at most a tenth of the points against some engine.
    """
    texts = {"training": _training(results)}
    if any(value for key, value in results.items() if key != "machine"):
        texts["card"] = "\n".join(_lines(config, results))
        sentences = [*_strength(results), f"trained for {_training(results)}"]
        if weakness := _weakness(results):
            sentences.append(f"weakest: {weakness}")
        if headline := _headline(results):
            sentences.insert(0, headline)
        texts["short"] = "\n".join(f"{text[:1].upper()}{text[1:]}." for text in sentences)
    if match := _lost_to_an_engine(results):
        texts["beginner"] = f"{_match_text(match)}, {_how(match['player'])}"
    return texts


def checked_texts(path: str | Path, metadata: dict[str, Any]) -> dict[str, str]:
    """Returns what a file tells of its player, if these are texts."""
    told = [metadata[key] for key in metadata if key in _TEXTS]
    if all(isinstance(text, str) and len(text) <= _MAX_LETTERS for text in told):
        return metadata
    raise UserError(f"{path}: its results are not as `azjax export` writes them")


def shown(text: str) -> str:
    """Returns a text of several lines, which no terminal obeys."""
    return "\n".join(map(printable, text.split("\n")))


def _headline(results: dict[str, Any]) -> str:
    """Returns a player's strength in a few words: "as strong as UCT-1000, with 64 simulations".

    It is the result of the match with the most simulations, or of one that shows a beginner.
    Without matches, and of a perfect player, it is the number of mistakes in the first position
    suite. Of a game of chance it is what moves give up there. Without results it is "".
    """
    if _is_perfect(results):
        score = results["report"][0]
        positions = f"{score['positions']:,} {score['suite'].removeprefix('all ')}"
        return f"makes no mistake in any of the {positions}, {_how(score['player'])}"
    if lost := _lost_to_an_engine(results):
        return f"a beginner that {_outcome(lost)}"
    if results["report"] and "loss" in results["report"][0]:
        score = results["report"][0]
        return f"gives up {_loss_text(score)}, {_how(score['player'])}"
    if matches := results["matches"]:
        # A longer name has more simulations.
        return _outcome(max(matches, key=lambda x: (len(x["player"]), x["player"])))
    if results["report"]:
        score = results["report"][0]
        mistakes = f"{score['mistakes'] or 'no'} mistake{'s' * (score['mistakes'] != 1)}"
        positions = f"{score['positions']:,} {re.sub(r' [(].*?[)]', '', score['suite'])}"
        return f"made {mistakes} in {positions}, {_how(score['player'])}"
    return ""


def _is_perfect(results: dict[str, Any]) -> bool:
    """Returns whether a player makes no mistake in any position of its game."""
    first = next(iter(results["report"]), None)
    return first is not None and first["suite"].startswith("all ") and not first["mistakes"]


def _strength(results: dict[str, Any]) -> list[str]:
    """Returns a player's results as texts, one for each way in which it plays.

    They are such as "with 64 simulations: 99.0% of ...; 100.0% of the points ...". Each has the
    first position suite, all values and all matches.
    """
    texts: dict[str, list[str]] = {}
    for score in results["report"]:
        if score["player"] not in texts:
            texts[score["player"]] = [_score_text(score)]
    for values in results.get("values", ()):
        texts.setdefault(values["player"], []).append(_values_text(values))
    for match in results["matches"]:
        texts.setdefault(match["player"], []).append(_match_text(match))
    return [f"{_how(name)}: {'; '.join(found)}" for name, found in texts.items()]


def _weakness(results: dict[str, Any]) -> str:
    """Returns the weakest class of positions as text; "" if it is not known.

    Without a mistake in any class it is the wrong values of first moves, by search. Without wrong
    values it is the seat, first or second, with the worst score in matches by search. A perfect
    player has none.
    """
    if _is_perfect(results):
        return ""
    if weak := results.get("weakest"):
        share = weak["mistakes"] / weak["positions"]
        return f"mistakes in {share:.1%} of {weak['name']}, {weak['suite']}"
    for values in results.get("values", ()):
        wrong = values["positions"] - values["right"]
        if wrong and values["player"].startswith("search"):
            text = f"values of {values['suite']} wrong in {wrong} of {values['positions']}"
            return f"{text}, {_how(values['player'])}"
    seats = [
        (match[seat], f"moving {seat} against {match['opponent']}, {_how(match['player'])}")
        for match in results["matches"]
        if match["player"].startswith("search")
        for seat in _SEATS
        if match[seat] < 1
    ]
    if not seats:
        return ""
    score, seat = min(seats)
    return f"{score:.1%} of the points {seat}"


def _lost_to_an_engine(results: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the first match of a player with search that shows it to be a beginner, if any."""
    for match in results["matches"]:
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
    elif points := match.get("points"):
        verb = f"{'won' if points > 0 else 'lost'} {abs(points):.2f} points a game"
        result = f"{verb} {'from' if points > 0 else 'to'}"
    elif _EQUAL[0] <= score <= _EQUAL[1]:
        result = "as strong as"
    return f"{result} {opponent}, {_how(match['player'])}"


def _lines(config: PlayerConfig, results: dict[str, Any]) -> Iterator[str]:
    network = config.network
    dense = network.architecture == "mlp"
    kind = "residual mlp" if dense and network.residual else network.architecture
    sizes = f"{network.blocks} x {network.channels} {kind}"
    if network.convolutions and dense:
        sizes += f" after {network.convolutions} convolutions of {network.filters}"
    headline, training = _headline(results), _training(results)
    if headline.startswith(("a ", "as ")):
        headline = f"is {headline}"
    yield f"{config.game.name} {headline or f'was trained for {training}'}."
    yield f"{config.game.name}: a {sizes}, trained for {training}"
    for score in results["report"]:
        yield f"{score['player']}: {_score_text(score)}"
    if weakness := _weakness(results):
        yield f"weakest: {weakness}"
    for values in results.get("values", ()):
        yield f"{values['player']}: {_values_text(values)}"
    for match in results["matches"]:
        yield f"{match['player']}: {_match_text(match)}"


def _loss_text(score: dict[str, Any]) -> str:
    return f"{score['loss']:.3%} of the points a move in {score['positions']:,} {score['suite']}"


def _score_text(score: dict[str, Any]) -> str:
    if "loss" in score:
        return f"{_loss_text(score)} given up"
    share = 1 - score["mistakes"] / score["positions"]
    positions = f"{score['positions']:,} {score['suite']}"
    if score["suite"].startswith("all reachable "):
        positions = f"all {score['positions']:,} {score['suite'].removeprefix('all ')}"
    return f"{share:.1%} of {positions} without a mistake"


def _values_text(values: dict[str, Any]) -> str:
    return f"values of {values['suite']} right in {values['right']} of {values['positions']}"


def _match_text(match: dict[str, Any]) -> str:
    games, won = f"{match['games']} games against {match['opponent']}", f"{match['score']:.1%}"
    if "points" in match:
        return f"{match['points']:+.3f} points a game in {games}, of which it won {won}"
    return f"{won} of the points in {games}"


def _how(name: str) -> str:
    """Returns how a network plays, by the player's name: "with 64 simulations" for "search:64"."""
    kind, _, number = name.partition(":")
    if kind == "search" and number:
        return f"with {number} simulations"
    return f"{name} alone" if name in ("policy", "value") else name


def _training(results: dict[str, Any]) -> str:
    """Returns how long a player was trained and where: "2800 cycles in 38 minutes on 2 x cpu"."""
    if "training" in results:
        return results["training"]
    how = f"{results['cycles']} cycles"
    if games := results.get("games"):
        how += f" with {games:,} recorded game{'s' * (games != 1)}"
    if "minutes" in results:
        how += f" in {results['minutes']:,.0f} minutes"
    if results.get("machine"):
        how += f" on {results['machine']}"
    if results.get("before"):
        how += f", after {results['before']}"
    return how


def report_results(report: dict[str, Any]) -> dict[str, Any]:
    """Returns the results of an evaluation report that a card tells, of all its players."""
    scores, values, matches = [], [], []
    for player in report["players"]:
        suites = {score["suite"] for score in player["scores"]}
        for score in player["scores"]:
            kept = {k: score[k] for k in ("suite", "positions", "mistakes")}
            if score.get("expected"):
                kept["loss"] = score["loss"]
            scores.append({"player": player["name"], **kept})
        for value in player["values"]:
            # Those of suites tell little: a wrong value may still lead to the right move. That of
            # the start alone tells little, too.
            if value["positions"] > 1 and value["suite"] not in suites:
                kept = {k: value[k] for k in ("suite", "positions", "right")}
                values.append({"player": player["name"], **kept})
        for match in player["matches"]:
            kept = {k: match[k] for k in ("games", "score")}
            if match.get("points") is not None:
                kept["points"] = match["points"]
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
