"""A small data set in CIFAR-100's own format, and a VGG-16 of random weights: what tests read instead of the real ones."""

import pickle
from pathlib import Path

import numpy as np
import torch
from torchvision.models import vgg16

N_CLASSES = 100


def make_images(folder: Path, train: int = 3, test: int = 1, seed: int = 0) -> None:
    """`cifar-100-python` with this many images of each class in the two files, as the archive of the real one holds them.

    A class is a pattern of 4 x 4 coloured squares on black, a quarter of them lit; its images are the pattern under fine noise.
    """
    rng = np.random.default_rng(seed)
    patterns = (rng.random((N_CLASSES, 3, 4, 4)) < 0.25).repeat(8, axis=2).repeat(8, axis=3)
    home = folder / "cifar-100-python"
    home.mkdir(parents=True)
    for name, each in (("train", train), ("test", test)):
        labels = rng.permutation(np.repeat(np.arange(N_CLASSES), each))
        images = 200 * patterns[labels] + rng.normal(0, 30, (len(labels), 3, 32, 32))
        data = np.clip(images, 0, 255).astype(np.uint8).reshape(len(labels), -1)
        entry = {"data": data, "fine_labels": labels.tolist(), "coarse_labels": (labels // 5).tolist()}
        (home / name).write_bytes(pickle.dumps(entry, protocol=2))
    names = {"fine_label_names": [f"class{k}" for k in range(N_CLASSES)], "coarse_label_names": [f"super{k}" for k in range(20)]}
    (home / "meta").write_bytes(pickle.dumps(names, protocol=2))


def make_weights(file: Path, seed: int = 0, older_format: bool = False) -> None:
    """The convolutions of a VGG-16, named as in torchvision's file, drawn so that activations stay of order 1 [He 2015]."""
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
