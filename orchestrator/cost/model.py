"""The cost model: predicted seconds of a cell on each engine, and the engine that costs least.

Seconds are the amounts of work that an engine states, times this machine's rates (orchestrator.cost.calibration), corrected by
the times that packs really took.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import numpy as np
from pydantic import ValidationError

from declarations.key import Key
from orchestrator.cost.calibration import Rates, cpu_name
from store.sql import quoted
from store.views import declared_in
from trainables.cell import Cell, cell_of
from trainables.engines import ENGINES
from trainables.networks import all_networks
from trainables.parts import Part
from trainables.tasks import task_class, task_names
from trainables.training import all_trainings

_EVALUATIONS_MORE = 2
"""The weights at the start and the measures at the end cost about as much as this many evaluations."""


class CostModel:
    """Predicts the seconds of a cell, and learns from the packs that finish. Not thread-safe."""

    def __init__(self, rates: Rates | None = None) -> None:
        self.rates = rates or Rates()
        self._of_shape: dict[tuple[object, ...], float] = {}
        self._of_engine: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._typical: dict[tuple[str, str], float] = {}

    def predicted(self, cell: Cell, engine: str, device: str = "cpu", group: float = 1.0) -> float:
        """Seconds that a cell takes on one core (or on the GPU), before any correction; `group` cells see the same inputs."""
        rates = self.rates.of(ENGINES[engine], device, cell.dtype)
        step = sum(rates[k] * n for k, n in ENGINES[engine].step_amounts(cell, group).items())
        evaluation = sum(rates[k] * n for k, n in ENGINES[engine].evaluation_amounts(cell, group).items())
        return cell.steps * step + (cell.steps // cell.eval_every + _EVALUATIONS_MORE) * evaluation

    def seconds(self, cell: Cell, engine: str, device: str = "cpu", group: float = 1.0) -> float:
        """Predicted seconds that a cell takes in a pack, on one core (or on the GPU); `group` cells see the same inputs."""
        return self.correction(cell.shape(), engine, device) * self.predicted(cell, engine, device, group)

    def correction(self, shape: tuple[Any, ...], engine: str, device: str) -> float:
        """Measured over predicted seconds of packs of this shape. For a new shape: the engine's median; 1 before any pack."""
        return self._of_shape.get((engine, device, shape), self._typical.get((engine, device), 1.0))

    def observe(self, cell: Cell, engine: str, device: str, seconds: float, group: float = 1.0) -> None:
        """Learn from a cell of a finished pack that took `seconds`."""
        ratio = seconds / self.predicted(cell, engine, device, group)
        key = (engine, device, cell.shape())
        old = self._of_shape.get(key, ratio)
        self._of_shape[key] = (old + ratio) / 2
        recent = self._of_engine[engine, device] = [*self._of_engine[engine, device][-30:], ratio]
        self._typical[engine, device] = float(np.median(recent))

    def learn(self, connection: duckdb.DuckDBPyConnection, plan: Iterable[Cell] = ()) -> None:
        """Learn from the times of the packs in a store.

        Rows do not say where a task's data lie. The place is taken from the plan's tasks; rows of tasks that need a place and are
        not in the plan are left out.
        """
        places: _Places = {
            (cell.task.name, cell.version): {key: getattr(cell.task, key) for key in cell.task.locations}
            for cell in plan
            if cell.task.locations
        }
        keys = [key for key in declared_in(connection).values() if isinstance(key, Key) and not key.derived]
        names = [key.name for key in keys]
        for row in connection.execute(_measured(keys)).fetchall():
            engine, device, version, same_inputs, seconds, *values = row
            cell = _cell_of(dict(zip(names, values, strict=True)), version, places)
            if cell is not None and engine in ENGINES and _is_here(device):
                self.observe(cell, engine, device.split()[0], seconds, same_inputs)

    def choose(self, cell: Cell, device: str = "cpu", group: float = 1.0) -> tuple[str, str]:
        """The engine and the device that should train this cell: the cheapest by prediction.

        Engines that are made for some kinds of cells precede general ones; engines for tests are never chosen. The times of
        earlier packs do not count, so that the choice does not depend on what ran before. If two engines cost nearly the same,
        machines may choose differently; their results agree to rounding.
        """
        able = [engine for engine in ENGINES.values() if not engine.is_oracle and engine.trains(cell)]
        special = [engine for engine in able if not engine.is_general]
        options = [(e.name, d) for e in special or able for d in dict.fromkeys(("cpu", device)) if d in e.devices]
        return min(options, key=lambda option: self.predicted(cell, option[0], option[1], group))


def _measured(keys: Sequence[Key]) -> str:
    """SQL for the times of packs: engine, device, science version, cells that see the same inputs, seconds, and a cell's keys.

    Cells of a pack see the same inputs if task and seed are the same, as `groups_of` counts them. Only the last few packs of
    each setting are read, because a store may hold many thousands.
    """
    free = _free()
    inputs = ", ".join(quoted(key.name) for key in keys if key.part in ("task", "seed"))
    setting = ", ".join(quoted(key.name) for key in keys if key.part != "seed" and key.name not in free)
    return f"""
        with packs as (
            select engine, device, science_version, count(*) / count(distinct ({inputs})) as same_inputs,
                median(seconds) as seconds, max(finished_at) as ended,
                unnest(arg_min(struct_pack({", ".join(f"{quoted(key.name)} := {quoted(key.name)}" for key in keys)}), cell_id))
            from cells where status = 'ok' and seconds > 0 group by pack_id, engine, device, science_version
        )
        select * exclude (ended) from packs
        qualify row_number() over (partition by engine, device, {setting} order by ended desc) <= 3
        order by ended
    """


def _free() -> set[str]:
    """Keys that are free in every network and training that has them: cells that differ in these alone cost the same."""
    parts: list[type[Part]] = [*all_networks(), *all_trainings()]
    return {name for part in parts for name in part.free if all(name in p.free for p in parts if name in p.model_fields)}


def _is_here(device: str) -> bool:
    """Whether times on a row's device predict times here: those on any GPU do, and those on CPUs like this one."""
    return not device.startswith("cpu") or device == cpu_name()


_Places = dict[tuple[str, str], dict[str, Any]]
"""For a task's name and science version, the values of the keys that say where its data lie."""


def _cell_of(keys: dict[str, Any], version: str, places: _Places) -> Cell | None:
    """The cell with these keys, or None.

    None if this version refuses the keys, if the numbers are of another version, or if nobody knows where the task's data lie: in
    another place there may be other data, or none.
    """
    if keys["task"] not in task_names():
        return None
    task_type = task_class(keys["task"])
    place = places.get((task_type.name, version), {})
    if task_type.locations and not place:
        return None
    given = {k: v for k, v in keys.items() if v is not None and k not in (*task_type.model_fields, "task")}
    try:
        task = task_type(**{k: keys[k] for k in task_type.model_fields if k in keys}, **place)
        cell = cell_of(task, **given)
    except (ValidationError, KeyError):
        return None
    return cell if cell.version == version else None
