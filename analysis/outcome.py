"""What came out of a sweep, for its end on the terminal: rich networks beside the theory."""

from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table

from analysis.overlays import beside
from analysis.points import points, shown, varying
from analysis.selection import Selection

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


def outcome_table(frame: pd.DataFrame) -> Table:
    """`rich_networks` for the terminal, its first MOST_ROWS rows."""
    theories = list(dict.fromkeys(frame["theory"]))
    title = f"Best test accuracy of rich networks, mean over n seeds, beside {' and '.join(theories)} [Tong25]"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    keys = list(frame.columns[: list(frame.columns).index("n")])
    several = ["theory"] if len(theories) > 1 else []
    for name in (*keys, "n", "best", "95% interval", "last", *several, theories[0] if not several else "expected", "difference"):
        table.add_column(name, justify="left" if name == "theory" else "right", no_wrap=True)
    for row in frame.head(MOST_ROWS).to_dict("records"):
        table.add_row(*_cells(row, keys, several))
    if len(frame) > MOST_ROWS:
        table.caption, table.caption_justify = f"and {len(frame) - MOST_ROWS} more points: see the app or the query below", "left"
    return table


def _cells(row: dict[Any, Any], keys: list[str], several: list[str]) -> list[str]:
    interval = f"{row['low']:.3f} to {row['high']:.3f}" if row["n"] > 1 else "one seed"
    numbers = [f"{row['mean']:.3f}", interval, f"{row['last']:.3f}"]
    beside_it = [f"{row['expected']:.3f}", f"{row['difference']:+.3f}"]
    return [*(shown(row[key]) for key in keys), str(row["n"]), *numbers, *(row[name] for name in several), *beside_it]
