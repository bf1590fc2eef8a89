"""Compiled activations, right to the last digits but one. They have no branches, so that loops over them become vectors.

tanh x = e/(e + 2) with e = exp(2 x) - 1; exp(x) - 1 = 2^k (p + 1) - 1, where p = exp(r) - 1 is a Taylor polynomial of
r = x - k log 2. erf x = x P(x^2) up to 1, and 1 - exp(-x^2) Q(1/(x + 3)) beyond; P and Q interpolate at Chebyshev's points.
A NaN stays one.
"""

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from trainables.kernels.compiled import FAST, unchecked_inline

_of_type: Any = overload
_OPTIONS = {"fastmath": FAST, "forceinline": True}

_LOG_2, _PER_LOG_2 = math.log(2), 1 / math.log(2)
_TAYLOR_32 = tuple(np.float32(1 / math.factorial(n)) for n in range(8, 0, -1))
_TAYLOR_64 = tuple(1 / math.factorial(n) for n in range(14, 0, -1))
# P in 2 x^2 - 1, of relative error 1e-9 and 8e-18; Q in the variable that goes from -1 at x = 6 to 1 at x = 1, 5e-8 and 1e-16.
_NEAR_32 = tuple(map(np.float32, (1.23060548e-6, -1.7669068e-5, 0.000217513542, -0.00228541954, 0.0198524971, -0.140536097,
                                  0.965468739)))  # fmt: skip
_NEAR_64 = (-3.8065912241221398e-13, 9.2112501874282299e-12, -2.0352319564835269e-10, 4.1157515002658848e-9,
            -7.5115692510860903e-8, 1.2233827638093573e-6, -1.7537169441280197e-5, 0.00021751715603563489,
            -0.0022854855611440855, 0.019852496688984219, -0.14053608902271712, 0.9654687386698673)  # fmt: skip
_FAR_32 = tuple(map(np.float32, (1.86180618e-5, 0.000327368757, 0.00247978387, 0.0127152632, 0.0496983869, 0.15436091,
                                 0.207983291)))  # fmt: skip
_FAR_64 = (-6.0457315346005063e-12, -2.3584037253219611e-10, 2.6380950871008081e-10, 1.1310218672783173e-8,
           4.5267079502174381e-9, -5.5410744336268935e-7, -2.4255574763708176e-6, 1.9563576238573082e-5,
           0.00033160296057777149, 0.0024793146982473644, 0.012713147695692018, 0.049698445403321467, 0.15436117429436918,
           0.20798329133342961)  # fmt: skip
_END, _SHIFT = 6.0, 3.0
_SLOPE = 2 / (1 / (1 + _SHIFT) - 1 / (_END + _SHIFT))
_OFFSET = 1 - _SLOPE / (1 + _SHIFT)


@unchecked_inline
def _polynomial(coefficients, x):
    total = coefficients[0]
    for c in coefficients[1:]:
        total = total * x + c
    return total


def _by_type(single: Any, double: Any) -> Any:
    """The polynomial with these coefficients, in the type of its argument."""

    def polynomial(x: Any) -> Any:
        raise NotImplementedError

    @_of_type(polynomial, jit_options=_OPTIONS)
    def of_type(x):
        coefficients = single if x == types.float32 else double
        return lambda x: _polynomial(coefficients, x)

    return polynomial


_taylor, _near, _far = _by_type(_TAYLOR_32, _TAYLOR_64), _by_type(_NEAR_32, _NEAR_64), _by_type(_FAR_32, _FAR_64)


def _parts_of_exp(x: Any) -> Any:
    """2^k and 2^k p, the parts of exp(x); x counts as no further from 0 than where either is still a normal number."""
    raise NotImplementedError


@_of_type(_parts_of_exp, jit_options=_OPTIONS)
def _parts_of_exp_of(x):
    if x == types.float32:

        def single(x):
            x = _within(x, np.float32(87))
            k = np.int32(np.floor(x * np.float32(_PER_LOG_2) + np.float32(0.5)))
            r = x - np.float32(k) * np.float32(_LOG_2)
            power = np.int32((k + np.int32(127)) << np.int32(23)).view(np.float32)
            return power, power * (r * _taylor(r))

        return single

    def double(x):
        x = _within(x, 708.0)
        k = np.int64(np.floor(x * _PER_LOG_2 + 0.5))
        r = x - k * _LOG_2
        power = np.int64((k + np.int64(1023)) << np.int64(52)).view(np.float64)
        return power, power * (r * _taylor(r))

    return double


@unchecked_inline
def _within(x, end):
    """x, or the end that it lies beyond."""
    x = end if x > end else x
    return -end if x < -end else x


@unchecked_inline
def tanh(x, real):
    """tanh x; `real` is the type of x, as of all numbers here."""
    power, part = _parts_of_exp(_within(x + x, real(40)))
    e = part + (power - real(1))
    return e / (e + real(2))


@unchecked_inline
def exp_of_negative(x, real):
    """exp(x) for x <= 0; below the smallest normal number, that."""
    power, part = _parts_of_exp(x)
    return power + part


@unchecked_inline
def erf(x, real):
    """erf x."""
    size = _within(abs(x), real(_END))
    square = size * size
    near = x * _near(square + square - real(1))
    tail = real(1) - exp_of_negative(-square, real) * _far(real(_SLOPE) / (size + real(_SHIFT)) + real(_OFFSET))
    far = tail if x > real(0) else -tail
    return near if size < real(1) else far
