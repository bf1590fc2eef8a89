"""Tables of images and of their features: made once, kept on disk, and read as memory maps by every process."""

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from sweepkit.console.cache import cache_folder
from trainables.basics import Array, Preparation
from trainables.features import array_cache
from trainables.features.array_cache import Kept, Wanted
from trainables.features.images.found import Found
from trainables.features.images.layers import Layer, row_length

_VERSION = "1"
"""Raised whenever the same images and weights would give other numbers: standardisation, order of the rows, rounding."""
_held: dict[tuple[Found, Layer], Kept] = {}
"""Files that this process has checked and mapped."""


def wanted(found: Found, layer: Layer) -> Wanted:
    """The file of this layer, named after data, layer and weights."""
    made_from = {"version": _VERSION, "images": found.images, "layer": layer}
    if layer == "id":
        return Wanted(f"{found.images}-pixels", found.of.n_pixels, "uint8", tuple(made_from.items()))
    made_from["weights"] = found.weights
    return Wanted(f"{found.images}-{layer}-{found.weights}", row_length(layer), "float16", tuple(made_from.items()))


def folders(found: Found) -> list[Path]:
    """Folders that may hold the files: with the data, so that nodes share them, else in this user's cache."""
    return [Path(found.folder, "features"), cache_folder() / "features"]


def rows(found: Found, layer: Layer, console: Console | None = None) -> Kept:
    """Rows of all images, ordered as by `read_images`: pixels (N, n_pixels) uint8, or activations (N, D) float16. Made now if
    they are not there yet.

    TaskError if data or weights are not usable, or if there is no room.
    """
    if (found, layer) not in _held:
        _held[found, layer] = _made(found, layer, console or Console(stderr=True))
    return _held[found, layer]


def _made(found: Found, layer: Layer, console: Console) -> Kept:
    def batches() -> tuple[tuple[int, ...], Iterable[Array]]:
        if layer == "id":
            from trainables.features.images.readers import read_images

            pixels, counts = read_images(found)
            return counts, [pixels]
        from trainables.features.images.vgg import activations

        images = rows(found, "id", console)
        return images.counts, activations(images.rows, layer, Path(found.weights_file), console)

    return array_cache.made(folders(found), wanted(found, layer), batches, console)


def to_make(found: Found, layer: Layer) -> list[Preparation]:
    """Files that `rows` would make: the pixels, and the activations unless the layer is the pixels."""
    layers: tuple[Layer, ...] = ("id",) if layer == "id" else ("id", layer)
    return [_preparation(found, one) for one in layers if not array_cache.found(folders(found), wanted(found, one))]


def _preparation(found: Found, layer: Layer) -> Preparation:
    file = wanted(found, layer)
    n, item = sum(found.most), 1 if layer == "id" else 2
    how_many = f"{n:,}" if found.is_published else f"at most {n:,}"
    what = "pixels" if layer == "id" else f"VGG-16's {layer}"
    text = f"{what} of {how_many} images x {file.row:,} numbers of {item} byte{'s' * (item > 1)}"
    return Preparation(text, array_cache.writable(folders(found)) / f"{file.name}.npy", n * file.row * item)
