"""The networks of a sweep that should attain a theory, beside it."""

import pandas as pd

from analysis.data.points import points, varying
from analysis.data.selection import Selection
from analysis.overlays.overlays import beside
from analysis.overlays.registry import THEORIES

MEASURE = "best_test_acc"
COLUMNS = ["n", "mean", "low", "high", "last", "theory", "expected", "difference", "networks", "source"]


def attaining(results: str, sweep: str) -> pd.DataFrame:
    """Points of a sweep's networks that should attain a theory (`Theory.attained`); may be empty.

    Columns: the keys, n, mean, low, high (best test accuracy, its 95% interval), last (mean accuracy of the last evaluation),
    theory, expected, difference (mean minus expected), networks (which these are, in words), source (of the theory). The index is
    that of all points of the sweep. `attrs["waits"]`: whether values of such a theory are still to be computed, and left out.
    """
    selection = Selection(sweep)
    found = points(results, selection)
    attained = {one.name: one for one in THEORIES.values() if one.attained and MEASURE in one.measures}
    said, missing = beside(found.frame, MEASURE, wait=False, only=attained)
    waits = {"waits": bool(missing)}
    said = said.set_index("point")
    if said.empty:
        return _with(pd.DataFrame(columns=COLUMNS), waits)
    frame = found.frame.join(said, how="inner").rename(columns={"value": "expected"})
    parts = []
    for name, of in frame.groupby("theory", sort=False):
        one = attained[str(name)]
        assert one.attained
        parts.append(of[one.attained.where(of)].assign(networks=one.attained.networks, source=one.source))
    frame = pd.concat(parts).sort_index()
    last = points(results, selection, "final_test_acc").frame[[*found.keys, "mean"]].rename(columns={"mean": "last"})
    frame = frame.merge(last, on=found.keys, how="left").set_axis(frame.index)  # a merge counts the rows anew, in their order
    frame = frame.assign(difference=frame["mean"] - frame["expected"])
    told_apart = ["d", "width", *(key for key in varying(frame, found.keys) if key not in ("d", "width", "L")), "L"]
    keys = [key for key in told_apart if key in frame]
    return _with(frame[[*keys, *COLUMNS]].sort_values(keys), waits)


def _with(frame: pd.DataFrame, attrs: dict[str, bool]) -> pd.DataFrame:
    frame.attrs.update(attrs)
    return frame
