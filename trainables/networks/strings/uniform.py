"""Initial weights as PyTorch draws them for linear layers."""

import numpy as np

from trainables.networks.base import Array


def uniform(rng: np.random.Generator, fan_in: int, *shape: int) -> Array:
    """Numbers uniform in +-1/sqrt(fan_in), for weights and biases alike, of this shape: float32."""
    return (rng.random(shape, dtype=np.float32) * 2 - 1) * np.float32(fan_in**-0.5)
