"""Sizes of the compiled loops, which predictions of cost also use. This module does not import numba, so planning stays quick."""

CHUNK = 256
"""Neurons that `gram` and `patches` take together, padded with zeros."""
TILE = 4
"""Columns of the Gram matrix, or pixels of a patch, multiplied at a time; both are padded with zeros to a multiple of it."""
MANY = 24
"""If a batch holds more symbols than this, their rows are multiplied six at a time, else four."""
PART = 2**20
"""Most elements of a product that are computed and added at a time: a temporary of tens of MB would be mapped anew each time,
page by page."""
TOGETHER = 2**26
"""Most activations that an evaluation on a GPU holds at once."""

PLAN_STEPS = 250
PLAN_BYTES = 2**26
"""Limits on the steps and the size of a plan, from which `gram` takes its steps on a card; a plan may always hold one block of
steps. Launches are short, so that the host draws the next plan meanwhile."""


def plan_length(n_symbols: int, batch: int) -> int:
    """Numbers of a plan for one step of a group of networks (trainables.kernels.pairs.plan_steps)."""
    return 6 * batch + 4 * min(batch, n_symbols) + 5


def padded(n: int, unit: int) -> int:
    """The smallest multiple of `unit` that holds n."""
    return -(-n // unit) * unit
