"""Sizes that compiled loops are made for, and that predictions count with; without numba, so that planning does not load it."""

CHUNK = 256
"""Neurons that `gram` takes together, padded with zeros."""
TILE = 4
"""Columns of the Gram matrix that are multiplied at a time; symbols are padded with zeros to a multiple of it."""
MANY = 24
"""With more symbols than this in a batch their rows are multiplied six at a time, else four."""
PART = 2**20
"""Elements a product is added by at a time: a temporary of tens of MB would be mapped, and paid for page by page, each time."""


def padded(n: int, unit: int) -> int:
    """The smallest multiple of `unit` that holds n."""
    return -(-n // unit) * unit
