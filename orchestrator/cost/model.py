"""The cost model: predicted seconds of a cell on each engine, and the engine that costs least.

Seconds are the amounts of work that an engine states, times this machine's rates (orchestrator.cost.calibration), corrected by
the times that packs really took.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from statistics import median
from typing import Any

import duckdb
import numpy as np
from pydantic import ValidationError

from orchestrator.cost.calibration import Rates, cpu_name
from sweepkit.declarations.columns import Key
from sweepkit.store.sql import quoted
from sweepkit.store.views import declared_in
from trainables.basics import TaskError
from trainables.cell import Cell, cell_of, parts_of
from trainables.engines import ENGINES
from trainables.engines.base import among_groups
from trainables.networks import all_networks
from trainables.parts import Part
from trainables.tasks import task_class, task_names
from trainables.training import all_trainings

_LAST_ON_CARDS = 10
"""Packs of each engine on each kind of card that are learned from; a pack may hold a thousand cells."""
_LAST_OF_SHAPE, _LAST_OF_ENGINE = 5, 31
"""Packs that a correction is the median of. A mean would follow the one pack that ran beside other work, or was suspended."""
_EVALUATIONS_MORE = 2
"""The weights at the start and the measures at the end cost about as much as this many evaluations."""


class CostModel:
    """Predicts the seconds of a cell, and learns from the packs that finish. Not thread-safe."""

    def __init__(self, rates: Rates | None = None) -> None:
        self.rates = rates or Rates()
        self._ratios: dict[tuple[object, ...], deque[float]] = {}
        self._typical: dict[tuple[object, ...], float] = {}

    def predicted(self, cell: Cell, engine: str, device: str = "cpu", group: float = 1.0, among: float = inf) -> float:
        """Seconds that a cell takes on one core, before any correction; `group` cells see the same inputs.

        On a card: its share of the time of a pack of `among` such cells.
        """
        full, alone, evaluations = self._parts(cell, engine, device, group)
        return cell.steps * max(full, alone / among) + evaluations

    def predicted_pack(self, cells: Sequence[Cell], engine: str, device: str = "cpu") -> float:
        """Seconds that a pack takes on one core, or on a card, before any correction. On a core its cells cost the same."""
        if device == "cpu":
            return len(cells) * self.predicted(cells[0], engine, device, among_groups(cells))
        return self.on_card(cells, engine)[0]

    def on_card(self, cells: Sequence[Cell], engine: str) -> tuple[float, float]:
        """Seconds that a pack takes on a card, before any correction, and the part of the card that it keeps busy."""
        group = among_groups(cells)
        parts = np.array([self._parts(cell, engine, "cuda", group) for cell in cells])
        full, alone, evaluations = float(parts[:, 0].sum()), float(parts[:, 1].max()), float(parts[:, 2].sum())
        longer = max(full, alone)
        return cells[0].steps * longer + evaluations, full / longer

    def _parts(self, cell: Cell, engine: str, device: str, group: float) -> tuple[float, float, float]:
        """Seconds of a step on a core or a full card, of a step alone on a card (0 on a core), and of all evaluations."""
        kind = ENGINES[engine]
        rates, lone = self.rates.of(kind, device, cell.dtype), self.rates.alone(kind, device, cell.dtype)
        work = kind.step_amounts(cell, group, device)
        evaluation = sum(rates[k] * n for k, n in kind.evaluation_amounts(cell, group).items())
        full, alone = (sum(of.get(k, 0.0) * n for k, n in work.items()) for of in (rates, lone))
        last = cell.last_test_size / cell.test_size if cell.last_test_size != cell.test_size else 0
        return full, alone, (len(cell.evaluations) + last + _EVALUATIONS_MORE) * evaluation

    def seconds(self, cell: Cell, engine: str, device: str = "cpu", group: float = 1.0) -> float:
        """Predicted seconds that a cell takes in a pack, on one core or a full card; `group` cells see the same inputs."""
        key = ENGINES[engine].pack_key(cell, device)
        return self.correction(key, engine, device) * self.predicted(cell, engine, device, group)

    def correction(self, key: tuple[Any, ...], engine: str, device: str) -> float:
        """Median of measured over predicted seconds of the last packs with this `Engine.pack_key`. For a new key: that of the
        engine; 1 before any pack."""
        return self._typical.get((engine, device, key), self._typical.get((engine, device), 1.0))

    def observe(self, cells: Sequence[Cell], engine: str, device: str, seconds: float) -> None:
        """Learn from a finished pack of these cells that took `seconds`."""
        self._learned(cells[0], engine, device, seconds / self.predicted_pack(cells, engine, device))

    def _learned(self, cell: Cell, engine: str, device: str, ratio: float) -> None:
        own = (engine, device, ENGINES[engine].pack_key(cell, device))
        for key, most in ((own, _LAST_OF_SHAPE), ((engine, device), _LAST_OF_ENGINE)):
            ratios = self._ratios.setdefault(key, deque(maxlen=most))
            ratios.append(ratio)
            self._typical[key] = median(ratios)

    def learn(self, connection: duckdb.DuckDBPyConnection, plan: Iterable[Cell] = (), card: str = "") -> None:
        """Learn from the times of the packs in a store: those on CPUs like this one, and those on cards of this name.

        Rows do not say where data and weights lie. The place is taken from the plan's cells; rows of tasks that need a place and
        are not in the plan are left out.
        """
        places: _Places = {
            (cell.task.name, cell.version): {key: getattr(part, key) for part in cell.parts for key in part.locations}
            for cell in plan
            if any(part.locations for part in cell.parts)
        }
        keys = [key for key in declared_in(connection).values() if isinstance(key, Key) and not key.derived]
        names = [key.name for key in keys]

        def read(version: str, values: Sequence[Any]) -> Cell | None:
            return _cell_of(dict(zip(names, values, strict=True)), version, places)

        for row in connection.execute(_measured(keys)).fetchall():
            engine, device, version, same_inputs, seconds, *values = row
            if (cell := read(version, values)) and engine in ENGINES and device == cpu_name():
                predicted = self.predicted(cell, engine, device.split()[0], same_inputs)
                self._learned(cell, engine, device.split()[0], seconds / predicted)
        on_cards = connection.execute(_measured_on_cards(keys), [f"cuda ({card})"]).fetchall() if card else []
        for engine, version, seconds, packed in on_cards:
            cells = [cell for own in packed if (cell := read(version, list(own.values())))]
            if engine in ENGINES and len(cells) == len(packed):
                self.observe(cells, engine, "cuda", seconds)

    def choose(
        self, cell: Cell, slots: Mapping[str, float] | None = None, group: float = 1.0, among: float = inf
    ) -> tuple[str, str]:
        """The engine and the device that should train this cell.

        Engines that are made for some kinds of cells precede general ones; engines for tests are never chosen. On each device
        the engine is the cheapest by prediction. The times of earlier packs do not count there, so that an engine does not
        depend on what ran before. If two engines cost nearly the same, machines may choose differently; their results agree to
        rounding.

        `slots` tells how many packs train at once on each kind of device: all cores against all cards. Between those the times
        of earlier packs do count. `among` cells may share a pack on a card.
        """
        slots = slots or {"cpu": 1}
        able = [engine for engine in ENGINES.values() if not engine.is_oracle and engine.trains(cell)]
        special = [engine for engine in able if not engine.is_general]

        def best(device: str) -> str | None:
            fit = [e.name for e in special or able if device in e.devices]
            return min(fit, key=lambda engine: self.predicted(cell, engine, device, group, among), default=None)

        options = [(engine, device) for device in slots if (engine := best(device))]
        if len(options) == 1:
            return options[0]

        def seconds(engine: str, device: str) -> float:
            correction = self.correction(ENGINES[engine].pack_key(cell, device), engine, device)
            return correction * self.predicted(cell, engine, device, group, among) / slots[device]

        return min(options, key=lambda option: seconds(*option))


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
            from cells where status = 'ok' and seconds > 0 and not starts_with(device, 'cuda')
            group by pack_id, engine, device, science_version
        )
        select * exclude (ended) from packs
        qualify row_number() over (partition by engine, device, {setting} order by ended desc) <= {_LAST_OF_SHAPE}
        order by ended
    """


def _measured_on_cards(keys: Sequence[Key]) -> str:
    """SQL for the last packs of each engine on a kind of card: engine, science version, seconds, and the keys of all cells."""
    return f"""
        select engine, science_version, sum(seconds) as taken,
            list(struct_pack({", ".join(f"{quoted(key.name)} := {quoted(key.name)}" for key in keys)}) order by cell_id)
        from cells where status in ('ok', 'diverged') and seconds > 0 and device = ?
        group by pack_id, engine, science_version having bool_or(status = 'ok')
        qualify row_number() over (partition by engine order by max(finished_at) desc) <= {_LAST_ON_CARDS}
        order by max(finished_at)
    """


def _free() -> set[str]:
    """Keys that are free in every network and training that has them: cells that differ in these alone cost the same."""
    parts: list[type[Part]] = [*all_networks(), *all_trainings()]
    return {name for part in parts for name in part.free if all(name in p.free for p in parts if name in p.model_fields)}


_Places = dict[tuple[str, str], dict[str, Any]]
"""For a task's name and science version, the values of the keys that say where data and weights lie."""


def _cell_of(keys: dict[str, Any], version: str, places: _Places) -> Cell | None:
    """The cell with these keys, or None.

    None if this version refuses the keys, if the numbers are of another version, or if nobody knows where the task's data lie: in
    another place there may be other data, or none. None if the parameters of a user's own network cannot be counted: only
    networks that are to be trained are checked.
    """
    if keys["task"] not in task_names():
        return None
    task_type = task_class(keys["task"])
    place = places.get((task_type.name, version), {})
    if task_type.locations and not place:
        return None
    given = {k: v for k, v in keys.items() if v is not None and k not in (*task_type.model_fields, "task")}
    try:
        network, _ = parts_of(task_type, given.get("network"), given.get("training"))
        of_task, of_network = ({k: v for k, v in place.items() if k in part.locations} for part in (task_type, network))
        task = task_type(**{k: keys[k] for k in task_type.model_fields if k in keys}, **of_task)
        cell = cell_of(task, **given, **of_network)
    except (ValidationError, TaskError, KeyError):
        return None
    return cell if cell.version == version and _is_counted(cell) else None


def _is_counted(cell: Cell) -> bool:
    if cell.network.file_digest:
        try:
            cell.network.n_parameters(cell)
        except (Exception, SystemExit):  # noqa: BLE001 - a user's `init` may raise anything
            return False
    return True
