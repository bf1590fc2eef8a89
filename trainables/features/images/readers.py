"""Readers of published sets of images, in the order of their classes."""

import io
import pickle
from typing import Any

import numpy as np

from trainables.basics import Array, TaskError
from trainables.features.images.files import Place, content
from trainables.features.images.found import Found

_ARRAYS = {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")} | {
    (f"numpy.{core}.{module}", name)
    for core in ("core", "_core")
    for module, name in (("multiarray", "_reconstruct"), ("numeric", "_frombuffer"))
}
"""Names that a pickle of arrays imports. A pickle that imports anything else could run it when it is opened."""
_IDX_IMAGES, _IDX_LABELS = 2051, 2049
"""First numbers of IDX files of bytes with three dimensions and with one."""


class _OfArrays(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ARRAYS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which images do not need")
        return super().find_class(module, name)


def read_images(found: Found) -> tuple[Array, tuple[int, ...]]:
    """All images, (N, D) uint8, sorted by class, and the number of images of each class; if the set tells training and test
    images apart, first the former, then the latter: then there are twice as many numbers as classes.

    TaskError if the files are not the set's, or if they are torn.
    """
    of, images, labels = found.of, list[Array](), list[Array]()
    for file, place in zip(of.files, found.places, strict=True):
        if of.is_pickled:
            pixels, classes = _pickled(found, place)
            images.append(pixels)
        elif file.n_images:
            images.append(_idx(found, place, _IDX_IMAGES).reshape(-1, of.n_pixels))
            continue
        else:
            classes = _idx(found, place, _IDX_LABELS)
        if len(classes) != len(images[-1]) or classes.min(initial=0) < 0 or classes.max(initial=0) >= of.n_classes:
            kind = "a fine label" if of.labels == "fine_labels" else "a label"
            raise TaskError(f"{place}: each of its {len(images[-1])} images needs {kind} from 0 to {of.n_classes - 1}")
        labels.append(classes + of.n_classes * (of.tells_parts and file.part == "test"))
    order = np.concatenate(labels)
    counts = np.bincount(order, minlength=of.n_classes * (1 + of.tells_parts))
    return np.concatenate(images)[np.argsort(order, kind="stable")], tuple(map(int, counts))


def _pickled(found: Found, place: Place) -> tuple[Array, Array]:
    """Images (n, D) with the colours of a pixel next to each other, and labels (n,), of a pickled file."""
    of, height, width, colours = found.of, *found.of.shape
    try:
        entry = _OfArrays(io.BytesIO(content(place)), encoding="latin1").load()
    except TaskError:
        raise
    except Exception as error:  # a torn pickle may raise anything
        raise TaskError(f"{place} is no file of {of.title}, or it is torn ({error}); unpack the archive again") from error
    try:
        pixels = np.asarray(entry["data"], np.uint8).reshape(-1, colours, height, width).transpose(0, 2, 3, 1)
        return pixels.reshape(-1, of.n_pixels), np.asarray(entry[of.labels], np.int64)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise TaskError(f"{place} does not hold {of.title}'s images, or they are torn: {error!r}") from error


def _idx(found: Found, place: Place, kind: int) -> Array:
    """The numbers of an IDX file: images (n, height, width) uint8, or labels (n,) int64."""
    whole, shape = content(place), found.of.shape if kind == _IDX_IMAGES else ()
    header = np.frombuffer(whole[: 8 + 4 * len(shape)], ">u4") if len(whole) >= 8 + 4 * len(shape) else np.zeros(2)
    numbers = np.frombuffer(whole, np.uint8, offset=min(len(whole), 8 + 4 * len(shape)))
    wanted = (kind, numbers.size // max(1, int(np.prod(shape))), *shape)
    if tuple(map(int, header)) != wanted or numbers.size != wanted[1] * int(np.prod(shape)):
        what = f"images of {' x '.join(map(str, shape))}" if shape else "labels"
        raise TaskError(f"{place} is no file of {what} as {found.of.title} has, or it is torn; get it again")
    return numbers.reshape(-1, *shape) if shape else numbers.astype(np.int64)
