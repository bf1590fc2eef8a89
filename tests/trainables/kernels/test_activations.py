"""Compiled activations beside NumPy's and SciPy's, at all sizes of their argument."""

import numpy as np
import pytest
from scipy import special

from trainables.kernels.activations import erf, exp_of_negative, tanh
from trainables.kernels.compiled import unchecked


def over(function):
    @unchecked
    def loop(x, out):
        real = x.dtype.type
        for i in range(len(x)):
            out[i] = function(x[i], real)

    return loop


WAYS = {"tanh": (over(tanh), np.tanh), "erf": (over(erf), special.erf), "exp": (over(exp_of_negative), np.exp)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", WAYS)
def test_values_are_right_to_the_last_digits(name, dtype):
    ours, exact = WAYS[name]
    sizes = np.concatenate([np.logspace(-12, 1.8, 4000), np.linspace(0.9, 1.1, 400), np.linspace(5.9, 6.1, 100), [0.0, 79.0]])
    x = (-sizes if name == "exp" else np.concatenate([sizes, -sizes])).astype(dtype)
    found = np.empty_like(x)
    ours(x, found)
    # Four roundings of the value; exp adds those of its argument, which it is as large as.
    bound = 4 * np.finfo(dtype).eps * np.abs(exact(x.astype(float))) * (1 + np.abs(x) * (name == "exp"))
    assert (np.abs(found - exact(x.astype(float))) <= bound).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "ends"), [("tanh", [-1, 1]), ("erf", [-1, 1])])
def test_ends_and_no_number(name, ends, dtype):
    """A network that diverges shows it by a NaN."""
    x = np.array([-np.inf, np.inf, np.nan], dtype)
    found = np.empty_like(x)
    WAYS[name][0](x, found)
    np.testing.assert_array_equal(found, [*ends, np.nan])
