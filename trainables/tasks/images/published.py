"""MNIST and CIFAR-10 as their authors publish them, from files of the user's [Nam26 Fig. 1, 2, 11, 13 to 16].

P   training examples, drawn for each seed from the training images. The test takes the authors' test images
"""

from typing import ClassVar

import numpy as np
from pydantic import model_validator
from rich.console import Console

from trainables.basics import Preparation, TaskError
from trainables.features.images import made, sets
from trainables.features.images.found import Found
from trainables.features.images.sets import ImageSet
from trainables.features.images.table import Images, Table
from trainables.tasks.images.labelled import LabelledImages
from trainables.tasks.images.of_files import OfFiles

_WHITE = 255
_held: dict[Found, Images] = {}
"""Images that this process has opened."""


class PublishedImages(LabelledImages, OfFiles):
    """Images of a published set, to be told apart by class."""

    @model_validator(mode="after")
    def _images_are_enough(self) -> "PublishedImages":
        if problem := self._lacks(*self._found.most):
            raise ValueError(problem)
        return self

    @property
    def n_classes(self) -> int:
        return self.image_set.n_classes

    @property
    def shape(self) -> tuple[int, ...]:
        return self.image_set.shape

    @property
    def table_bytes(self) -> int:
        return sum(self._found.most) * self.image_set.n_pixels

    def preparations(self) -> list[Preparation]:
        return made.to_make(self._found, "id")

    def prepare(self, console: Console) -> None:
        made.rows(self._found, "id", console)
        found = self.images()
        if problem := self._lacks(found.n_train or 0, len(found.labels) - (found.n_train or 0)):
            raise TaskError(f"task {self.name}: {problem}")

    def images(self) -> Images:
        if self._found not in _held:
            kept = made.rows(self._found, "id")
            labels = np.repeat(np.arange(len(kept.counts)), kept.counts) % self.n_classes
            n_train = sum(kept.counts[: self.n_classes])
            _held[self._found] = Images(Table(np.asarray(kept.rows), _WHITE), labels, n_train)
        return _held[self._found]

    def _lacks(self, n_train: int, n_test: int) -> str:
        """The reason why files with this many images do not do; empty if they do."""
        if n_train < self.P:
            return f"the files of {self.image_set.title} hold {n_train} training images, so P is at most {n_train}"
        return "" if n_test else f"the files of {self.image_set.title} hold no test image"


class MNIST(PublishedImages):
    """Ten handwritten digits in 60,000 training and 10,000 test images of 28 x 28 pixels, from files of the user's."""

    name: ClassVar[str] = "mnist"
    image_set: ClassVar[ImageSet] = sets.MNIST


class CIFAR10(PublishedImages):
    """Ten kinds of things in 50,000 training and 10,000 test photographs of 32 x 32 pixels, from files of the user's."""

    name: ClassVar[str] = "cifar10"
    image_set: ClassVar[ImageSet] = sets.CIFAR10
