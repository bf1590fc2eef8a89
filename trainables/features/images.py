"""CIFAR-100 as torchvision reads it, in the order of its classes [Tong25 App. G.5]."""

import os
import pickle
from typing import Any

import numpy as np

from trainables.basics import Array, TaskError
from trainables.features.layers import N_CLASSES, PIXELS

_ARRAYS = {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")} | {
    (f"numpy.{core}.{module}", name)
    for core in ("core", "_core")
    for module, name in (("multiarray", "_reconstruct"), ("numeric", "_frombuffer"))
}
"""Names that a pickle of arrays imports. A pickle that imports anything else could run it when it is opened."""


class _OfArrays(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ARRAYS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which images do not need")
        return super().find_class(module, name)


def read_images(folder: str, official: bool) -> tuple[Array, tuple[int, ...]]:
    """All images of both files, (N, 3072) uint8, sorted by class, and the number of images of each class.

    TaskError if the files are not CIFAR-100's, or if a class has fewer than the two images that a pair of one class needs.
    """
    from torchvision.datasets import CIFAR100

    class Unchecked(CIFAR100):  # type: ignore[misc]
        """torchvision's reader without check sums, for files that are not the official ones."""

        train_list = [[name, None] for name, _ in CIFAR100.train_list]  # noqa: RUF012
        test_list = [[name, None] for name, _ in CIFAR100.test_list]  # noqa: RUF012
        meta = CIFAR100.meta | {"md5": None}

    reader: Any = CIFAR100 if official else Unchecked
    if not official:  # files without known check sums: nothing in them may run
        _check_files(folder, [name for name, _ in (*CIFAR100.train_list, *CIFAR100.test_list)] + [CIFAR100.meta["filename"]])
    try:
        parts = [reader(folder, train=train) for train in (True, False)]
        labels = np.concatenate([np.asarray(part.targets, np.int64) for part in parts])
        images = np.concatenate([np.asarray(part.data, np.uint8).reshape(-1, PIXELS) for part in parts])
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise TaskError(f"{folder}/{CIFAR100.base_folder} does not hold CIFAR-100's files, or they are torn: {error}") from error
    if len(labels) != len(images) or labels.min(initial=0) < 0 or labels.max(initial=0) >= N_CLASSES:
        raise TaskError(f"{folder}/{CIFAR100.base_folder}: each image needs a fine label from 0 to {N_CLASSES - 1}")
    counts = np.bincount(labels, minlength=N_CLASSES)
    if counts.min() < 2:
        few = int(counts.argmin())
        raise TaskError(
            f"{folder}/{CIFAR100.base_folder}: class {few} has {counts[few]} images; each of the {N_CLASSES} needs 2 for a pair"
        )
    return images[np.argsort(labels, kind="stable")], tuple(map(int, counts))


def _check_files(folder: str, names: list[str]) -> None:
    """TaskError with the name of a file that is torn, or that holds more than numbers and arrays."""
    from torchvision.datasets import CIFAR100

    for name in names:
        path = os.path.join(folder, CIFAR100.base_folder, name)
        try:
            with open(path, "rb") as file:
                _OfArrays(file, encoding="latin1").load()
        except Exception as error:  # a torn pickle may raise anything
            raise TaskError(f"{path} is no file of CIFAR-100, or it is torn ({error}); unpack the archive again") from error
