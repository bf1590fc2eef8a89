"""Verdicts: whether a measurement confirms a claim, contradicts it or leaves it open, or whether nothing measures it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from analysis.claims.entries import Claim, Expected
from sweepkit.stats import Interval

Verdict = Literal["confirmed", "contradicted", "not enough data", "not measured"]
VERDICTS: tuple[Verdict, ...] = ("confirmed", "contradicted", "not enough data", "not measured")
JUDGES = (
    "analysis/claims", "analysis/data", "analysis/overlays", "analysis/scaling", "analysis/studies", "analysis/theory",
    "sweepkit/declarations", "sweepkit/stats", "sweepkit/store", "sweepkit/strings",
)  # fmt: skip
"""Rooms of the core whose code a verdict depends on, besides the networks and its study."""


class Again(NamedTuple):
    """A sweep of the claim's grid that may decide it: axes with the values that replace those of the grid, and values that choose
    among its networks."""

    replaced: Mapping[str, str]
    only: Mapping[str, str]


class Measured(NamedTuple):
    """A value with its 95% interval; `what` says in words which networks or draws it comes from."""

    interval: Interval
    what: str
    again: Again | None = None
    """A sweep that may decide the claim: of more seeds, or of longer chains (`networks.Networks.again`)."""


class NotMeasured(NamedTuple):
    """Why there is no value."""

    why: str


class Checked(NamedTuple):
    """A claim with its verdict."""

    claim: Claim
    verdict: Verdict
    measured: Measured | NotMeasured
    why: str
    """The verdict in a few words."""
    sweeps: tuple[str, ...] = ()
    """The sweeps whose networks it rests on."""


def judge(expected: Expected, interval: Interval) -> tuple[Verdict, str]:
    """The verdict and its reason: confirmed if the whole interval lies in the expected region, contradicted if all of it lies
    outside.

    Otherwise more data must decide. A single value has no interval and decides nothing.
    """
    low, high = expected.region
    if np.isnan(interval.value) or np.isnan(interval.low) or np.isnan(interval.high):
        return "not enough data", "no interval: more seeds are needed"
    if low <= interval.low and interval.high <= high:
        return "confirmed", "the 95% interval lies within what is expected"
    if interval.high < low or high < interval.low:
        return "contradicted", "the 95% interval lies outside what is expected"
    return "not enough data", "the 95% interval reaches across the edge of what is expected: more seeds would decide"
