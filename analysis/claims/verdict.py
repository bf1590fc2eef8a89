"""Verdicts: whether a measurement confirms a claim, contradicts it or leaves it open, or whether nothing measures it.

`not reproduced`: contradicted in a setting of ours that the entry says differs from the source's. `identity`: as expected, and
nothing but a mistake in code could have it otherwise, so that it confirms nothing.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np

from analysis.claims.entries import Claim, Expected
from sweepkit.stats import LEAST_APART, LEAST_NETWORKS, Interval, least_equal

Verdict = Literal[
    "confirmed", "in part", "contradicted", "not reproduced", "open", "needs files", "formulas lost", "not measured", "identity"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""In the order of every table. A statement with instances holds `in part` where some are confirmed and others are not."""
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


def marks(claim: Claim) -> dict[str, str]:
    """The words that mark a verdict on the claim as weaker than it reads, each with what it stands for."""
    given = {"identity": claim.identity, "fitted": claim.fitted, "after a look": claim.after_look}
    return {mark: words for mark, words in given.items() if words}


def verdict_on(claim: Claim, expected: Expected, interval: Interval) -> tuple[Verdict, str]:
    """The verdict on a claim, which has these expected values, and its reason."""
    verdict, why = judge(expected, interval)
    why = why.replace("95%", f"{1 - 0.05 / claim.looks:.1%}") if claim.looks > 1 else why
    if verdict == "confirmed" and claim.identity:
        return "identity", f"as it must be: {claim.identity}"
    if few := too_few(interval):
        return "open", few
    why = "; ".join(filter(None, (why, _of_spread(interval))))
    if verdict == "contradicted" and claim.other_setting:
        return "not reproduced", f"{why}; our setting differs: {claim.other_setting}"
    return verdict, why


def too_few(interval: Interval) -> str:
    """Why the networks are too few for a verdict; empty where they are not."""
    if interval.n < LEAST_NETWORKS:
        return f"{interval.n} of the {LEAST_NETWORKS} networks that a verdict takes"
    if interval.spread == "equal" and interval.n < LEAST_APART:
        return f"{interval.n} of the {LEAST_APART} networks that a verdict takes where all values are equal"
    return ""


def _of_spread(interval: Interval) -> str:
    """Words that the spread of the values adds to a verdict."""
    if interval.spread == "equal":
        return f"all {interval.n} values are equal, so that at most {least_equal(interval.n):.0%} of networks have others"
    if interval.spread == "two groups":
        return "the values fall into two groups, whose shares so few do not tell: the interval holds them all"
    return ""


def distance(one: Checked) -> float | None:
    """The distance of the value from the one stated, as a share of the tolerance on that side.

    None without a value, where only a bound is stated, or where the tolerance on that side has no end.
    """
    expected = one.claim.expected
    stated = expected.equal if expected and one.claim.law is None else one.claim.law
    if expected is None or stated is None or not isinstance(one.measured, Measured):
        return None
    (low, high), value = expected.region, one.measured.interval.value
    room = high - stated if value > stated else stated - low
    return abs(value - stated) / room if np.isfinite(room) and room > 0 else None


def judge(expected: Expected, interval: Interval) -> tuple[Verdict, str]:
    """The verdict and its reason: confirmed if the whole interval lies in the expected region, contradicted if all of it lies
    outside.

    Otherwise more data must decide. A single value has no interval and decides nothing.
    """
    low, high = expected.region
    if np.isnan(interval.value) or np.isnan(interval.low) or np.isnan(interval.high):
        return "open", "no interval: more seeds are needed"
    if low <= interval.low and interval.high <= high:
        return "confirmed", "the 95% interval lies within what is expected"
    if interval.high < low or high < interval.low:
        return "contradicted", "the 95% interval lies outside what is expected"
    return "open", "the 95% interval reaches across the edge of what is expected: more seeds would decide"
