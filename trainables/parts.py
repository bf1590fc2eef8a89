"""The parts of a cell: a task, a network and a training, each a frozen model whose fields are its keys."""

from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic.fields import FieldInfo

from sweepkit.declarations.columns import Key, Kind, Role
from sweepkit.declarations.keys import KEYS

KINDS: dict[Any, Kind] = {int: "whole", float: "number", bool: "truth", str: "text"}
"""Column type of a field, by the field's annotation. `kind_of` also maps a Literal of texts to text."""


NOT_SEARCHED: dict[str, JsonValue] = {"searched": False}
"""Marks a field, as its `json_schema_extra`, along whose key no threshold search runs."""


class Part(BaseModel):
    """One part of a cell with its keys resolved. A subclass's fields are its keys, with their legal values and titles."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    name: ClassVar[str]
    """The part's name in a grid."""
    role: ClassVar[Role]
    version: ClassVar[str] = ""
    """Raised whenever the same keys would give other numbers; empty if SCIENCE_VERSION alone records this."""
    file_digest: ClassVar[str] = ""
    """Digest of the source file of a user's own part; empty for parts of this package."""
    locations: ClassVar[tuple[str, ...]] = ()
    """Keys that hold a place, such as a folder: they enter neither the cell id nor the results."""
    shared_across: ClassVar[tuple[str, ...]] = ()
    """A task's keys that do not enter the random streams: cells that differ only in these see the same draws."""
    free: ClassVar[tuple[str, ...]] = ()
    """Keys in which cells of one pack may differ."""
    hashed_at_default: ClassVar[tuple[str, ...]] = ()
    """Keys that enter the cell id even at their default, as they did when the first results were stored."""
    told: ClassVar[tuple[str, ...]] = ()
    """Keys whose value explains itself: descriptions of a cell show the bare value, even at its default."""

    @property
    def data_source(self) -> str:
        """Digest of the data that the numbers depend on, or their published name; empty for a part without data."""
        return ""

    @property
    def source(self) -> str:
        """Source of the numbers besides the keys: a user's own file and data. It enters the cell id, and a task's also the random
        streams."""
        return "+".join(filter(None, (self.file_digest, self.data_source)))

    @property
    def origin(self) -> str:
        """`text-wikitext-2`: the part's name in versions, before its source. Parts of one origin with other sources are releases
        of one another. Where keys choose a part's files, as the size of given weights does, each choice has its own origin."""
        return self.name

    def identity(self) -> dict[str, Any]:
        """The keys that identify the part, with their values: all but `locations`."""
        return {k: getattr(self, k) for k in type(self).model_fields if k not in self.locations}


@cache
def declared(part: type[Part]) -> dict[str, Key]:
    """Declarations of the part's keys: the shared declaration of that name, else one made from the part's own field."""
    return {name: KEYS.get(name) or _own(part, name, field) for name, field in part.model_fields.items()}


def _own(part: type[Part], name: str, field: FieldInfo) -> Key:
    default = None if field.is_required() or part.role == "task" else field.get_default(call_default_factory=True)
    in_streams = part.role == "task" and name not in (*part.shared_across, *part.locations)
    whole = {"default": default, "of": (part.name,)} if default is not None else {}
    searched = field.json_schema_extra != NOT_SEARCHED
    return Key(name, field.title or name, kind_of(field.annotation) or "text", part.role, in_streams, searched, **whole)


def plain_type(annotation: Any) -> Any:
    """The type of a field's values, without None, which means that a network lacks the key."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    others = [part for part in get_args(annotation) if part is not NoneType]
    return others[0] if len(others) == 1 else annotation


def kind_of(annotation: Any) -> Kind | None:
    """The type of column that holds a field's values; None if no column can hold them."""
    plain = plain_type(annotation)
    if get_origin(plain) is Literal:
        return "text" if all(isinstance(word, str) for word in get_args(plain)) else None
    return KINDS.get(plain)
