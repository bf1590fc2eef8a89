"""How many networks at equilibrium did not mix, as captions say it."""

import pandas as pd

from analysis.data.points import Points


def unmixed(points: pd.DataFrame, told: Points) -> str:
    """Words such as `3 of which did not mix`, about the networks of points; empty if all of them mixed or are not at equilibrium.

    told: the points of the measure `unmixed`.
    """
    keys = [key for key in told.keys if key in points]
    if told.frame.empty or not keys:
        return ""
    found = points[keys].drop_duplicates().merge(told.frame, on=keys)
    n = round(float((found["mean"] * found["n"]).sum()))
    return f"{n} of which did not mix" if n else ""
