"""Accuracy and AUC of the infinitely wide lazy network on same-different, computed by gradient flow under its tangent kernel.

L, d     number of training symbols s ~ N(0, I/d), dimension of one
x        a pair (s_u; s_v), y = 1 where u = v, with the probability p_x of training: same 1/2 in all, different 1/2 in all
K        |x||x'| K(cos) of `lazy.ntk`
t        training time, base_lr * steps
f        df/dt(x) = sum_x' p_x' K(x, x') (y' - sigmoid(f(x'))), f = 0 at t = 0: full-batch training without noise [Tong25 App. D]
c        dual coefficients, f(x) = sum_x' c_x' K(x, x');  c = p r,  dr/dt = y - sigmoid(K c)
kappa    slope of the activation change [Tong25 Fig. F1]: mean |h(t)-h(0)| / mean |h(0)| = gamma kappa for small gamma

Networks trained by `lazy` cells differ from it by their finite width, by the noise of SGD, and by the measure: they report the
best of evaluations on few examples, which picks a lucky one. Here accuracies are means, `best` is the maximum of the mean curve,
and `best_reported` adds the luck of evaluations on fresh examples. Accuracy at the best threshold is that of the networks' own
measure, whose threshold is the best for few examples and thus lucky, too (by 0.005 at 1024 examples and accuracy 0.85); it is
known for at most TEST_SIZE examples, where the luck is 0.002. Networks with more, such as 20,000, have less luck than it says.

kappa: the lazy network moves w_i by eps a_i sum_x c_x relu'(w_i . x) x, eps = gamma sqrt(d), so h_i on x' by eps a_i v(w_i) . x',
v(w) = sum_x c_x 1[w . x > 0] x. At infinite width a_i and w_i are independent of c, and E|a| = sqrt(2/(pi m)) cancels against
E|h(0)| = sqrt(2/(pi m)) E|x'|: kappa = sqrt(d) E|v . x'| / E|x'|. As v . x' is Gaussian with variance |v1 + v2|^2/d on fresh
same examples and (|v1|^2 + |v2|^2)/d on different ones, kappa = sqrt(2/pi) E[|v1 + v2| + |v|] / (2 E|x'|), where d is left only
in c. Without the prefactor eps = gamma, while rate/eps^2 and with it c are the same: kappa falls to kappa/sqrt(d).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, gammaln, ndtr

from analysis.theory.cache import kept
from sweepkit.declarations.evaluations import EVEN, evaluations

from .chebyshev import integrate, spectral_radius
from .pair_kernel import DrawnPairs, PairKernel, pair_kernel
from .ranks import accuracy_at_best_threshold, auc

Array = np.ndarray[Any, Any]

TOLERANCE = 1e-3
"""Relative tolerance of a time step. Accuracies move by less than 1e-3 when it is a hundred times smaller (tests)."""
MOST_TIMES, TIMES_A_DECADE = 10, 6
SLOPE_NEURONS = 256
TEST_SIZE = 4096
TESTED = 1024
"""Examples of one evaluation of a network [Tong25 App. G]; `TEST_SIZE` are those of a prediction."""
PARTS = tuple(2**k for k in range(7))
"""Numbers of equal parts of the examples of a prediction: the best threshold is known for as many examples as one part has."""


@dataclass(frozen=True)
class Solution:
    """One draw of symbols: accuracies on fresh same and different pairs after `steps` (t,), AUC, accuracy at the best thresholds
    (len(PARTS), t), each the best for `sizes` examples, from `test_size` of `solve` down, and kappa at the end."""

    steps: Array
    same: Array
    different: Array
    auc: Array
    sizes: Array
    best_thresholds: Array
    activation_slope: float

    @property
    def accuracy(self) -> Array:
        return (self.same + self.different) / 2

    def best_threshold(self, tested: int) -> Array:
        """Accuracy (t,) at the threshold that is best for the nearest of `sizes`: for the largest if `tested` is greater."""
        return np.asarray(self.best_thresholds[np.abs(np.log(self.sizes / tested)).argmin()])


@dataclass(frozen=True)
class Prediction:
    """Means over draws of symbols, with standard errors (NaN for one draw): accuracy, AUC and accuracy at the best threshold (t,)
    after `steps` (t,), kappa, and `best_reported`, the expected `best_test_acc`: the best of all evaluations, each on as many
    fresh examples as the networks'. The best threshold is that of as many examples, but of TEST_SIZE at most."""

    steps: Array
    accuracy: Array
    standard_error: Array
    auc: Array
    auc_error: Array
    best_threshold: Array
    best_threshold_error: Array
    best_reported: float
    best_reported_error: float
    activation_slope: float
    activation_slope_error: float
    draws: int

    @property
    def best_at(self) -> int:
        """Index at which the mean curve is highest."""
        return int(np.argmax(self.accuracy))

    @property
    def best(self) -> float:
        return float(self.accuracy[self.best_at])

    @property
    def last(self) -> float:
        return float(self.accuracy[-1])


def solve(
    n_symbols: int,
    d: int,
    seed: int,
    steps: int = 25000,
    eval_every: int = 1000,
    base_lr: float = 0.1,
    width: int | None = None,
    eval_at: str = EVEN,
    test_size: int = TEST_SIZE,
    tolerance: float = TOLERANCE,
) -> Solution:
    """Gradient flow on one draw of symbols, measured on `test_size` examples at some of the steps at which networks are
    evaluated; `test_size` is a multiple of twice the largest of PARTS.

    With a width, the kernel is that of a drawn network of this width (n_symbols^2 width <= MOST_ACTIVE, else ValueError), so that
    only the noise of SGD is left out. Even then kappa is taken over neurons on which c does not depend.
    """
    rng = np.random.default_rng([seed, n_symbols, d])
    symbols = rng.standard_normal((n_symbols, d)) / np.sqrt(d)
    z = rng.standard_normal((2, test_size, d)) / np.sqrt(d)
    same = np.arange(test_size) < test_size // 2
    z[1, same] = z[0, same]
    kernel: PairKernel
    if width is None:
        kernel = pair_kernel(symbols, rng)
    else:
        kernel = DrawnPairs(symbols, *(rng.standard_normal(shape) / np.sqrt(width) for shape in ((2 * d, width), width)))
    at = some_steps(evaluations(steps, eval_every, eval_at))
    cs = np.array(coefficients(kernel, base_lr * at, tolerance))
    f = kernel.at(z[0], z[1], cs)
    right = (f > 0) == same
    lucky = np.array([_best_threshold_of_parts(f, same, parts) for parts in PARTS])
    slope = slope_of(kernel.matrix(cs[-1]), symbols, rng)
    return Solution(at, right[:, same].mean(1), right[:, ~same].mean(1), auc(f, same), test_size // np.array(PARTS), lucky, slope)


def _best_threshold_of_parts(f: Array, same: Array, parts: int) -> Array:
    """Mean over the parts of the accuracy (t,) at each one's best threshold; a part has as many same examples as different."""
    return np.asarray(np.mean([accuracy_at_best_threshold(f[:, i::parts], same[i::parts]) for i in range(parts)], axis=0))


def coefficients(kernel: PairKernel, times: Array, tolerance: float = TOLERANCE) -> list[Array]:
    """Dual coefficients (n,) at each of the ascending times."""
    p, y = kernel.p, kernel.y
    root = np.sqrt(p)
    # sigmoid' <= 1/4, and sqrt(p) K sqrt(p) has the eigenvalues of K p. The power method errs below: hence 1.1.
    lam = 1.1 / 4 * spectral_radius(lambda x: root * kernel.product(root * x), root * (1 + y))

    def flow(r: Array) -> Array:
        return np.asarray(y - expit(kernel.product(p * r)))

    def norm(r: Array) -> float:
        return float(np.sqrt(p @ r**2))

    return [p * r for r in integrate(flow, np.zeros(len(p)), list(times), lam, norm, tolerance)]


def some_steps(steps: Sequence[int]) -> Array:
    """At most TIMES_A_DECADE a decade of these steps, or MOST_TIMES in all if that is more: those nearest to even ones in the
    logarithm, with the first and the last."""
    known = np.array(steps)
    n = max(MOST_TIMES, round(TIMES_A_DECADE * np.log10(known[-1] / known[0])))
    wanted = np.geomspace(known[0], known[-1], min(len(known), n))
    return known[np.unique(np.abs(known[:, None] - wanted).argmin(0))]


def slope_of(c: Array, symbols: Array, rng: np.random.Generator, neurons: int = SLOPE_NEURONS) -> float:
    """kappa for dual coefficients (L, L): the mean over drawn w, as the head of this module derives it."""
    d = symbols.shape[1]
    h1, h2 = symbols @ rng.standard_normal((2, d, neurons))
    total = 0.0
    for left, right in zip(h1.T, h2.T, strict=True):
        on = np.where(left[:, None] + right > 0, c, 0)
        v1, v2 = on.sum(1) @ symbols, on.sum(0) @ symbols
        total += np.linalg.norm(v1 + v2) + np.sqrt(v1 @ v1 + v2 @ v2)
    return float(np.sqrt(2 / np.pi) * total / neurons / 2 / mean_test_norm(d))


def mean_test_norm(d: int) -> float:
    """E|x'| over test examples: sqrt(2) |z| on same, the norm of 2d normals of variance 1/d on different ones."""

    def chi(k: int) -> float:
        return float(np.sqrt(2 / d) * np.exp(gammaln((k + 1) / 2) - gammaln(k / 2)))

    return (np.sqrt(2) * chi(d) + chi(2 * d)) / 2


def default_draws(n_symbols: int) -> int:
    """Number of draws: few symbols differ more from draw to draw, and cost less."""
    return 32 if n_symbols <= 16 else 8 if n_symbols <= 256 else 3


def predict(
    n_symbols: int,
    d: int,
    *,
    steps: int = 25000,
    eval_every: int = 1000,
    base_lr: float = 0.1,
    width: int | None = None,
    draws: int | None = None,
    eval_at: str = EVEN,
    test_size: int = TESTED,
) -> Prediction:
    """Mean over draws of symbols, each kept on disk for all `test_size`, the examples of one evaluation of a network. Seconds for
    L = 16; minutes for L = 1024."""
    calls = _calls(n_symbols, d, steps, eval_every, base_lr, width, draws, eval_at)
    found = [kept(solve, *call) for call in calls]
    accuracy, accuracy_error = _mean_and_error([s.accuracy for s in found])
    area, area_error = _mean_and_error([s.auc for s in found])
    best_threshold, best_threshold_error = _mean_and_error([s.best_threshold(test_size) for s in found])
    looked = evaluations(steps, eval_every, eval_at)
    best, best_error = _mean_and_error([expected_best(s.steps, s.accuracy, looked, test_size) for s in found])
    slope, slope_error = _mean_and_error([s.activation_slope for s in found])
    return Prediction(
        steps=found[0].steps,
        accuracy=accuracy,
        standard_error=accuracy_error,
        auc=area,
        auc_error=area_error,
        best_threshold=best_threshold,
        best_threshold_error=best_threshold_error,
        best_reported=float(best),
        best_reported_error=float(best_error),
        activation_slope=float(slope),
        activation_slope_error=float(slope_error),
        draws=len(found),
    )


def expected_best(at: Array, accuracy: Array, evaluated: Sequence[int], tested: int = TESTED) -> float:
    """Mean of the best of all evaluations, at the steps `evaluated` on `tested` fresh examples each, of a network whose accuracy
    is known at some steps. Evaluations are taken as independent normals of the binomial's variance."""
    mean = np.interp(np.log(evaluated), np.log(at), accuracy)
    spread = np.maximum(np.sqrt(mean * (1 - mean) / tested), 1e-6)
    x = np.linspace(mean.min() - 8 * spread.max(), 1, 4001)
    below = ndtr((x[:, None] - mean) / spread).prod(1)  # accuracies end at 1: the rest of the mass is at x = 1
    return float(1 - np.trapezoid(below, x))


def _mean_and_error(of_draws: list[Any]) -> tuple[Array, Array]:
    values, n = np.array(of_draws), len(of_draws)
    return values.mean(0), values.std(0, ddof=1) / np.sqrt(n) if n > 1 else np.full(values.shape[1:], np.nan)


def activation_slope(
    n_symbols: int, d: int, *, with_prefactor: bool = True, steps: int = 25000, base_lr: float = 0.1, draws: int | None = None
) -> tuple[float, float]:
    """kappa and its standard error over draws: the activation change of a lazy network is gamma kappa [Tong25 Fig. F1].

    Without the prefactor 1/sqrt(d) (grid key prefactor: none) it is gamma kappa/sqrt(d), the same kappa.
    """
    found = predict(n_symbols, d, steps=steps, base_lr=base_lr, draws=draws)
    scale = 1.0 if with_prefactor else d**-0.5
    return scale * found.activation_slope, scale * found.activation_slope_error


def _calls(
    n_symbols: int,
    d: int,
    steps: int,
    eval_every: int,
    base_lr: float,
    width: int | None,
    draws: int | None,
    eval_at: str,
) -> list[tuple[int, int, int, int, int, float, int | None, str]]:
    """Arguments of `solve`, as plain numbers: numpy's would be kept apart from equal ones of Python."""
    n = default_draws(n_symbols) if draws is None else draws
    of_width = None if width is None else int(width)
    rest = int(steps), int(eval_every), float(base_lr), of_width, str(eval_at)
    return [(int(n_symbols), int(d), seed, *rest) for seed in range(n)]
