"""Least squares in a linear network, with fewer examples than inputs.

x ~ N(0, 1_d)   y = w.x, |w| = 1, without noise
P < d           least |u| with u.x_i = y_i for all examples: u = Q w,
                Q the projector on the span of the x_i
test error      E (w.x - u.x)^2 = |(1 - Q) w|^2; the span is a random one of P
                dimensions, so its mean is 1 - P/d
Derived here. Rival: each example takes the share 1/d of what is left, as in a step of
gradient descent for each: (1 - 1/d)^P.
"""

from analysis.study import theory

LEAST_SQUARES = {
    "task": "hermite",
    "degree": 1,
    "network": "linear1",
    "training": "ridge",
}


# The names of the arguments are the keys of the grid that the value depends on.
@theory("my_law", metric="test_mse", of=LEAST_SQUARES)
def error(d: int, P: int) -> float:
    """The mean test error, as a share of the target's power.

    >>> error(d=32, P=8)
    0.75
    """
    return max(0.0, 1 - P / d)
