"""`python -m analysis.outcome --sweep NAME`: means of a sweep's configurations, networks beside the theory that they should
attain, and what shows them, as JSON.

A sweep calls it at its end. `orchestrator.running.outcome_table` shows the answer.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

MOST = 1000
"""Most rows of a table that are handed over; their number is told, too."""

MOST_FIGURES = 3
"""Most figures meant for a sweep that its end names: `quick` has ten."""


def outcome(results: str, sweep: str, measures: Sequence[str]) -> dict[str, Any]:
    """The `keys` that tell the sweep's configurations apart, its networks beside the `theory` that they should
    attain, and `tables`, one for each of the measures that networks have, of all configurations (of accuracy, of all others);
    `figures` that are meant for it or show the thresholds that it searched for, and `pages` of the app about networks like
    these. `waits`: whether some of the theory is still to be computed, and left out."""
    from analysis.data.measures import measures as known_measures
    from analysis.outcome.attained import attaining
    from analysis.outcome.configurations import means_of, telling_keys  # here: help and wrong options need not wait for pandas

    keys = telling_keys(results, sweep)
    attained = attaining(results, sweep)
    tables = []
    for name in [name for name in measures if name in known_measures(results)]:  # no network may have what a grid asked for
        measure, frame = means_of(results, sweep, name, keys)
        if name == "best_test_acc":
            frame = frame.drop(index=attained.index)
        one = {"measure": name, "title": measure.title, "is_accuracy": measure.is_accuracy, "n_rows": len(frame)}
        tables += [{**one, "rows": records(frame.head(MOST))}] if len(frame) else []
    shown = {"figures": _figures(results, sweep), "pages": _pages(results, sweep)}
    return {"keys": keys, "theory": records(attained), "tables": tables, **shown, "waits": attained.attrs["waits"]}


def _figures(results: str, sweep: str) -> list[str]:
    """The figures whose grids have the sweep's name, undrawn as that takes seconds; then the papers' figures that show where a
    metric reaches a level, if the sweep searched for one and they can be drawn of it."""
    from analysis.data.questions import asked_of
    from analysis.data.selection import Selection
    from analysis.figures.registry import FIGURES, Missing, of_sweep

    own = [one.name for one in of_sweep(sweep)][:MOST_FIGURES]
    if not asked_of(results, Selection(sweep)):
        return own
    levels = [name for name, one in FIGURES.items() if one.has_level and name not in own]
    return own + [name for name in levels if not isinstance(FIGURES[name].draw(results, sweep), Missing)]


def _pages(results: str, sweep: str) -> list[str]:
    """Pages of the app that show something of this sweep, and not of every sweep with some parameter that varies."""
    from analysis.data.progress.showing import NEEDS, showing

    found = showing(results, sweep).get(sweep, frozenset())
    return [page for page, need in NEEDS.items() if page in found and not need.everyday]


def records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """The rows as plain values, None in place of NaN."""
    import pandas as pd

    return [{str(name): None if pd.isna(v) else v for name, v in row.items()} for row in frame.to_dict("records")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the answer; exit with 2 and a message on standard error if the results cannot be read."""
    parser = argparse.ArgumentParser("python -m analysis.outcome", description="The configurations of a sweep, and their means.")
    parser.add_argument("--sweep", required=True, metavar="NAME", help="the sweep whose networks are listed")
    parser.add_argument("--measure", action="append", default=[], metavar="NAME", help="a metric to average; may be repeated")
    parser.add_argument("--results", default="results", metavar="DIR_OR_URI", help="where the results are")
    asked = parser.parse_args(arguments)
    from analysis.outcome import kept
    from sweepkit.store.files import ResultsError

    try:
        question = kept.asked(asked.results, asked.sweep, asked.measure)
        found = known = question.recall()
        if found is None:
            found = outcome(asked.results, asked.sweep, asked.measure)
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 2
    waits = found.pop("waits", False)
    answer = json.dumps(found, allow_nan=False, default=_plain)
    if known is None and not waits:
        question.keep(answer)
    print(answer)
    return 0


def _plain(value: Any) -> Any:
    """Numbers of numpy as those of Python."""
    return value.item()


if __name__ == "__main__":
    sys.exit(main())
