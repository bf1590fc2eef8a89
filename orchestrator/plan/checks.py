"""Checks of a user's own tasks, networks, trainings and metrics by what they return, before anything starts or is written."""

import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from typing import Any

from orchestrator.grid.load import Grid
from orchestrator.grid.own.files import register_user_file
from orchestrator.grid.own.source import UserFile
from orchestrator.grid.planned import PlannedCell
from orchestrator.grid.syntax.problems import GridError, Problem, Report
from sweepkit.console.terminal import told
from sweepkit.console.words import shown
from trainables.cell import Cell
from trainables.checking.part import Finding
from trainables.checking.task import check_task
from trainables.metrics import Requested
from trainables.parts import Part

MOST_SETTINGS = 16
"""Most settings in which a part is checked. If a grid has more: the first, the last, and some evenly spread between them."""

LARGEST_TRIED = 2**22
"""Most weights of a layer in every width of which a network is checked: about a second. Wider ones are checked where they are
smallest."""

PATIENCE_S = 10.0
"""Seconds after which a part that is being tried is named."""

Check = Callable[[], list[Finding]]
Setting = tuple[Cell, Check]
"""A cell that has the part, and the function that checks the part in this cell."""
Values = dict[str, Any]
"""Parameters of a cell, its parts and its seed among them, with their values."""


def check_own_parts(grid: Grid, cells: Sequence[int]) -> list[str]:
    """Check the user's own parts that these cells have. Returns warnings, one per line. GridError names everything that is wrong.

    Networks are checked in each width, trainings and metrics where the network is smallest, and all of them only with other parts
    that are sound.
    """
    if not grid.user_files:
        return []
    wrong, odd, bad = Report(), Report(), set[object]()

    def look(
        file: UserFile,
        part: type[Part] | Requested,
        settings: Iterable[Setting],
        has: Callable[[PlannedCell], bool] = lambda planned: True,
        values: Callable[[Cell], Values] = _values,
    ) -> None:
        settings = list(settings)
        with _telling_of(file, part):
            found = [(cell, check()) for cell, check in settings]
        for problem, is_wrong in _told(
            file, found, lambda cell: _setting(values(cell), (values(p.cell) for p in grid.cells if has(p)))
        ):
            (wrong if is_wrong else odd).extend([problem])
            if is_wrong:
                bad.add(part)

    defined = [register_user_file(file) for file in grid.user_files]
    planned = list({(id(p.cell.task), id(p.cell.network), p.save): p for p in (grid.cells[i] for i in cells)}.values())
    for found in defined:
        for task in found.tasks:
            has = partial(_has, task)
            of_task = first_of_each(filter(has, planned), lambda cell: (cell.task, _is_sampled(cell)))
            settings = [(cell, partial(check_task, cell.task, _is_sampled(cell))) for cell in of_task]
            look(found.file, task, settings, has, lambda cell: cell.task.identity())  # the check is given nothing else of a cell
    planned = sorted((p for p in planned if type(p.cell.task) not in bad), key=lambda p: p.cell.width * p.cell.task.input_dim)
    if any(found.networks or found.trainings or found.metrics for found in defined):
        # These load torch, which takes seconds; a grid whose own parts are tasks does not need it.
        from trainables.checking.metric import check_metric
        from trainables.checking.network import check_network, check_size
        from trainables.checking.optimiser import check_optimiser
    for found in defined:
        for network in found.networks:
            has = partial(_has, network)
            of_network = first_of_each(filter(has, planned), _network_and_kind_of_task)
            look(found.file, network, ((cell, partial(check_network, cell)) for cell in of_network), has)
            if network not in bad:  # every shape: the forecast draws weights of each, and a few settings were checked at most
                shapes = {p.cell.shape(): p.cell for p in filter(has, (grid.cells[i] for i in cells))}
                look(found.file, network, ((cell, partial(check_size, cell)) for cell in shapes.values()), has)
    planned = [p for p in planned if type(p.cell.network) not in bad]
    for found in defined:
        for training in found.trainings:
            has = partial(_has, training)
            of_training = first_of_each(
                filter(has, planned), lambda cell: (type(cell.network), *cell.training.identity().items())
            )
            look(found.file, training, ((cell, partial(check_optimiser, cell)) for cell in of_training), has)
    # Metrics are measured on examples of the task. A task whose files are still to be made has none yet.
    planned = [p for p in planned if not p.cell.task.preparations()]
    for found in defined:
        for asked in found.metrics:
            having = first_of_each(
                (p for p in planned if asked.name in p.save), lambda cell: (type(cell.network), type(cell.task))
            )
            look(found.file, asked, ((cell, partial(check_metric, asked, cell)) for cell in having))
    if wrong:
        raise GridError(wrong.problems)
    return list(map(str, odd.problems))


@contextmanager
def _telling_of(file: UserFile, part: type[Part] | Requested) -> Iterator[None]:
    """Inside, prints of a user's part go to standard error, and a part that takes long is named: it may never end."""
    said = f"{file.path}: still trying {part.name}, before anything is trained; if it never ends, stop it by Ctrl-C"
    timer = threading.Timer(PATIENCE_S, told, [said])
    timer.daemon = True
    timer.start()
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        timer.cancel()


def first_of_each(planned: Iterable[PlannedCell], of: Callable[[Cell], Hashable]) -> list[Cell]:
    """The first cell of each kind. If there are many kinds: of some of them, evenly spread from the first to the last."""
    kinds: dict[Hashable, Cell] = {}
    for p in planned:
        kinds.setdefault(of(p.cell), p.cell)
    cells, n = list(kinds.values()), MOST_SETTINGS
    return cells if len(cells) <= n else [cells[k * (len(cells) - 1) // (n - 1)] for k in range(n)]


def _is_sampled(cell: Cell) -> bool:
    return cell.training.family == "sampling"


def _network_and_kind_of_task(cell: Cell) -> Hashable:
    keys = dict(cell.network.identity())
    if cell.width * cell.task.input_dim > LARGEST_TRIED:
        keys.pop("width", None)
    return tuple(keys.items()), type(cell.task), cell.task.n_outputs, cell.dtype


def _has(part: type[Part], planned: PlannedCell) -> bool:
    return any(type(own) is part for own in planned.cell.parts)


def _values(cell: Cell) -> Values:
    found: Values = {}
    for part in cell.parts:
        found |= {part.role: part.name, **part.identity()}
    if "gamma" in found:
        found["gamma"] = cell.gamma_label
    return found | {"seed": cell.seed}


def _setting(own: Values, among: Iterable[Values]) -> str:
    """The parameters that vary among these cells, with their values in one of them, in words. A parameter varies among the cells
    that have it."""
    varying = {name for other in among for name, value in other.items() if name in own and own[name] != value}
    return ", ".join(f"{name} = {shown(value)}" for name, value in own.items() if name in varying and value is not None)


def _told(
    file: UserFile, found: Sequence[tuple[Cell, list[Finding]]], setting: Callable[[Cell], str]
) -> Iterator[tuple[Problem, bool]]:
    """One problem for each line of the file that has any, and whether it is an error. A line with errors gives one of these.

    Each problem names a setting in which it occurs: nobody knows on which of the parameters it depends.
    """
    lines = {finding.line for _, findings in found for finding in findings}
    for line in lines:
        here = [(cell, finding) for cell, findings in found for finding in findings if finding.line == line]
        cell, finding = min(here, key=lambda pair: not pair[1].is_wrong)
        words = setting(cell)
        if len(found) > 1 and all(any(finding.line == line for finding in findings) for _, findings in found):
            words = words and f"each of {len(found)} settings tried, such as {words}"
        message = f"{finding.message} ({words})" if words else finding.message
        yield Problem(file.path, line, message, finding.trace), finding.is_wrong
