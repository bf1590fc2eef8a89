"""Activations of VGG-16 on images of 32 x 32, which are not resized [Tong25 S4.3, App. G.5].

An image enters as torchvision's weights expect it: in [0, 1], then standardised by the mean and deviation of ImageNet's colours.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from sweepkit.console.words import first_line
from trainables.basics import Array, TaskError
from trainables.features.images.layers import SIDE, Layer
from trainables.features.weights.tensors import loaded, picked

BATCH = 256
"""Images at a time: their activations in the largest layer take 67 MB."""
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def network(layer: Layer, weights_file: Path) -> nn.Sequential:
    """VGG-16 up to this layer. TaskError if the file does not hold its convolutions; the file's other tensors are ignored."""
    from torchvision.models import vgg16  # takes seconds

    with torch.device("meta"):  # neither memory nor time for weights that are replaced
        features: nn.Sequential = vgg16().features
    saved, found = loaded(weights_file), dict[str, Tensor]()
    for name, like in features.state_dict().items():
        found[name] = picked(saved, weights_file, "VGG-16's", f"features.{name}", tuple(like.shape)).float()
    features.load_state_dict(found, assign=True)
    return nn.Sequential(*list(features)[: _names(features).index(layer) + 1]).eval()


def _names(features: nn.Sequential) -> list[str]:
    """Names of the modules: relu[block]_[layer] for a ReLU, empty for others; pooling ends a block."""
    names, block, number = [], 1, 0
    for module in features:
        number += isinstance(module, nn.ReLU)
        names.append(f"relu{block}_{number}" if isinstance(module, nn.ReLU) else "")
        if isinstance(module, nn.MaxPool2d):
            block, number = block + 1, 0
    return names


def activations(images: Array, layer: Layer, weights_file: Path, console: Console) -> Iterator[Array]:
    """Rows (n, D) float16 for images (N, 3072) uint8, some at a time, with a progress bar; on a GPU if there is one.

    TaskError if they cannot be computed, such as on a GPU without free memory.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        yield from _activations(images, layer, weights_file, console, device)
    except (RuntimeError, MemoryError) as error:  # torch's errors of memory and of the GPU are RuntimeErrors
        on_card = "free memory on the GPU, or hide it: CUDA_VISIBLE_DEVICES=-1 computes on the CPU"
        mend = on_card if device.type == "cuda" else "make memory free"
        raise TaskError(f"{layer} of VGG-16 cannot be computed on {device}: {first_line(error)}; {mend}") from error


def _activations(images: Array, layer: Layer, weights_file: Path, console: Console, device: torch.device) -> Iterator[Array]:
    net = network(layer, weights_file).to(device)
    mean, deviation = (torch.tensor(x, device=device)[:, None, None] for x in (MEAN, DEVIATION))
    for start in track(range(0, len(images), BATCH), f"VGG-16, {layer}", console=console):
        pixels = torch.from_numpy(np.array(images[start : start + BATCH])).to(device)
        rows = _rows(net, (pixels.view(-1, SIDE, SIDE, 3).permute(0, 3, 1, 2) / 255 - mean) / deviation)
        if not np.isfinite(rows).all():
            raise TaskError(f"activations of {layer} with {weights_file} are too large for half precision (65,504)")
        yield rows


@torch.inference_mode()
def _rows(net: nn.Sequential, x: Tensor) -> Array:
    # TF32, which a GPU would use for convolutions, has no more digits than the float16 that is kept.
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=False, allow_tf32=False):
        return net(x).flatten(1).to(torch.float16).cpu().numpy()
