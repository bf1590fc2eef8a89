"""The rich networks of a sweep beside the theory."""

import pandas as pd
from sweepkit.studies.tong25.theory.of_same_different import EQ3, GENERALISING, is_rich

from analysis.data.points import points, varying
from analysis.data.selection import Selection
from analysis.overlays.overlays import beside

THEORIES = (EQ3, GENERALISING)
"""The theories that rich networks are expected to attain, without noise and with it."""
COLUMNS = ["n", "mean", "low", "high", "last", "theory", "expected", "difference"]


def rich_networks(results: str, sweep: str) -> pd.DataFrame:
    """Points of a sweep's rich networks that theory applies to; may be empty.

    Columns: the keys, n, mean, low, high (best test accuracy, its 95% interval), last (mean accuracy of the last evaluation),
    theory, expected, difference (mean minus expected). The index is that of all points of the sweep.
    """
    selection = Selection(sweep)
    found = points(results, selection)
    said = beside(found.frame, "best_test_acc", wait=False).values
    said = said[said["theory"].isin(THEORIES)].set_index("point")
    if said.empty:
        return pd.DataFrame(columns=COLUMNS)
    frame = found.frame.join(said, how="inner").rename(columns={"value": "expected"})
    frame = frame[is_rich(frame)]
    last = points(results, selection, "final_test_acc").frame[[*found.keys, "mean"]].rename(columns={"mean": "last"})
    frame = frame.merge(last, on=found.keys, how="left").set_axis(frame.index)  # a merge counts the rows anew, in their order
    frame = frame.assign(difference=frame["mean"] - frame["expected"])
    told_apart = ["d", "width", *(key for key in varying(frame, found.keys) if key not in ("d", "width", "L")), "L"]
    keys = [key for key in told_apart if key in frame]
    return frame[[*keys, *COLUMNS]].sort_values(keys)
