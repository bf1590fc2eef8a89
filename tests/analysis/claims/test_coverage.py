"""How often 95% intervals of few networks hold the value that all networks of a large pool have: pools of networks of evidence/.

Networks are drawn from their pool with replacement, seed by seed, so that the points of a seed stay together; the pool's value is
the truth. Each share stands as it was measured on 2026-11-30, also where it is less than the interval says. The truth of an
optimum lies on the grid of its interval, so that the error of the grid is in the interval alone.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.fluctuations import kinds as fluctuations
from sweepkit.studies.fluctuations.outputs import fall_of_means
from sweepkit.studies.variance_limit import kinds as variance_limit
from sweepkit.studies.variance_limit.onset import onset

from analysis.claims.check import load_claims
from analysis.claims.kinds import KINDS, measuring, optimum, pairs, ratios
from analysis.claims.kinds.measuring import by_point
from analysis.claims.networks_used import networks
from analysis.claims.verdict import Measured
from analysis.scaling.thresholds import thresholds
from sweepkit.shipped import ROOT
from sweepkit.stats import LEAST_APART, Interval

EVIDENCE = str(ROOT / "evidence")
CLAIMS = {claim.id: claim for claim in load_claims()}
DRAWS = 200
MODULES = (measuring, optimum, pairs, ratios)
"""Modules of kinds, each with its name for `networks`."""

pytestmark = pytest.mark.slow


def is_covered(measured: float, truth: float, drawn: Callable[[np.random.Generator], Interval | None]) -> None:
    """The intervals drawn hold the truth as often as was measured."""
    found = [interval for i in range(DRAWS) if (interval := drawn(np.random.default_rng(i)))]
    assert len(found) > 0.9 * DRAWS
    share = np.mean([one.low <= truth <= one.high for one in found])
    assert share == pytest.approx(measured, abs=0.011)  # the draws are the same each time: two of 200, for other libraries


def redrawn(frame: pd.DataFrame, key: str, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """The rows of n values of a key, drawn from all, each with a value of its own."""
    of = dict(list(frame.groupby(key)))
    return pd.concat([of[one].assign(**{key: new}) for new, one in enumerate(rng.choice(list(of), n))], ignore_index=True)


@pytest.mark.parametrize(
    ("claim", "n", "measured"),
    [
        ("eq3-error-100-L8", 6, 0.94),  # the logarithm of a mean error
        ("encoded-clusters-gap", 6, 0.945),  # differences within networks' pairs
        ("power-law-examples-0.5", 6, 0.99),  # a line through all networks
        ("nc1-grows", 6, 0.96),
        ("power-law-features-1.5", 6, 0.87),  # slopes of each seed
        ("double_descent-below", 6, 0.925),  # a ratio to theory at several points
        ("sinit-turns", 6, 0.99),  # two intervals at 97.5% that must both hold
        ("rate-transfer-mup", 6, 0.995),  # an optimum, with the grid's spacing
        ("double_descent-place", 6, 1.0),
        ("transition-d", 6, 1.0),  # an exponent of thresholds, of six seeds drawn from six
        # One of 48 networks fails: most samples hold none that does, and no interval can tell.
        ("copy-with-identities-256", 6, 0.63),
    ],
)
def test_an_interval_covers_the_pools_value(claim, n, measured, monkeypatch):
    arguments, known, drawing = dict(CLAIMS[claim].measure), {}, []
    kind = KINDS[arguments.pop("kind")]

    def drawn_networks(results: str, of: Any, measure: Any, axes: Any = (), *rest: Any, **more: Any) -> Any:
        key = repr((of, measure, tuple(axes)))
        if key not in known:
            known[key] = networks(results, of, measure, axes, *rest, **more)
        every = known[key].every
        return known[key]._replace(every=redrawn(every, "seed", n, *drawing)) if drawing else known[key]

    for module in MODULES:
        monkeypatch.setattr(module, "networks", drawn_networks, raising=False)

    def drawn(rng: np.random.Generator) -> Interval | None:
        # All networks of a measurement are of the same seeds.
        drawing[:] = [np.random.default_rng(rng.integers(2**32))]
        found = kind(EVIDENCE, **arguments)
        return found.interval if isinstance(found, Measured) else None

    whole = kind(EVIDENCE, **arguments)
    is_covered(measured, whole.interval.value, drawn)


TEMPLATES = {
    "task": "template", "template": "aba/abb", "network": "transformer", "attention_init": "gaussian", "identity_qk": False,
    "identity_vo": True, "base_lr": 0.001,
}  # fmt: skip


@pytest.mark.parametrize(("n", "measured"), [(3, 0.8), (6, 0.945), (LEAST_APART, 0.955)])
def test_a_mean_of_networks_that_learn_or_do_not(n, measured):
    """64 networks, of which a third have learnt after 120 examples."""
    of = networks(EVIDENCE, {**TEMPLATES, "P": 120}, "test_mse").frame["value"].to_numpy(float)
    is_covered(measured, of.mean(), lambda rng: measuring.mean_interval(rng.choice(of, n)))


@pytest.mark.parametrize(("n", "measured"), [(6, 0.975), (LEAST_APART, 0.975)])
def test_a_threshold_where_networks_learn_or_do_not(n, measured):
    of = networks(EVIDENCE, {**TEMPLATES, "P": [88, 120, 165, 226, 309]}, "test_mse", ("P",)).frame

    def at(frame: pd.DataFrame) -> Any:
        return thresholds(by_point(frame), 0.5, "P", True)["threshold"].iloc[0]

    def drawn(rng: np.random.Generator) -> Interval:
        parts = [part.sample(n, replace=True, random_state=rng) for _, part in of.groupby("P")]
        return at(pd.concat(parts))

    is_covered(measured, at(of).value, drawn)


def test_a_jackknife_over_data_sets(monkeypatch):
    found, of = captured(monkeypatch, fluctuations, "fall_of_means", "fluctuations-shift")
    whole = fall_of_means(found, of).exponent
    is_covered(0.955, whole.value, lambda rng: fall_of_means(redrawn(found, "data_seed", 16, rng), of).exponent)


def test_a_bootstrap_over_data_sets(monkeypatch):
    of, limit, factor = captured(monkeypatch, variance_limit, "onset", "variance-limit-lazy")

    def drawn(rng: np.random.Generator) -> Interval | None:
        seed = int(rng.integers(2**32))
        both = (redrawn(one, "data_seed", 16, np.random.default_rng(seed)) for one in (of, limit))
        return onset(*both, factor).exponent

    is_covered(0.975, onset(of, limit, factor).exponent.value, drawn)


def captured(monkeypatch, module, name, claim):
    """The arguments with which a claim's measurement calls a function first."""
    calls, function = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: calls.append(given) or function(*given))
    arguments = dict(CLAIMS[claim].measure)
    KINDS[arguments.pop("kind")](EVIDENCE, **arguments)
    return calls[0]
