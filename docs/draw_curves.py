"""Draws the curves of recorded trainings: python docs/draw_curves.py"""

import json
from pathlib import Path

from azjax.runs.plots import FigureCanvasAgg, mistakes_by_class

DOCS = Path(__file__).parent
RECORD = DOCS.parent / "benchmarks" / "results" / "connect_four_2_cores" / "curve.jsonl"


def main() -> None:
    """Draws connect four's mistakes by class of positions."""
    lines = [json.loads(line) for line in RECORD.read_text().splitlines()]
    # The record has evaluations only. Their cycles and times are enough for the axes.
    cycles = [{"kind": "cycle", "cycle": x["cycle"], "time_s": x["time_s"]} for x in lines]
    figure = mistakes_by_class([*cycles, *lines])
    assert figure is not None
    FigureCanvasAgg(figure).print_png(DOCS / "images" / "mistakes_by_class.png")


if __name__ == "__main__":
    main()
