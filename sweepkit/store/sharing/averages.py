"""A configuration as one run: means over its seeds, each with the ends of its 95% interval."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sweepkit.declarations.columns import Metric
from sweepkit.stats import FEW, mean_intervals, t_intervals, ties_of_shares
from sweepkit.store.sharing.runs import (
    SEED,
    VERSION,
    Curve,
    Named,
    Network,
    Run,
    digest,
    facts_of,
    label,
    params_of,
    seconds_of,
    telling,
)

LOW, HIGH = "low/", "high/"
"""The beginning of a name whose value is an end of the interval of the metric after it. No metric's name has a slash."""
FEW_WORDS = 3
"""The most values of a fact, as of the engine, that are listed for a configuration."""


def of_configuration(networks: Sequence[Network], named: Named, sweep: str) -> Run:
    """Networks that differ in their seed only as one run. Diverged and failed ones are counted, never averaged."""
    rows = [network.row for network in networks]
    params = {name: value for name, value in params_of(rows[0], named.keys).items() if name != SEED}
    told = telling(params, named.keys)
    good = [network for network in networks if network.row["status"] == "ok"]
    counts = {status: sum(row["status"] == status for row in rows) for status in dict.fromkeys(row["status"] for row in rows)}
    metrics: dict[str, float] = {"n": len(good), "diverged": counts.get("diverged", 0)}
    for name, metric in named.metrics.items():
        values = [{0: float(network.row[name])} for network in good if network.row[name] is not None]
        metrics |= {key: curve[0] for key, curve in _averaged(metric, values, params).items()}
    curves: dict[str, Curve] = {}
    for name, metric in named.curves.items():
        curves |= _averaged(metric, [network.curves.get(name, {}) for network in good], params)
    status = ", ".join(f"{n} {name}" for name, n in counts.items()) if len(counts) > 1 else rows[0]["status"]
    seeds = [str(row[SEED]) for row in rows]
    times = [seconds_of(row) for row in rows]
    identity = digest(["configuration", told, rows[0][VERSION]])
    return Run(
        identity=identity,
        name=f"{label(params, named.keys)} {identity[:8]}",
        params=params,
        metrics=metrics,
        curves=curves,
        tags={
            **_common([facts_of(row) for row in rows]),
            "configuration": identity, "sweep": sweep, "per": "configuration", "status": status,
            "seeds": ", ".join(seeds), "cell_ids": " ".join(row["cell_id"] for row in rows),
        },
        telling={**told, "cell_ids": digest([row["cell_id"] for row in rows])},
        succeeded=len(good) == len(rows),
        started=min(start for start, _ in times),
        ended=max(end for _, end in times),
    )  # fmt: skip


def _common(facts: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The facts of several networks, each different one once. Those with more than FEW_WORDS are left out, except reasons."""
    values: dict[str, dict[str, None]] = {}
    for fact in facts:
        for name, value in fact.items():
            values.setdefault(name, {})[value] = None
    return {name: "; ".join(each) for name, each in values.items() if len(each) <= FEW_WORDS or name == "reason"}


def _test_size(metric: Metric, params: Mapping[str, Any]) -> int | None:
    """Number of test examples behind an accuracy; None where the keys do not tell it."""
    at_end = params.get("final_test_size") if metric.name.startswith("final_") else None
    return at_end or params.get("test_size")


def _averaged(metric: Metric, curves: Sequence[Curve], params: Mapping[str, Any]) -> dict[str, Curve]:
    """Mean, low and high at each step, by name, over the networks that have a finite value there. Empty if none has."""
    steps = sorted({step for curve in curves for step, value in curve.items() if np.isfinite(value)})
    if not steps:
        return {}
    values = np.array([[curve.get(step, np.nan) for step in steps] for curve in curves])
    known = np.isfinite(values)
    n = known.sum(0)
    filled = np.where(known, values, 0.0)
    mean = filled.sum(0) / n
    several = np.maximum(n - 1, 1)
    sd = np.sqrt((np.where(known, values - mean, 0.0) ** 2).sum(0) / several)
    bounds = (metric.low, metric.high)
    many = np.flatnonzero((n >= FEW) & (sd > 0))  # seeds that tie have no spread to draw from again
    if metric.is_accuracy and (size := _test_size(metric, params)):
        sd = np.where(sd == 0, ties_of_shares(mean, size), sd)
    low, high = t_intervals(mean, sd, n, bounds=bounds)
    low[many], high[many] = mean_intervals([values[known[:, i], i] for i in many], bounds)
    found = {metric.name: mean, LOW + metric.name: low, HIGH + metric.name: high}
    return {
        name: curve
        for name, column in found.items()
        if (curve := {step: float(value) for step, value in zip(steps, column, strict=True) if np.isfinite(value)})
    }
