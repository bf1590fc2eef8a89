"""Things of the core and of all known studies by name: gathered when they are first asked for, and anew when more are known."""

from collections.abc import Callable, Iterator, Mapping, ValuesView
from pathlib import Path
from typing import TypeVar

from sweepkit.studies import folders

T = TypeVar("T")


class Gathered(Mapping[str, T]):
    """Things of the core and of all studies by name."""

    def __init__(self, gather: Callable[[], Mapping[str, T]]) -> None:
        self._gather = gather
        self._of: Mapping[str, Path] | None = None
        self._held: Mapping[str, T] = {}

    def _all(self) -> Mapping[str, T]:
        now = folders()
        if now is not self._of:
            self._held, self._of = self._gather(), now
        return self._held

    def __getitem__(self, name: str) -> T:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def values(self) -> ValuesView[T]:
        """All of them; unlike that of a Mapping, it looks once whether more are known."""
        return self._all().values()

    def __len__(self) -> int:
        return len(self._all())
