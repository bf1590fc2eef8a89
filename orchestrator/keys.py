"""The keys of a grid: which ones a task has, and which values each may take. Everything is read off the pydantic fields."""

import math
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from orchestrator.problems import listed, nearest, pydantic_reason, show
from trainables.cells import KINDS, kind_of
from trainables.tasks import Task

BLOCK_KEYS = ("task", "zip", "exclude", "find", "save")
"""Keys of a block beside those of its task and of the cell."""

LAZY = "lazy"
"""The word for gamma -> 0, resolved for each task when cells are made."""

_KINDS: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}

INT64_MAX = 2**63 - 1
"""The store's whole numbers are of 64 bits."""


@dataclass(frozen=True)
class Key:
    """One key and its legal values. `check` raises ValueError with what is wrong."""

    name: str
    field: FieldInfo
    adapter: TypeAdapter[Any]

    @property
    def type(self) -> Any:
        """What its values are; a key that some networks lack may also be left out."""
        annotation = self.field.annotation
        if get_origin(annotation) not in (Union, UnionType):
            return annotation
        others = [part for part in get_args(annotation) if part is not NoneType]
        return others[0] if len(others) == 1 else annotation

    @property
    def is_whole(self) -> bool:
        return self.type is int

    @property
    def takes_numbers(self) -> bool:
        return self.type in (int, float)

    @property
    def legal(self) -> str:
        """The legal values in words: `a whole number >= 2`."""
        signs = {Ge: ">=", Gt: ">", Le: "<=", Lt: "<"}
        bounds = [f"{signs[type(m)]} {getattr(m, type(m).__name__.lower())}" for m in self.field.metadata if type(m) in signs]
        annotation = self.type
        if get_origin(annotation) is Literal:
            return f"one of {listed(map(str, get_args(annotation)))}"
        text = " ".join(
            [_KINDS.get(annotation) or f"a {getattr(annotation, '__name__', annotation)}", " and ".join(bounds)]
        ).strip()
        return f"{text}, or the word `lazy`" if self.name == "gamma" else text

    def check(self, value: Any) -> Any:
        """The value as the cell holds it; ValueError says what is wrong."""
        if self.name == "gamma" and value == LAZY:
            return LAZY
        if self.is_whole and isinstance(value, float) and value.is_integer():
            value = int(value)
        try:
            checked = self.adapter.validate_python(value)
        except ValidationError as error:
            raise ValueError(self._refusal(value, error)) from None
        if self.is_whole and checked is not None and checked > INT64_MAX:
            raise ValueError(f"{self.name} = {show(value)}: too large for a whole number of 64 bits")
        return checked + 0.0 if isinstance(checked, float) else checked  # -0.0 and 0.0 are one value

    def _refusal(self, value: Any, error: ValidationError) -> str:
        text = f"{self.name} = {show(value)}: "
        if self.name == "gamma" and isinstance(value, int | float) and not isinstance(value, bool) and value <= 0:
            return text + "must be > 0; the way to say zero is the word `lazy` (gamma = 1e-5/sqrt(d))"
        known = self.takes_numbers or self.type in (bool, str) or get_origin(self.type) is Literal
        text += f"must be {self.legal}" if known and _is_plain(self.field) else pydantic_reason(error)
        if isinstance(value, float) and not math.isfinite(value):
            return text + ", and finite"
        if self.takes_numbers and isinstance(value, str):
            if _reads_as_number(value):
                return text + "; write it without quotes"
            return text + (nearest(value, [LAZY]) if self.name == "gamma" else "")
        return text + nearest(value, map(str, get_args(self.type)))


def _is_plain(field: FieldInfo) -> bool:
    """Whether `Key.legal` says all there is to say of the field."""
    return all(isinstance(m, Ge | Gt | Le | Lt) for m in field.metadata)


def _reads_as_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _key(name: str, field: FieldInfo) -> Key:
    annotated = Annotated[field.annotation, field]  # type: ignore[name-defined]
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotated, config=ConfigDict(strict=True, allow_inf_nan=False))
    except PydanticUserError:  # a model or dataclass as annotation brings its own configuration
        adapter = TypeAdapter(annotated)
    return Key(name, field, adapter)


_OF_KIND = {kind: {name: _key(name, f) for name, f in kind.model_fields.items() if name != "task"} for kind in KINDS}

CELL_KEYS = {name: key for keys in reversed(_OF_KIND.values()) for name, key in keys.items()}
"""Keys of networks, training and seed, of all kinds of cells; where kinds share one, that of networks trained by SGD."""


@cache
def axis_keys(task: type[Task]) -> dict[str, Key]:
    """All keys of the task that may be axes: its own, then the cell's."""
    return {name: _key(name, field) for name, field in task.model_fields.items()} | _OF_KIND[kind_of(task)]


def default_of(task: type[Task], key: Key) -> Any:
    """The value of a key that a block leaves out; KeyError where it must be given."""
    if key.name == "base_lr":
        return task.default_base_lr
    if key.field.is_required():
        raise KeyError(key.name)
    return key.field.get_default(call_default_factory=True)


def legal_keys(task: type[Task]) -> list[str]:
    """Everything a block of this task may hold."""
    return [*BLOCK_KEYS[:1], *axis_keys(task), *BLOCK_KEYS[1:]]
