"""S is 1 for curves that collapse, large for others, and finds the exponent that was put in."""

import numpy as np
import pytest
from scipy.special import expit

from sweepkit.stats import Curve, best_exponent, collapse

D = np.array([16.0, 32, 64, 128])
L = 2.0 ** np.arange(1, 13)


def curves(exponent, rng, error=0.03, n_seeds=None):
    """Accuracy against L that rises at L = d^exponent, with known errors or such as n_seeds give."""
    found = []
    for d in D:
        p = 0.5 + 0.5 * expit(np.log(L / d**exponent) / 1.6)
        if n_seeds is None:
            found.append(Curve(L, p + error * rng.normal(size=len(L)), np.full(len(L), error)))
        else:
            values = p + error * np.sqrt(n_seeds) * rng.normal(size=(n_seeds, len(L)))
            found.append(Curve(L, values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(n_seeds)))
    return found


def slow_quality(all_curves, scales):
    """S as Houdayer and Hartmann write it, point by point."""
    terms = []
    for k, own in enumerate(all_curves):
        for x, y, dy in zip(np.log(own.x / scales[k]), own.y, own.error, strict=True):
            chosen = []
            for other, curve in enumerate(all_curves):
                xs = np.log(curve.x / scales[other])
                for j in range(len(xs) - 1):
                    if other != k and xs[j] <= x < xs[j + 1]:
                        chosen += [(xs[j], curve.y[j], curve.error[j]), (xs[j + 1], curve.y[j + 1], curve.error[j + 1])]
            if chosen:
                xl, yl, el = np.array(chosen).T
                w = el**-2
                k0, kx, ky, kxx, kxy = w.sum(), (w * xl).sum(), (w * yl).sum(), (w * xl**2).sum(), (w * xl * yl).sum()
                det = k0 * kxx - kx**2
                line = (kxx * ky - kx * kxy) / det + x * (k0 * kxy - kx * ky) / det
                variance = (kxx - 2 * x * kx + x**2 * k0) / det
                terms.append((y - line) ** 2 / (dy**2 + variance))
    return np.mean(terms), len(terms)


def test_is_the_formula_of_the_paper():
    rng = np.random.default_rng(0)
    found = [Curve(np.sort(rng.uniform(1, 100, 7)), rng.uniform(size=7), rng.uniform(0.05, 0.2, 7)) for _ in range(3)]
    scales = np.array([1.0, 2.3, 4.1])
    quality, n_points = slow_quality(found, scales)
    result = collapse(found, scales)
    assert (result.quality, result.n_points) == (pytest.approx(quality), n_points)
    assert result.unscaled_quality == pytest.approx(slow_quality(found, np.ones(3))[0])
    assert result.n_total == 21


def test_is_1_for_curves_that_collapse_within_their_errors():
    rng = np.random.default_rng(1)
    found = [collapse(curves(1.3, rng), D**1.3) for _ in range(200)]
    assert np.mean([c.quality for c in found]) == pytest.approx(1, abs=0.07)  # four standard errors of 0.24 / sqrt(200)
    assert np.min([c.unscaled_quality for c in found]) > 2
    assert found[0].n_total == 48
    assert found[0].n_points >= 40


def test_errors_of_six_seeds_give_a_quality_somewhat_above_1():
    rng = np.random.default_rng(2)
    mean = np.mean([collapse(curves(1.3, rng, n_seeds=6), D**1.3).quality for _ in range(200)])
    assert mean == pytest.approx(1.4, abs=0.14)  # four standard errors of 0.44 / sqrt(200), and the 1.4 of the docstring rounded


def test_best_exponent_is_covered():
    rng = np.random.default_rng(3)
    found = [best_exponent(curves(1.3, rng), D, bounds=(0, 3), n_resamples=500) for _ in range(60)]
    assert np.mean([b.exponent.low <= 1.3 <= b.exponent.high for b in found]) >= 0.84  # 0.95 less four standard errors of 0.028
    widths, spread = [b.exponent.high - b.exponent.low for b in found], np.std([b.exponent.value for b in found])
    assert np.mean(widths) == pytest.approx(
        2 * 1.96 * spread, rel=0.4
    )  # the spread of 60 is known to 9%; not far too wide either
    assert np.mean([b.quality for b in found]) < 1.05


def test_errors_from_few_seeds_widen_the_interval():
    found = curves(1.3, np.random.default_rng(4))

    def width(n):
        exponent = best_exponent([curve._replace(n=n) for curve in found], D).exponent
        assert exponent.value == normal.value
        return exponent.high - exponent.low

    normal = best_exponent(found, D).exponent
    one_of_few = np.where(np.arange(len(L)) == 6, 3, 100)  # each point by its own seeds, not by those of the poorest
    assert width(100) < width(one_of_few) < width(3)
    assert width(3) > 1.3 * (normal.high - normal.low)


def test_best_exponent_without_noise():
    x = np.geomspace(1, 1e4, 60)
    exact = [Curve(x, np.tanh(np.log(x / d**0.7) / 3), np.full(60, 1e-3)) for d in D]
    best = best_exponent(exact, D, n_resamples=50)
    assert best.exponent.value == pytest.approx(0.7, abs=0.003)
    assert best.exponent.n == 4
    assert best_exponent(exact, D, n_resamples=50) == best


def test_linear_x():
    x = np.linspace(-1, 2, 30)
    found = [Curve(x * s, x**2, np.full(30, 0.01)) for s in (1.0, 2.0, 3.0)]
    result = collapse(found, [1, 2, 3], log_x=False)
    assert result.quality < 0.05 < 100 < result.unscaled_quality
    assert best_exponent(found, [1, 2, 3], bounds=(0, 2), log_x=False, n_resamples=50).exponent.value == pytest.approx(
        1, abs=0.01
    )


def test_order_of_points_does_not_matter():
    found = curves(1.3, np.random.default_rng(5))
    turned = [Curve(*(np.asarray(a)[::-1] for a in c[:3])) for c in found]
    assert collapse(turned, D) == collapse(found, D)


def test_curves_apart_have_no_quality():
    apart = [Curve([1, 2], [0.5, 0.6], [0.1, 0.1]), Curve([10, 20], [0.5, 0.6], [0.1, 0.1])]
    result = collapse(apart, [1, 1])
    assert np.isnan(result.quality)
    assert (result.n_points, result.n_total) == (0, 4)
    assert collapse(apart, [1, 10]).quality == pytest.approx(0)
    with pytest.raises(ValueError, match="overlap at no exponent"):
        best_exponent(apart, [1, 10], bounds=(-3, -1))


def test_what_is_refused():
    good = curves(1.3, np.random.default_rng(6))
    with pytest.raises(ValueError, match="at least two curves"):
        collapse(good[:1], [1])
    with pytest.raises(ValueError, match="lengths differ: 4 of curves, 1 of scales"):
        collapse(good, [1])
    with pytest.raises(ValueError, match="scale of 0 is not above 0"):
        collapse(good, [0, 1, 2, 3])
    with pytest.raises(ValueError, match="curve 1 has an error of 0"):
        collapse([good[0], good[1]._replace(error=np.zeros(12))], [1, 2])
    with pytest.raises(ValueError, match="curve 0: x = 0 has no logarithm"):
        collapse([good[0]._replace(x=np.arange(12.0)), good[1]], [1, 2])
    with pytest.raises(ValueError, match="y of curve 0 has values that are not finite"):
        collapse([good[0]._replace(y=np.full(12, np.nan)), good[1]], [1, 2])
    with pytest.raises(ValueError, match="of different x"):
        collapse([good[0]._replace(x=np.ones(12)), good[1]], [1, 2])
    with pytest.raises(ValueError, match="all equal"):
        best_exponent(good, [2, 2, 2, 2])
    with pytest.raises(ValueError, match="edge"):
        best_exponent(good, D, bounds=(0, 1), n_resamples=20)
    with pytest.raises(ValueError, match="one seed gives no error"):
        best_exponent([good[0]._replace(n=1), *good[1:]], D)
