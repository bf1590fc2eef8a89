"""The layers of VGG-16 whose activations are features, and their sizes on images of 32 x 32; no torch, so that planning is quick.

Named relu[block]_[layer] [Tong25 App. G.5]; `id` is the image itself. A test compares the sizes with torchvision's network.
"""

from typing import Literal

from trainables.features.images.sets import CIFAR100

Layer = Literal[
    "relu1_1", "relu1_2", "relu2_1", "relu2_2", "relu3_1", "relu3_2", "relu3_3",
    "relu4_1", "relu4_2", "relu4_3", "relu5_1", "relu5_2", "relu5_3", "id",
]  # fmt: skip

N_CLASSES = CIFAR100.n_classes
"""Fine classes of CIFAR-100."""
SIDE = CIFAR100.shape[0]
"""Pixels a side of an image of CIFAR-100."""
PIXELS = CIFAR100.n_pixels
"""Numbers of an image: (32, 32, 3), row by row, the colours of a pixel next to each other."""

_CHANNELS = (64, 128, 256, 512, 512)


def row_length(layer: Layer) -> int:
    """Numbers that stand for one image: each block has its own number of channels, and half the side of the block before it."""
    if layer == "id":
        return PIXELS
    block = int(layer[4]) - 1
    side: int = SIDE // 2**block
    return _CHANNELS[block] * side**2
