"""Power laws of a linear target: its error against training time, features, examples and compute [Bordelon24b, Bordelon25].

x_k        k = 1 .. d, N(0, lambda_k), lambda_k = k^-b; b is the `capacity` (alpha in [Bordelon25])
y          sum_k w_k x_k, power lambda_k w_k^2 = k^-a / sum_k k^-a, a = b beta + 1; beta is the `difficulty`, hard below 1
u          the network's f = u.x; error L = sum_k lambda_k (w_k - u_k)^2, 1 at the start
t          2 x rate x steps, so that gradient flow of (f - y)^2 is du/dt = K Lambda (w - u), K the tangent kernel over x.x'
lazy       K = 1: L = sum_k lambda_k w_k^2 exp(-2 lambda_k t) ~ t^-beta                                             [Bordelon24b]
rich       f = a.Wx/gamma of many neurons in muP from small W: a_i = A a_i(0), W_i = omega a_i(0), u = A omega/gamma, K = A^2 +
           omega omega^T. Flow conserves A^2 - |omega|^2 = 1, and d omega/dt = gamma A Lambda (w - u)           [derived here]
           L ~ t^-beta for beta > 1; A^2 ~ |u| grows without bound for beta < 1: L ~ t^-(2 beta/(1 + beta))         [Bordelon25]
N          random linear features F x, F_ik ~ N(0, 1/N), f = v.F x, v trained
t, N       E (z + Lambda^(1/2) F^T F Lambda^(1/2))^-1 = kappa/(z (kappa + Lambda)) [Atanasov24], z = kappa (1 - sum_k lambda_k/
           (lambda_k + kappa)/N). L = sum_k lambda_k w_k^2 [exp(-2t .)]_kk is its inverse Laplace transform at 2t [derived here]
N alone    t = infinity: sum_k lambda_k/(lambda_k + kappa) = N, L = sum_k lambda_k w_k^2 kappa/(lambda_k + kappa) ~ N^-min(a-1, b)
P alone    least |u| through P examples: the same sum = P, L = sum_k lambda_k w_k^2 (kappa/(lambda_k + kappa))^2 / (1 - sum_k
           (lambda_k/(lambda_k + kappa))^2/P) ~ P^-min(a-1, 2b)                                                     [Bordelon24b]
N, P > N   least squares in N Gaussian features: L of N alone, times (P - 1)/(P - N - 1)
C = N t    the least L over N: C^-((a-1)/(1+b)) at N ~ C^(1/(1+b)) for beta < 1 [Bordelon24b]; C^-((a-1)/a) at N ~ C^((a-b)/a) for
           beta > 1, where features cost t^-(1-1/b)/N early, more than N^-b: kappa = z + z^(1-1/b) (pi/b)/sin(pi/b)/N + ...,
           and t^-beta = t^-(1-1/b)/N at N = C/t                                                        [Bordelon25, derived here]
Rivals: one exponent of t for lazy and rich; N^-min(a-1, 2b), as for P; C^-(b beta/(b + beta)) for beta > 1, by N^-b alone.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sweepkit.stats.checks import Floats

Complexes = np.ndarray[Any, np.dtype[np.complex128]]
STEP = 0.004
"""Steps of `rich` as a share of the time."""
NODES = 12
"""Points of the contour of the inverse Laplace transform; 12 give a relative 3e-7, 16 give 1e-9."""
NEWTON = 3
"""Newton's steps at each node, after one along the contour from the node before."""


class Spectrum(NamedTuple):
    """Variances and shares of the target's power, (d,) each."""

    variances: Floats
    shares: Floats

    @classmethod
    def of(cls, d: int, capacity: float, difficulty: float) -> "Spectrum":
        k = np.arange(1, d + 1, dtype=float)
        shares = k ** -(capacity * difficulty + 1)
        return cls(k**-capacity, shares / shares.sum())


def lazy(t: ArrayLike, of: Spectrum) -> Floats:
    """L at each t for a kernel that does not change."""
    return np.exp(-2 * np.multiply.outer(np.asarray(t, float), of.variances)) @ of.shares


def descent(steps: int, rate: float, batch: int, of: Spectrum) -> Floats:
    """Mean L of lazy networks after 0 .. `steps` steps of SGD on batches of fresh Gaussian inputs, their noise included."""
    kept, spread = (1 - 2 * rate * of.variances) ** 2, (2 * rate) ** 2 * of.variances / batch
    powers, losses = of.shares, [1.0]  # powers: lambda_k (w_k - u_k)^2
    for _ in range(steps):
        powers = kept * powers + spread * of.variances * (powers + powers.sum())
        losses.append(float(powers.sum()))
    return np.array(losses)


def rich(t: ArrayLike, of: Spectrum, gamma: float = 1.0) -> Floats:
    """L at each t > 0 of wide two-layer linear networks, to a relative 1e-4.

    Given A, each omega_k relaxes by itself, d omega_k/dt = A lambda_k (gamma w_k - A omega_k). A step solves this with the A of
    its middle, which half a step foretells; so a step may be long beside 1/lambda_k.
    """
    t = np.asarray(t, float)
    w = np.sqrt(of.shares / of.variances)
    ends = np.sort(t.ravel())
    first = min(1e-3, ends[0])
    grid = np.union1d(np.geomspace(first, ends[-1], int(np.log(ends[-1] / first) / STEP) + 2), ends)
    omega, then, found = np.zeros_like(w), 0.0, {}
    for now in grid:
        size = float(np.sqrt(1 + omega @ omega))
        middle = _relaxed(omega, gamma * w, size, of.variances * (now - then) / 2)
        omega = _relaxed(omega, gamma * w, float(np.sqrt(1 + middle @ middle)), of.variances * (now - then))
        error = w - np.sqrt(1 + omega @ omega) * omega / gamma
        found[now], then = of.variances @ error**2, now
    return np.array([found[one] for one in t.ravel()]).reshape(t.shape)


def _relaxed(omega: Floats, target: Floats, size: float, passed: Floats) -> Floats:
    """omega after d omega = size (target - size omega) for the times lambda_k t `passed`."""
    kept = np.exp(-(size**2) * passed)
    return kept * omega + (1 - kept) * target / size


def features(t: ArrayLike, n: int, of: Spectrum) -> Floats:
    """L at each t > 0 of N < d random features, to 1/N^2; the mean over draws of F."""
    t = np.asarray(t, float)
    return _inverse_laplace(2 * t.ravel(), n, of).reshape(t.shape)


def features_alone(n: float, of: Spectrum) -> float:
    """L of N random features at t = infinity, the mean over draws of F. ValueError unless 0 < N < d."""
    kappa = _positive_kappa(0.0, n, of)
    return float((of.shares * kappa / (of.variances + kappa)).sum())


def features_fitted(n: int, p: int, of: Spectrum) -> float:
    """L of least squares on P Gaussian examples in N random features. ValueError unless 0 < N < d and P > N + 1."""
    if p <= n + 1:
        raise ValueError(f"P = {p}, N = {n}: least squares has a mean error above P = N + 1 only")
    return features_alone(n, of) * (p - 1) / (p - n - 1)


def examples_alone(p: float, of: Spectrum) -> float:
    """L of the least u through P examples, the mean over examples. ValueError unless 0 < P < d."""
    kappa = _positive_kappa(0.0, p, of)
    learnt = of.variances / (of.variances + kappa)
    return float((of.shares * (1 - learnt) ** 2).sum() / (1 - (learnt**2).sum() / p))


def _inverse_laplace(t: Floats, n: int, of: Spectrum) -> Floats:
    """Inverse Laplace transform at each t of sum_k shares kappa/(z (kappa + lambda)), by Talbot's contour [Trefethen06]:
    z = (NODES/t) (0.5017 theta cot(0.6407 theta) - 0.6122 + 0.2645 i theta)."""
    theta = (2 * np.arange(NODES // 2) + 1) * np.pi / NODES
    cot = 1 / np.tan(0.6407 * theta)
    z = 0.5017 * theta * cot - 0.6122 + 0.2645j * theta
    slope = 0.5017 * cot - 0.5017 * 0.6407 * theta * (1 + cot**2) + 0.2645j
    path = NODES / t * np.r_[0.5017 / 0.6407 - 0.6122, z][:, None]
    found = np.zeros_like(t)
    for own, at, kappa in zip(slope, path[1:], _followed(path, n, of), strict=True):
        resolvent = (1 / (kappa[:, None] + of.variances)) @ of.shares * kappa / at
        found += 2 / t * (np.exp(at * t) * resolvent * own).imag
    return found


def _followed(path: Complexes, n: int, of: Spectrum) -> Iterator[Complexes]:
    """kappa at the complex z of a path (nodes, T) after the first node, where z is positive and the root is known."""
    z = path[0]
    kappa = np.array([_positive_kappa(float(one.real), n, of) for one in z], complex)
    for end in path[1:]:
        kappa = kappa + (end - z) / _residual(kappa, z, n, of)[1]
        for _ in range(NEWTON):
            value, slope = _residual(kappa, end, n, of)
            kappa = kappa - value / slope
        z = end
        yield kappa


def _positive_kappa(z: float, n: float, of: Spectrum) -> float:
    """kappa at z >= 0. The residual is convex in kappa, and Newton's steps from above its root fall to it. ValueError if that
    is 0, as features or examples span all d directions."""
    if n <= 0 or (z == 0 and n >= len(of.variances)):
        raise ValueError(f"{n:g} features or examples: theory wants more than 0 and fewer than d = {len(of.variances)}")
    kappa = z + float(of.variances.sum()) / n
    while True:
        value, slope = _residual(np.array([kappa]), z, n, of)
        if (less := kappa - float((value / slope)[0])) >= kappa * (1 - 1e-13):
            return kappa
        kappa = less


def _residual(kappa: Any, z: Any, n: float, of: Spectrum) -> tuple[Any, Any]:
    """kappa (1 - sum_k lambda_k/(lambda_k + kappa)/N) - z for each kappa (T,), and its derivative in kappa."""
    kept = kappa[:, None] / (of.variances + kappa[:, None])
    return kappa - kept @ of.variances / n - z, 1 - (kept * (1 - kept)) @ of.variances / kappa / n
