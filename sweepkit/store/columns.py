"""A declaration as a column of a file: the column's name, its type, and metadata that carry the declaration.

A further column is one that the package `declarations` does not declare, for example a key of a user's own task.
"""

import json
import re
from dataclasses import fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pyarrow as pa

from sweepkit.declarations.columns import Column, Fact, Key, Kind, Metric

TYPES: dict[Kind, pa.DataType] = {
    "text": pa.string(), "whole": pa.int64(), "number": pa.float64(), "single": pa.float32(), "truth": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
}  # fmt: skip
"""The Arrow type for values of each kind."""

FURTHER: tuple[Kind, ...] = ("text", "whole", "number", "single", "truth")
"""The kinds that a further column may have. Two files may differ in these, and a query can still read both."""

DECLARATION = b"declaration"
"""The metadata key under which a column holds its declaration, as text."""

_ROLES: dict[str, type[Column]] = {role.role_of_column: role for role in (Key, Metric, Fact)}
_SCALARS: dict[Kind, tuple[type, ...]] = {
    "text": (str,), "whole": (int,), "number": (float, int), "single": (float, int), "truth": (bool,), "time": (),
}  # fmt: skip


def is_list(declared: Column) -> bool:
    """True if the declared column holds a list of values per row."""
    return isinstance(declared, Metric) and declared.per != "network"


def column_of(declared: Column) -> str:
    """The name of the declared column. No key can be called `evaluation:NAME`, so lists and numbers never meet in one column."""
    if isinstance(declared, Metric) and declared.per != "network":
        return declared.column or f"{declared.per}:{declared.name}"
    return declared.name


def type_of(declared: Column) -> pa.DataType:
    """The Arrow type of the declared column."""
    return pa.list_(TYPES[declared.kind]) if is_list(declared) else TYPES[declared.kind]


def field_of(declared: Column) -> pa.Field:
    """The declared column, with the whole declaration as metadata."""
    return pa.field(column_of(declared), type_of(declared), metadata={DECLARATION: declared.described()})


def known_field_of(declared: Column) -> pa.Field:
    """The column of something in `declarations`. Its metadata are role and title only: readers know the rest."""
    told = json.dumps({"role": declared.role_of_column, "title": declared.title})
    return pa.field(column_of(declared), type_of(declared), metadata={DECLARATION: told})


def read_field(name: str, kind: pa.DataType, told: bytes | None) -> Column:
    """The declaration of a further column in a file. ValueError if the column has none that can be read.

    Versions that had no declarations yet wrote further columns only for keys of tasks, and without metadata.
    """
    if told is None:
        kinds = {TYPES[one]: one for one in FURTHER}
        if kind not in kinds:
            raise ValueError(f"is {kind}")
        return Key(name, name, kinds[kind], in_streams=True)
    per, _, plain = name.rpartition(":")
    try:
        declared = read_declaration(plain, told.decode())
    except ValueError as error:
        raise ValueError(f"has no declaration that can be read: {error}") from None
    if column_of(declared) != name or (per and not is_list(declared)) or type_of(declared) != kind:
        raise ValueError(f"is {kind}, which is not what its declaration says")
    return declared


def read_declaration(name: str, told: str) -> Column:
    """The declaration that `described` wrote. ValueError if the text is none, or one that no further column can have."""
    try:
        words = json.loads(told)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(words, dict) or words.get("role") not in _ROLES:
        raise ValueError(f"its role is none of {', '.join(_ROLES)}")
    try:
        declared = _ROLES[words.pop("role")].read(name, words)
    except TypeError as error:
        raise ValueError(str(error)) from None
    check_further(declared)
    return declared


def check_further(declared: Column) -> None:
    """Check that a declaration, from code or from a file, can be that of a further column. ValueError if not."""
    hints = get_type_hints(type(declared))
    for field in fields(declared):
        if not _is_a(getattr(declared, field.name), hints[field.name]):
            raise ValueError(f"its {field.name} is {getattr(declared, field.name)!r}")
    if declared.kind not in FURTHER:
        raise ValueError(f"its kind is {declared.kind}, not one of {', '.join(FURTHER)}")
    if isinstance(declared, Metric) and (declared.expression or declared.column):
        raise ValueError("an expression and a column are for the metrics in sweepkit/declarations/metrics.py")
    if isinstance(declared, Metric) and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", declared.name):
        raise ValueError("the name of a metric is letters, digits and '_'")
    default = getattr(declared, "default", None)
    if default is not None and not is_of(default, declared.kind):
        raise ValueError(f"its default {default!r} is not {declared.kind}")


def is_of(value: Any, kind: Kind) -> bool:
    """Whether a Python value is of that kind without conversion."""
    return isinstance(value, _SCALARS[kind]) and (kind == "truth" or not isinstance(value, bool))


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a field of a declaration has a value of its type. A tuple may hold texts, and tuples of texts to any depth."""
    if hint is Any:
        return isinstance(value, NoneType | str | bool | int | float)
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint in (str, bool):
        return isinstance(value, hint)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, tuple) and _holds_texts(value)


def _holds_texts(value: Any) -> bool:
    return all(map(_holds_texts, value)) if isinstance(value, tuple) else isinstance(value, str)


def wider(one: Kind, other: Kind) -> Kind:
    """The kind that a query shows if files differ in the kind of a column."""
    if one == other:
        return one
    return "text" if "text" in (one, other) else "number"
