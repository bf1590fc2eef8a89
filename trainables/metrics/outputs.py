"""Outputs at single examples, so that networks which saw the same data can be compared and averaged."""

import numpy as np

from trainables.metrics.base import ANSWERS_ONCE, Array, Probe, metric

ONE_OUTPUT = (("outputs", ("one",)), *ANSWERS_ONCE)


@metric("output at a test example", per="example", needs=ONE_OUTPUT)
def output(probe: Probe) -> Array:
    """Outputs at the first test examples of the last evaluation. Networks of one `data_seed` and number of steps see the same
    ones: their mean is the output of an ensemble, and their variance that over initial weights."""
    return np.asarray(probe.outputs, float)
