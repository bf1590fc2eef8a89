"""Kinds of columns: a key or a metric that two parts name alike must be of one kind in both."""

from typing import NamedTuple

from orchestrator.grid.own.files import UserParts
from orchestrator.grid.own.source import UserFileError, line_at, line_of
from sweepkit.declarations.columns import Kind
from trainables.metrics import requested_metric, requested_names
from trainables.networks import all_networks
from trainables.parts import Part, declared
from trainables.tasks import task_class, task_names
from trainables.training import all_trainings

_WORDS = {"whole": "a whole number", "number": "a number", "single": "a number", "truth": "true or false", "text": "text"}


class _Said(NamedTuple):
    kind: Kind
    owner: str


class ColumnKinds:
    """The kinds of all keys and metrics that a grid's parts declare: this package's first, then those of its files."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}
        for part in (*map(task_class, task_names()), *all_networks(), *all_trainings()):
            if not part.file_digest:
                for name, key in declared(part).items():
                    self._said.setdefault(name.lower(), _Said(key.kind, f"{part.role} {part.name} of this package"))
        for asked in map(requested_metric, requested_names()):
            if not asked.metric.digest:
                self._said.setdefault(asked.name.lower(), _Said(asked.metric.kind, f"metric {asked.name} of this package"))

    def add(self, found: UserParts) -> None:
        """Note the keys and metrics of a file's parts; UserFileError if a name is known already, with another kind."""
        parts: tuple[type[Part], ...] = (*found.tasks.values(), *found.networks)
        for part in parts:
            for name, key in declared(part).items():
                if name in part.locations:
                    continue
                if why := self._refusal(name, _Said(key.kind, f"{part.role} {part.name}")):
                    raise UserFileError(f"{part.role} {part.__name__}, field {name}: {why}", line_of(found.file, part, name))
        for asked in found.metrics.values():
            if why := self._refusal(asked.name, _Said(asked.metric.kind, f"metric {asked.name}")):
                raise UserFileError(f"metric {asked.name}: {why}", line_at(found.file, rf"def {asked.name}\b"))

    def _refusal(self, name: str, said: _Said) -> str:
        """Why the results cannot hold both columns; empty if they can. Names of columns do not differ by case."""
        earlier = self._said.setdefault(name.lower(), said)
        if earlier.kind == said.kind:
            return ""
        kinds = f"it is {_WORDS[said.kind]} here and {_WORDS[earlier.kind]} in {earlier.owner}"
        return f"{kinds}, and one column of the results holds both; name it otherwise"
