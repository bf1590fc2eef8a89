"""The keys that a block may set, and the legal values of each.

Both come from the pydantic fields of the block's task, networks and training.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BeforeValidator, ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from sweepkit.console.words import listed, nearest, pydantic_reason, show
from trainables.cell import Cell, default_of
from trainables.networks import Network, all_networks, network_class
from trainables.parts import Part, plain_type
from trainables.tasks import Task
from trainables.training import Training, all_trainings, training_class

BLOCK_KEYS = ("task", "zip", "exclude", "find", "save")
"""Keys of a block besides the keys of its parts."""
PARTS = ("network", "training")
"""Keys that name a part other than the task."""

LAZY = "lazy"
"""The word for gamma -> 0. Its value is worked out for each task when cells are made."""

_KINDS: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}

INT64_MAX = 2**63 - 1
"""The largest whole number that the store can hold, in 64 bits."""


class Kind(NamedTuple):
    """The parts of some cells of a block: a task, networks that have the same keys, and a training."""

    task: type[Task]
    networks: tuple[type[Network], ...]
    training: type[Training]

    @property
    def network(self) -> type[Network]:
        """One of the networks, which all have the same keys."""
        return self.networks[0]

    def traits(self) -> dict[str, str | None]:
        """The traits of all its networks (`Cell.traits`), but what the networks do not share and what keys decide."""
        sampled = "yes" if self.training.family == "sampling" else "no"
        return {"training": self.training.name, "sampled": sampled, **self.task.traits()}


@dataclass(frozen=True)
class Legal:
    """The legal values of one key."""

    name: str
    field: FieldInfo
    adapter: TypeAdapter[Any]

    @property
    def type(self) -> Any:
        """The type of the key's values, without None for a key that may be absent."""
        return plain_type(self.field.annotation)

    @property
    def is_whole(self) -> bool:
        return self.type is int

    @property
    def takes_numbers(self) -> bool:
        return self.type in (int, float)

    @property
    def takes_mapping(self) -> bool:
        """True if a value may be a mapping that the field itself reads, as {log: 8}; a mapping for a number is an axis."""
        return not self.takes_numbers and any(isinstance(m, BeforeValidator) for m in self.field.metadata)

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
        word = LAZY if self.name == "gamma" else _word(self.field)
        return f"{text}, or the word `{word}`" if word else text

    def check(self, value: Any) -> Any:
        """The value as the cell holds it; ValueError says what is wrong with it."""
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
        text = f"{self.name}{in_short(self.name)} = {show(value)}: "
        if self.name == "gamma" and isinstance(value, int | float) and not isinstance(value, bool) and value <= 0:
            return text + "must be > 0; the way to say zero is the word `lazy` (the output is then divided by 1e-5)"
        known = self.takes_numbers or self.type in (bool, str) or get_origin(self.type) is Literal
        text += f"must be {self.legal}" if known and _is_plain(self.field) else pydantic_reason(error)
        if isinstance(value, float) and not math.isfinite(value):
            return text + ", and finite"
        if self.takes_numbers and isinstance(value, str):
            if _reads_as_number(value):
                return text + "; write it without quotes"
            if call := re.match(r"([a-z]\w*)\s*\(([^()]*)(\)?)", value):
                name, arguments, is_whole = call.groups()
                return text + f"; in YAML write {{{name}: [{arguments}]}}" if is_whole else text + "; its bracket is not closed"
            if value.startswith("[") and value.endswith("]"):
                return text + "; write the list without quotes"
            return text + nearest(value, [LAZY] if self.name == "gamma" else [_word(self.field)])
        return text + nearest(value, map(str, get_args(self.type)))


SHORT = {"init": "initial"}
"""Short words for keys in a grid. No key can be called `init` itself: it is the method by which a network draws its weights."""
EXAMPLE = "{range: [2, 13]}"
"""An axis as YAML writes it."""


def in_short(key: str) -> str:
    """` (in short, init)` for a key that has a short word, which a grid may have used; else nothing."""
    return next((f" (in short, {short})" for short, full in SHORT.items() if full == key), "")


def _is_plain(field: FieldInfo) -> bool:
    """Whether `Legal.legal` describes all constraints of the field."""
    plain = (Ge, Gt, Le, Lt, BeforeValidator) if _word(field) else (Ge, Gt, Le, Lt)
    return all(isinstance(m, plain) for m in field.metadata)


def _word(field: FieldInfo) -> str:
    """The word that stands for one of a field's numbers; empty if none does."""
    extra = field.json_schema_extra
    return str(extra.get("word", "")) if isinstance(extra, dict) else ""


def _reads_as_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _legal(name: str, field: FieldInfo) -> Legal:
    annotated = Annotated[field.annotation, field]  # type: ignore[name-defined]
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotated, config=ConfigDict(strict=True, allow_inf_nan=False))
    except PydanticUserError:  # a model or dataclass as annotation brings its own configuration
        adapter = TypeAdapter(annotated)
    return Legal(name, field, adapter)


@cache
def keys_of(part: type[Part]) -> dict[str, Legal]:
    """The keys of one part."""
    return {name: _legal(name, field) for name, field in part.model_fields.items()}


SEED = {"seed": _legal("seed", Cell.model_fields["seed"])}


@cache
def _one_of(name: str, names: tuple[str, ...]) -> Legal:
    """A key whose values are names of parts."""
    return _legal(name, FieldInfo.from_annotation(Literal[names] if names else str))  # type: ignore[arg-type]


def part_key(name: str, legal: Iterable[str]) -> Legal:
    """The key `network` or `training`, whose legal values are these names."""
    return _one_of(name, tuple(legal))


@cache
def axis_keys(kind: Kind) -> dict[str, Legal]:
    """All keys that may be axes: those of the task, the network and the training, and the seed."""
    names = {"network": tuple(n.name for n in kind.networks), "training": (kind.training.name,)}
    named = {name: _one_of(name, of) for name, of in names.items()}
    found = keys_of(kind.task) | {"network": named["network"]} | keys_of(kind.network)
    return found | {"training": named["training"]} | keys_of(kind.training) | SEED


def default_value(kind: Kind, key: str) -> Any:
    """The value of a key that a block leaves out; KeyError if a block must give the key."""
    if key in PARTS:
        return kind.task.default_of(key)
    for part in (kind.task, kind.network, kind.training):
        if key in part.model_fields:
            return default_of(kind.task, part, key)
    raise KeyError(key)


def alike(networks: Sequence[type[Network]]) -> list[tuple[type[Network], ...]]:
    """The networks in groups. The networks of a group have the same keys, with the same legal values and defaults."""
    groups: dict[Any, list[type[Network]]] = {}
    for network in networks:
        fields = tuple((name, str(field)) for name, field in network.model_fields.items())
        groups.setdefault(fields, []).append(network)
    return [tuple(dict.fromkeys(group)) for group in groups.values()]


def usual_kind(task: type[Task], training: type[Training] | None = None) -> Kind:
    """The kind with the task's default network and this training; if none is given, with the task's default training.

    If the training can train no network of the default's name, the kind has the first network that it can train.
    """
    trained = training or training_class(task.default_of("training"))
    try:
        return Kind(task, (network_class(task.default_of("network"), trained.family),), trained)
    except KeyError:
        return Kind(task, tuple(n for n in all_networks() if n.family == trained.family)[:1], trained)


def part_axis_keys() -> dict[str, Legal]:
    """Keys of all networks and trainings, and the seed. If several parts have a key, that of the first part counts."""
    found: dict[str, Legal] = {}
    for part in (*all_networks(), *all_trainings()):
        found = keys_of(part) | found
    return found | SEED


def legal_keys(kind: Kind) -> list[str]:
    """All keys that a block of this kind may hold."""
    return [*BLOCK_KEYS[:1], *axis_keys(kind), *BLOCK_KEYS[1:]]
