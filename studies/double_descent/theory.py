"""Linear least squares on P examples of a target that it cannot express, or only in part.

x ~ N(0, 1_d)     inputs; P examples are the rows of X (P, d), no intercept
y = He_k(w*.x)/sqrt(k!), k >= 2: power 1, orthogonal to every linear function
u                 weights, (X'X + ridge) u = X'y; ridge -> 0 is the least-norm interpolator
                  for P < d and least squares for P > d
test error        E (y - u.x)^2 = 1 + |u|^2, a share of the target's power 1
kappa             P = d/(1 + kappa) + ridge/kappa, the ridge that noise sees

For noise of variance 1, independent of x, E |u|^2 is E tr (XX')^-1 = P/(d - P - 1), or
E tr (X'X)^-1 = d/(P - d - 1), exactly; infinite for |P - d| < 2 [Hastie22]. He_k(w*.x) is not
independent of the column z = X w*: E z^2 y^2 = 2k + 1, not 1. Derived here, z regressed out
of the other d - 1 columns, whose span is uniform, to order 1/d:
P < d             1 + P/(d - P - 1) - 2k P/(d (d - P))
P > d             1 + d/(P - d - 1) + 2k (P - 2d)/(P (P - d))
With a ridge, for large d [Simon21]: P/(P - d/(1 + kappa)^2); at P = d it is about
sqrt(d/ridge)/2.

With a signal: y = (x_1 + x_1 x_2 + ...)/sqrt(n) of n = `degree` products of bits +-1, of which
x_1 of power s = 1/n is linear. P/(P - d/(1 + kappa)^2) ((1 - s) + s (kappa/(1 + kappa))^2),
for Gaussian inputs and noise that does not depend on them: for bits, an approximation.

Rival: examples do not interfere, XX' or X'X is what it is on average. Then u = X'y/max(P, d),
and the error 1 + P/max(P, d)^2 d has no peak above 2: overfitting costs P/d, then d/P.
"""

from math import nan, sqrt

from analysis.study import theory

LINEAR = {"network": "linear1", "training": "ridge"}
MISFIT = {"task": "hermite", "degree": {"at_least": 2}, **LINEAR}


def kappa(d: float, P: float, ridge: float) -> float:
    """The root above 0 of P kappa (1 + kappa) = d kappa + ridge (1 + kappa).

    >>> round(kappa(d=64, P=32, ridge=1e-9), 6)  # d/P - 1
    1.0
    """
    b = P - d - ridge
    root = sqrt(b * b + 4 * P * ridge)
    return (root - b) / (2 * P) if b < 0 else 2 * ridge / (root + b)


@theory(
    "no ridge",
    source="[Hastie22], order 1/d derived here",
    metric="test_mse",
    of={**MISFIT, "ridge": {"at_most": 1e-6}},
    where=lambda frame: (frame["P"] - frame["d"]).abs() >= 2,
)
def no_ridge(d: int, P: float, degree: int) -> float:
    """The mean test error of the interpolator; NaN where it has no mean.

    >>> no_ridge(d=64, P=128, degree=2)  # 1 + 64/63, and no correction at P = 2d
    2.015873015873016
    """
    if abs(P - d) < 2:
        return nan
    if d > P:
        return 1 + P / (d - P - 1) - 2 * degree * P / (d * (d - P))
    return 1 + d / (P - d - 1) + 2 * degree * (P - 2 * d) / (P * (P - d))


@theory(
    "with ridge",
    source="[Simon21]",
    metric="test_mse",
    of={**MISFIT, "ridge": {"at_least": 0.1}},
)
def with_ridge(d: int, P: float, ridge: float) -> float:
    """The mean test error for large d.

    >>> round(with_ridge(d=64, P=64, ridge=0.01), 1)  # sqrt(6400)/2 = 40, and a half
    40.5
    """
    return P / (P - d / (1 + kappa(d, P, ridge)) ** 2)


@theory(
    "with a signal",
    source="[Simon21], for Gaussian inputs",
    metric="test_mse",
    of={"task": "staircase", "leap": 1, **LINEAR},
    where=lambda frame: ((frame["P"] - frame["d"]).abs() >= 2) | (frame["ridge"] >= 0.1),
)
def with_signal(d: int, P: float, degree: int, ridge: float) -> float:
    """The mean test error where the share 1/degree of the target is linear.

    >>> round(with_signal(d=64, P=32, degree=2, ridge=1e-9), 6)  # (1 - P/d)/2 + 1/(1 - P/d)/2
    1.25
    """
    if abs(P - d) < 2 and ridge < 0.1:
        return nan
    k, s = kappa(d, P, ridge), 1 / degree
    return P / (P - d / (1 + k) ** 2) * (1 - s + s * (k / (1 + k)) ** 2)
