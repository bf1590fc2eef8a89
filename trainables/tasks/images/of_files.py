"""Tasks whose images are files of the user's: looked for when the grid is planned, and found by workers in the same place."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import PrivateAttr, model_validator

from trainables.features.images.found import Found, fetched, look
from trainables.features.images.sets import ImageSet
from trainables.tasks.base import Task


class OfFiles(Task):
    """A task on a published set of images. Their folder, `data_dir`, enters neither the cell id nor the results."""

    locations: ClassVar[tuple[str, ...]] = ("data_dir",)
    image_set: ClassVar[ImageSet]

    data_dir: str = ""
    # Looked up when the grid is planned. Workers get it with the cell, whatever their environment says.
    _found: Found = PrivateAttr()

    @classmethod
    def needs_weights(cls, keys: Mapping[str, Any]) -> bool:
        """Whether a task with these keys needs VGG-16's weights too."""
        return False

    @model_validator(mode="after")
    def _data_are_there(self) -> "OfFiles":
        self._found = look(self.data_dir, self.image_set, self.needs_weights(dict(self)))
        return self

    @classmethod
    def obtain(cls, keys: Mapping[str, Any]) -> None:
        given = {name: keys.get(name, field.default) for name, field in cls.model_fields.items()}
        fetched(given["data_dir"], cls.image_set, cls.needs_weights(given))

    @property
    def data_source(self) -> str:
        return self._found.name
