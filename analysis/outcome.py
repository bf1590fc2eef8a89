"""What came out of a sweep, for its end on the terminal: rich networks beside the theory."""

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.overlays import beside
from analysis.points import points, shown, varying
from analysis.selection import Selection
from store.printable import printable

THEORIES = ("Eq. 3", "Bayes, generalising")
"""What rich networks are expected to attain, without noise and with it."""
MOST_ROWS = 30
COLUMNS = ["n", "mean", "low", "high", "last", "theory", "expected", "difference"]


def rich_networks(results: str, sweep: str) -> pd.DataFrame:
    """Points of a sweep's rich networks (gamma >= 1) that theory speaks of; may be empty.

    Columns: the keys, n, mean, low, high (best test accuracy, its 95% interval), last (mean of the last one), theory, expected,
    difference (mean minus expected).
    """
    selection = Selection(sweep)
    found = points(results, selection)
    said = beside(found.frame, "best_test_acc", wait=False).values
    said = said[said["theory"].isin(THEORIES)].set_index("point")
    if said.empty:
        return pd.DataFrame(columns=COLUMNS)
    frame = found.frame.join(said, how="inner").rename(columns={"value": "expected"})
    frame = frame[(frame["gamma"] >= 1) & (frame["prefactor"] == "sqrt_d")]
    last = points(results, selection, "final_test_acc").frame[[*found.keys, "mean"]].rename(columns={"mean": "last"})
    frame = frame.merge(last, on=found.keys, how="left").assign(difference=lambda f: f["mean"] - f["expected"])
    told_apart = ["d", "width", *(key for key in varying(frame, found.keys) if key not in ("d", "width", "L")), "L"]
    keys = [key for key in told_apart if key in frame]
    return frame[[*keys, *COLUMNS]].sort_values(keys, ignore_index=True)


def print_outcome(frame: pd.DataFrame, out: Console) -> None:
    """`rich_networks` as a table; where the terminal is too narrow without the intervals and the last accuracies."""
    table = _table(frame, brief=False)
    need = out.measure(table, options=out.options.update(max_width=1000)).maximum
    if need > out.width and out.is_terminal:
        table = _table(frame, brief=True)
    elif need > out.width:
        out = Console(file=out.file, width=need)  # a pipe has no width to fold to
    out.print(table)


def _table(frame: pd.DataFrame, brief: bool) -> Table:
    theories = list(dict.fromkeys(frame["theory"]))
    title = f"Best test accuracy of rich networks, mean over n seeds, beside {' and '.join(theories)} [Tong25]"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    keys = list(frame.columns[: list(frame.columns).index("n")])
    several = len(theories) > 1
    for name in keys:
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("n", "best", *(() if brief else ("95% interval", "last"))):
        table.add_column(name, justify="right", no_wrap=True)
    if several and not brief:
        table.add_column("theory", no_wrap=True)
    for name in ("expected" if several else theories[0], "difference"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in frame.head(MOST_ROWS).to_dict("records"):
        interval = f"{row['low']:.3f} to {row['high']:.3f}" if row["n"] > 1 else "one seed"
        more = [] if brief else [interval, f"{row['last']:.3f}", *([row["theory"]] if several else [])]
        beside_it = [f"{row['expected']:.3f}", f"{row['difference']:+.3f}"]
        table.add_row(*(Text(printable(shown(row[key]))) for key in keys), str(row["n"]), f"{row['mean']:.3f}", *more, *beside_it)
    if len(frame) > MOST_ROWS:
        table.caption, table.caption_justify = f"and {len(frame) - MOST_ROWS} more points: see the app or the query below", "left"
    return table
