"""The facts that all blocks of a grid share while they are checked."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from orchestrator.grid.syntax.problems import Report
from sweepkit.console.yaml_lines import Item
from trainables.metrics.base import Requested
from trainables.networks import Network
from trainables.tasks import Task
from trainables.training import Training


@dataclass(frozen=True)
class Context:
    """The facts that all blocks of a grid share."""

    defaults: Mapping[str, Item]
    overrides: Mapping[str, Item]
    chosen: Mapping[str, Item]
    """The values of `--only`: blocks of other tasks, networks and trainings need not allow the overrides."""
    tasks: Mapping[str, type[Task]]
    networks: Collection[type[Network]]
    trainings: Mapping[str, type[Training]]
    metrics: Mapping[str, Requested]
    all_files_known: bool
    """Whether all files of the user's own parts could be read. If not, an unknown name may come from such a file."""
    limit: int
    report: Report
