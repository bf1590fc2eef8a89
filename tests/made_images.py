"""Small data sets in the formats of CIFAR and MNIST, and a VGG-16 of random weights: what tests read instead of the real ones."""

import gzip
import pickle
from pathlib import Path

import numpy as np
import torch

from trainables.basics import Array

N_CLASSES = 100


def make_images(folder: Path, train: int = 3, test: int = 1, seed: int = 0) -> None:
    """`cifar-100-python` with this many images of each class in the two files, as the archive of the real one holds them."""
    rng = np.random.default_rng(seed)
    patterns = _patterns(rng, N_CLASSES)
    home = folder / "cifar-100-python"
    home.mkdir(parents=True)
    for name, each in (("train", train), ("test", test)):
        data, labels = _photographs(rng, patterns, each)
        entry = {"data": data, "fine_labels": labels.tolist(), "coarse_labels": (labels // 5).tolist()}
        (home / name).write_bytes(pickle.dumps(entry, protocol=2))


def make_cifar10(folder: Path, train: int = 2, test: int = 3, seed: int = 0) -> None:
    """`cifar-10-batches-py` with this many images of each class in each file."""
    rng = np.random.default_rng(seed)
    patterns = _patterns(rng, 10)
    home = folder / "cifar-10-batches-py"
    home.mkdir(parents=True)
    for name in (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"):
        data, labels = _photographs(rng, patterns, test if name == "test_batch" else train)
        (home / name).write_bytes(pickle.dumps({"data": data, "labels": labels.tolist()}, protocol=2))


def make_mnist(folder: Path, train: int = 10, test: int = 3, seed: int = 0, packed: bool = False) -> None:
    """The four IDX files with this many images of each class; `packed` by gzip. Digits are patterns as of `make_images`."""
    rng = np.random.default_rng(seed)
    patterns = (rng.random((10, 4, 4)) < 0.4).repeat(7, axis=1).repeat(7, axis=2)
    folder.mkdir(parents=True)
    for name, each in (("train", train), ("t10k", test)):
        labels = rng.permutation(np.repeat(np.arange(10), each)).astype(np.uint8)
        images = np.clip(200 * patterns[labels] + rng.normal(0, 30, (len(labels), 28, 28)), 0, 255).astype(np.uint8)
        for kind, numbers in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
            head = np.array([2048 + numbers.ndim, *numbers.shape], ">u4").tobytes()
            file, whole = folder / f"{name}-{kind}", head + numbers.tobytes()
            (folder / f"{file.name}.gz").write_bytes(gzip.compress(whole)) if packed else file.write_bytes(whole)


def _patterns(rng: np.random.Generator, n: int) -> Array:
    """A pattern for each class: 4 x 4 coloured squares on black, a quarter of them lit."""
    return (rng.random((n, 3, 4, 4)) < 0.25).repeat(8, axis=2).repeat(8, axis=3)


def _photographs(rng: np.random.Generator, patterns: Array, each: int) -> tuple[Array, Array]:
    """`each` images of each class, (N, 3072) uint8 as CIFAR's files hold them: the pattern under fine noise; and their labels."""
    labels = rng.permutation(np.repeat(np.arange(len(patterns)), each))
    images = 200 * patterns[labels] + rng.normal(0, 30, (len(labels), 3, 32, 32))
    return np.clip(images, 0, 255).astype(np.uint8).reshape(len(labels), -1), labels


def make_weights(file: Path, seed: int = 0, older_format: bool = False) -> None:
    """The convolutions of a VGG-16, named as in torchvision's file, drawn so that activations stay of order 1 [He 2015]."""
    from torchvision.models import vgg16  # seconds, which most tests of made images spare

    with torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in vgg16().features.state_dict().items()}
    rng = torch.Generator().manual_seed(seed)
    weights = {
        f"features.{name}": torch.randn(shape, generator=rng) * (2 / shape[1:].numel()) ** 0.5
        if len(shape) > 1
        else torch.zeros(shape)
        for name, shape in shapes.items()
    }
    torch.save(weights, file, _use_new_zipfile_serialization=not older_format)
