"""Keys as axes, legends and captions show them: their titles and their one order, both from their declarations."""

from collections.abc import Container, Iterable, Mapping
from typing import Any, get_args

from sweepkit.console.words import shown
from sweepkit.declarations.columns import Column, Key, Role
from sweepkit.declarations.keys import KEYS, WORDS

KINDS = ("degree", "leap", "capacity", "difficulty", "data_seed")
"""Keys whose numbers tell targets or draws of the data apart, rather than sizes: they are the last to be an abscissa."""

_PARTS: tuple[Role, ...] = get_args(Role)


_ABSENT = {"loss": "the task's own"}
"""Words for a key that a row leaves out where it is the default of its task."""


def title_of(key: str, task: str | None = None, declared: Mapping[str, Column] = KEYS) -> str:
    """The words for a key on axes and in legends. `task`: the task of all points, None if they have several; `declared`: the
    columns of the store."""
    column = declared.get(key)
    return column.title_for(task) if isinstance(column, Key) else key


def spoken(key: str) -> str:
    """The name by which people know a key: `gamma` for `gamma_label`."""
    return key.removesuffix("_label")


def value_of(key: str, value: Any) -> str:
    """A key's value for a person: the word that a grid writes for it, `none` for no value, else `shown`. A loss without a name is
    the default of its task."""
    return _ABSENT.get(key, "none") if value is None else WORDS.get(key, {}).get(value) or shown(value)


def is_label(key: str, declared: Mapping[str, Column] = KEYS) -> bool:
    """Whether the key follows from others and serves to tell networks apart, like `gamma_label`."""
    column = declared.get(key)
    return isinstance(column, Key) and column.derived


def gamma_once(keys: Iterable[str], among: Container[str]) -> list[str]:
    """The keys, without `gamma` if its label is in `among`: lazy networks have one label, but another gamma at each d."""
    return [key for key in keys if not (key == "gamma" and "gamma_label" in among)]


def same_axis(key: str, other: str) -> bool:
    """True if two keys are the same axis, as gamma and its label are."""
    return key == other or {key, other} == {"gamma", "gamma_label"}


def with_gamma(keys: Iterable[str]) -> list[str]:
    """Each of the keys once, and `gamma` if its label is among them: labels are sorted by gamma."""
    known = list(dict.fromkeys(keys))
    return [*known, "gamma"] if "gamma_label" in known and "gamma" not in known else known


def ordering(key: str, among: Container[str]) -> str:
    """The column that gives the order of a key's values: gamma itself for its label, if it is `among` the columns."""
    return "gamma" if key == "gamma_label" and "gamma" in among else key


def captioned(keys: Iterable[str], declared: Mapping[str, Column] = KEYS) -> list[str]:
    """The keys in the order of captions: those of the task, the network and the training, then the seed.

    Within a part, labels come first, and the others follow in the order of their declarations. A name that is no key, such as the
    version of the code, comes before the seed. `gamma` is left out beside its label.
    """
    rank = {name: i for i, name in enumerate(dict.fromkeys([*KEYS, *declared]))}

    def place(key: str) -> tuple[int, bool, int]:
        column = declared.get(key)
        if isinstance(column, Key):
            return _PARTS.index(column.part), not column.derived, rank[key]
        return _PARTS.index("training"), True, len(rank)

    known = list(dict.fromkeys(keys))
    return sorted(gamma_once(known, known), key=place)


def of_data(keys: Iterable[str], declared: Mapping[str, Column] = KEYS) -> list[str]:
    """The given keys that enter the random streams, and so say which data there are."""
    return [key for key in keys if isinstance(column := declared.get(key), Key) and column.in_streams]
