"""Patterns of feature learning and the sample complexity that each would have [Rubin25 S5, App. E].

d          input dimension
N, N1, N2  widths, Lc context length
D          amplification of a feature's variance (GFL: Gaussian feature learning)
M, M1, M2  specialising neurons; b amplification that passes on to the next layer; mu magnitude of specialising neurons

The energy of a pattern is a sum of monomials: what its neurons cost, and what is left to the output. The pattern whose least
energy is the lowest appears, and P* scales like it. Constants are not known: values serve to compare patterns and to find
exponents. Least energies are geometric programs, convex in the logarithms; exponents are linear programs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Monomial = Mapping[str, float]
"""A product of powers: the power of each variable."""


@dataclass(frozen=True)
class Pattern:
    """One way in which a network can learn its target."""

    name: str
    terms: tuple[Monomial, ...]
    """The terms whose sum is the energy."""
    free: Mapping[str, tuple[Monomial, Monomial | None]]
    """Variables over which the energy is minimised, with their least and greatest values: 1 to N neurons may specialise."""


class Least(NamedTuple):
    """The least energy of a pattern, up to a constant, and its free variables there."""

    energy: float
    at: dict[str, float]


class Exponents(NamedTuple):
    """Powers of d as d grows: of the least energy, and so of P*, and of the free variables there."""

    energy: float
    at: dict[str, float]


ONE: Monomial = {}


def _pattern(name: str, *terms: Monomial, **free: tuple[Monomial, Monomial | None]) -> Pattern:
    return Pattern(name, terms, free)


_AT_LEAST_1 = (ONE, None)

NETWORKS: dict[str, tuple[Pattern, ...]] = {
    "2-layer erf, He_3": (
        _pattern("GP", {"d": 3}),
        _pattern("GFL", {"N": 1, "D": 1}, {"d": 3, "D": -3}, D=_AT_LEAST_1),
        _pattern("specialisation", {"M": 1, "d": 1}, {"N": 1, "M": -1}, M=(ONE, {"N": 1})),
    ),
    "2-layer erf, He_3, mean field": (
        _pattern("GP", {"N": 1, "d": 3}),
        _pattern("GFL", {"N": 1, "D": 1}, {"N": 1, "d": 3, "D": -3}, D=_AT_LEAST_1),
        _pattern("specialisation", {"M": 1, "d": 1}, {"N": 2, "M": -1}, M=(ONE, {"N": 1})),
    ),
    "3-layer erf, He_3": (
        _pattern("GP-GP", {"d": 3}),
        _pattern("GP-Sp.", {"M2": 1, "d": 1}, {"N2": 1, "M2": -1}, M2=(ONE, {"N2": 1})),
        _pattern(
            "Sp.-Mag.", {"M1": 1, "d": 1}, {"N1": 1, "b": 1, "M1": -1}, {"N2": 1, "b": -1}, M1=(ONE, {"N1": 1}), b=_AT_LEAST_1
        ),
    ),
    "CNN, linear": (
        _pattern("GP", {"d": 1}),
        # Proportional limit: channels, patches and their size all as sqrt(d), and d^(3/4) from N D + d / D.
        _pattern("GFL", {"N": 1, "D": 1}, {"d": 1, "D": -1}, D=_AT_LEAST_1),
    ),
    "2-layer ReLU, parity": (
        _pattern("mu-specialisation", {"mu": 2, "d": 1}, {"N": 1, "mu": -2}, mu=_AT_LEAST_1),
    ),
    "softmax attention, cubic": (
        _pattern("GP", {"Lc": 1, "d": 3}),
        _pattern("specialisation", {"Lc": 0.5, "d": 1.5}),
    ),
}  # fmt: skip
"""By network and target: the patterns of the table in [Rubin25 S5, App. E]. Of attention's specialisation only P* is known."""


def least(pattern: Pattern, sizes: Mapping[str, float]) -> Least:
    """Least energy at these sizes (d, N, ...). KeyError if a size that the pattern needs is missing."""
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    logs = {name: np.log(value) for name, value in sizes.items()}
    free = list(pattern.free)
    fixed = np.array([_power(term, logs, free) for term in pattern.terms])
    powers = np.array([[term.get(name, 0.0) for name in free] for term in pattern.terms]).reshape(len(pattern.terms), len(free))
    bounds = [(_power(low, logs), None if high is None else _power(high, logs)) for low, high in pattern.free.values()]
    if not free:
        return Least(float(np.exp(logsumexp(fixed))), {})

    def of(x: Array) -> tuple[float, Array]:
        terms = fixed + powers @ x
        total = logsumexp(terms)
        return float(total), np.exp(terms - total) @ powers

    found = minimize(
        of, [low for low, _ in bounds], jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-10}
    )
    return Least(float(np.exp(found.fun)), {name: float(value) for name, value in zip(free, np.exp(found.x), strict=True)})


def least_over(pattern: Pattern, sizes: Mapping[str, Array]) -> Array:
    """Energies as of `least` over arrays of sizes, all of one shape, for maps.

    The method is coordinate descent: the energy is convex in the logarithms, and each free variable has its own bounds. The best
    value of one variable is found by bisection of the slope.
    """
    logs = {name: np.log(np.asarray(value, dtype=float)) for name, value in sizes.items()}
    shape = np.broadcast_shapes(*(value.shape for value in logs.values()))
    free = list(pattern.free)
    fixed = [_power_over(term, logs, shape, free) for term in pattern.terms]
    ends = [
        (_power_over(low, logs, shape), np.full(shape, _MOST) if high is None else _power_over(high, logs, shape))
        for low, high in pattern.free.values()
    ]
    at = [low.copy() for low, _ in ends]

    def logs_of_terms() -> list[Array]:
        return [
            f + sum((term.get(name, 0.0) * x for name, x in zip(free, at, strict=True)), np.zeros(shape))
            for f, term in zip(fixed, pattern.terms, strict=True)
        ]

    for _ in range(1 if len(free) < 2 else _ROUNDS):
        for i, name in enumerate(free):
            powers = [term.get(name, 0.0) for term in pattern.terms]
            low, high = ends[i]
            for _ in range(_HALVINGS):
                at[i] = (low + high) / 2
                slope = sum(p * np.exp(np.minimum(t, _MOST)) for p, t in zip(powers, logs_of_terms(), strict=True) if p)
                low, high = np.where(slope < 0, at[i], low), np.where(slope < 0, high, at[i])
            at[i] = (low + high) / 2
    return np.asarray(np.exp(np.logaddexp.reduce(logs_of_terms())))


_MOST = 200.0
"""A logarithm larger than that of any variable."""
_HALVINGS, _ROUNDS = 50, 25
"""200 / 2^50 is below rounding; two variables settle to four digits in this many rounds."""


def wins_over(network: str, sizes: Mapping[str, Array]) -> Array:
    """`wins` over arrays of sizes."""
    patterns = NETWORKS[network]
    energies = np.stack([least_over(pattern, sizes) for pattern in patterns])
    return np.array([pattern.name for pattern in patterns])[energies.argmin(axis=0)]


def wins(network: str, sizes: Mapping[str, float]) -> str:
    """Name of the pattern of least energy. KeyError for an unknown network."""
    patterns = NETWORKS[network]
    return min(patterns, key=lambda pattern: least(pattern, sizes).energy).name


def exponents(pattern: Pattern, growth: Mapping[str, float]) -> Exponents:
    """The exponents as d grows, with sizes as these powers of it (N ~ d: {"N": 1}). KeyError if a size is missing."""
    from scipy.optimize import linprog

    growth = {"d": 1.0, **growth}
    free = list(pattern.free)
    # Least e with e >= power of each term.
    rows = [[term.get(name, 0.0) for name in free] + [-1.0] for term in pattern.terms]
    tops = [-_power(term, growth, free) for term in pattern.terms]
    bounds = [(_power(low, growth), None if high is None else _power(high, growth)) for low, high in pattern.free.values()]
    found = linprog([0.0] * len(free) + [1.0], A_ub=rows, b_ub=tops, bounds=[*bounds, (None, None)])
    return Exponents(float(found.x[-1]), dict(zip(free, map(float, found.x), strict=False)))


def _power_over(term: Monomial, logs: Mapping[str, Array], shape: tuple[int, ...], but: list[str] | None = None) -> Array:
    """`_power` of arrays, of this shape."""
    total = sum((power * logs[name] for name, power in term.items() if name not in (but or ())), np.zeros(shape))
    return np.broadcast_to(total, shape).copy()


def _power(term: Monomial, logs: Mapping[str, float], but: list[str] | None = None) -> float:
    return float(sum(power * logs[name] for name, power in term.items() if name not in (but or ())))
