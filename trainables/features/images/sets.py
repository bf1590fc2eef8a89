"""Sets of images as their authors publish them: the files, their digests and sizes. No torch, so that planning is quick."""

from math import prod
from typing import Literal, NamedTuple


class Published(NamedTuple):
    """A file of a set, as its authors publish it."""

    name: str
    md5: str
    """Digest of the content, unpacked."""
    n_bytes: int
    """Size of the content. A file of that size with another content counts as the published one, damaged."""
    n_images: int
    """0 for a file of labels."""
    part: Literal["train", "test"]


class ImageSet(NamedTuple):
    """A set of images with classes."""

    name: str
    """Its name in cell ids; where the files are a user's own, a digest stands there."""
    title: str
    torchvision: str
    """Its class in torchvision.datasets, which downloads it."""
    folders: tuple[str, ...]
    """Where its files may lie, relative to `data_dir`: the first is where its archive unpacks and where torchvision looks."""
    files: tuple[Published, ...]
    """Files of labels follow those of their images."""
    shape: tuple[int, ...]
    """(height, width), or (height, width, 3) with the colours of a pixel next to each other."""
    n_classes: int
    labels: str
    """Key of the labels in a pickled file; empty for IDX files, which have labels in files of their own."""
    urls: tuple[str, ...]
    megabytes: int
    archive_md5: str = ""
    """Digest of the archive that the one URL names; empty where each URL names a file, compressed."""
    tells_parts: bool = True
    """True if the training images alone train, and the test images alone test."""

    @property
    def is_pickled(self) -> bool:
        """True for pickled files, which hold images and labels; else files are in the format IDX, and may be compressed."""
        return bool(self.labels)

    @property
    def n_pixels(self) -> int:
        """Numbers of an image."""
        return prod(self.shape)

    @property
    def archive(self) -> str:
        """File name of the archive; empty if there is none."""
        return self.urls[0].rsplit("/", 1)[1] if self.archive_md5 else ""


_CIFAR = "https://www.cs.toronto.edu/~kriz"

CIFAR100 = ImageSet(
    "cifar100", "CIFAR-100", "CIFAR100", ("cifar-100-python",),
    (
        Published("train", "16019d7e3df5f24257cddd939b257f8d", 155_249_918, 50_000, "train"),
        Published("test", "f0ef6b0ae62326f3e7ffdfab6717acfc", 31_049_958, 10_000, "test"),
    ),
    (32, 32, 3), 100, "fine_labels", (f"{_CIFAR}/cifar-100-python.tar.gz",), 169, "eb9058c3a382ffc7106e4002c42a8d85",
    tells_parts=False,
)  # fmt: skip
"""[Krizhevsky 2009]; torchvision lists the same md5 sums."""

CIFAR10 = ImageSet(
    "cifar10", "CIFAR-10", "CIFAR10", ("cifar-10-batches-py",),
    (
        Published("data_batch_1", "c99cafc152244af753f735de768cd75f", 31_035_704, 10_000, "train"),
        Published("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec", 31_035_320, 10_000, "train"),
        Published("data_batch_3", "54ebc095f3ab1f0389bbae665268c751", 31_035_999, 10_000, "train"),
        Published("data_batch_4", "634d18415352ddfa80567beed471001a", 31_035_696, 10_000, "train"),
        Published("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb", 31_035_623, 10_000, "train"),
        Published("test_batch", "40351d587109b95175f43aff81a1287e", 31_035_526, 10_000, "test"),
    ),
    (32, 32, 3), 10, "labels", (f"{_CIFAR}/cifar-10-python.tar.gz",), 170, "c58f30108f718f92721af3b95e74349a",
)  # fmt: skip

_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"

MNIST = ImageSet(
    "mnist", "MNIST", "MNIST", ("MNIST/raw", ""),
    (
        Published("train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb", 47_040_016, 60_000, "train"),
        Published("train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624", 60_008, 0, "train"),
        Published("t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea", 7_840_016, 10_000, "test"),
        Published("t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637", 10_008, 0, "test"),
    ),
    (28, 28), 10, "",
    tuple(f"{_MNIST}/{name}.gz" for name in (
        "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte",
    )),
    12,
)  # fmt: skip
"""[LeCun 1998]; torchvision lists the md5 sums of the compressed files, these are of their content."""

SETS = {one.name: one for one in (CIFAR100, CIFAR10, MNIST)}
