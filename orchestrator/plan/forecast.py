"""The forecast of `--dry-run`: cells, packs, seconds and memory, by engine and shape, before anything starts."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestrator.cards import cards_here
from orchestrator.cost.calibration import RAY_S
from orchestrator.grid.top import Resources
from orchestrator.plan.machine import Machine, Node
from orchestrator.plan.packing import Pack, PackQueue
from sweepkit.console.tables import write_plain
from sweepkit.console.words import counted, duration
from trainables.cell import Cell
from trainables.limits import available_bytes, cores

LOADING_S = 5.0
"""Seconds in which a sweep's own process loads its libraries, and its answer is made, on a machine that was not measured."""
PACK_S = 0.15
"""Seconds that a pack costs beside its training: to hand it to a worker, and to write its file."""


@dataclass(frozen=True)
class ShapeForecast:
    """Cells of one shape: `seconds` is their total training time, `pack_bytes` the memory of their largest pack."""

    shape: str
    engine: str
    device: str
    cells: int
    packs: int
    seconds: float
    pack_bytes: int


@dataclass(frozen=True)
class Forecast:
    """Everything that would run; `wall_s` is predicted for `slots` packs at once."""

    shapes: tuple[ShapeForecast, ...]
    slots: int
    wall_s: float
    """From the command to its end, Ray's start included."""
    bytes: int
    """Memory of all workers together, each with the largest pack that it gets, without that of cards."""
    cards: int = 0
    card: str = ""
    card_bytes: int = 0
    """Memory of the cards together, each with the largest pack that it gets."""

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {"cells": sum(s.cells for s in self.shapes), **asdict(self)}


@dataclass
class Slot:
    """A core or a card of the forecast: when it has finished its packs so far, and the memory of its largest."""

    device: str
    free: float = 0.0
    held: int = 0


def this_machine(want: Resources, max_concurrent: int | None = None) -> Machine:
    """Slots and memory for packs on this machine's CPUs and cards, without asking Ray."""
    cards = cards_here() if want.gpus_per_pack else ()
    here = Node(max(1, int(cores() // want.cpus_per_pack)), available_bytes(), len(cards))
    return Machine.of([here], max_concurrent, cards[0] if cards else None, want.gpus_per_pack)


def forecast(queue: PackQueue, in_process: bool = False) -> Forecast:
    """Form the packs of a filled queue as a runner would, and add up their costs. `in_process`: without
    Ray, whose start it leaves out."""
    formed: list[tuple[Cell, Pack]] = []
    slots = [Slot("cpu") for _ in range(queue.machine.slots)]
    slots += [Slot("cuda") for _ in range(int(queue.machine.throughput.get("cuda", 0)))]
    parts = [(p.cell.network, p.cell.training) for p in queue.plan]
    several = [of_role[0].role for of_role in zip(*parts, strict=True) if len({part.name for part in of_role}) > 1]
    while pack := queue.next():
        places = queue.machine.places(pack.bytes) if pack.device == "cpu" else 1
        taken = sorted((slot for slot in slots if slot.device == pack.device), key=lambda slot: slot.free)[:places]
        end = max(slot.free for slot in taken) + pack.seconds + PACK_S
        for slot in taken:
            slot.free, slot.held = end, max(slot.held, pack.bytes // len(taken))
        formed.append((queue.plan[pack.cells[0]].cell, pack))
        queue.in_flight.clear()
    found: dict[tuple[str, str, str], list[float]] = {}
    shapes_of: dict[tuple[str, ...], set[tuple[Any, ...]]] = {}
    for cell, _ in formed:
        shapes_of.setdefault(_names(cell), set()).add(cell.shape())
    differing = {names: _differing(alike) for names, alike in shapes_of.items()}
    for cell, pack in formed:
        fields = type(cell.task).model_fields
        # Other keys of the task are left out of the shape's words at their default.
        shown = {"network", "training", "width", "steps", *differing[_names(cell)]}
        keys = {k: v for k, v in cell.keys().items() if k in shown or (k in fields and v != fields[k].default)}
        keys |= {part.role: part.name for part in cell.parts if part.role in several}
        keys = {k: v for k, v in keys.items() if k not in cell.task.shared_across and v is not None}
        keys |= _ranges([queue.plan[i].cell for i in pack.cells], keys)
        told = {name for part in cell.parts for name in part.told}
        words = [cell.task.name, *(str(v) if k in told else f"{k}={v}" for k, v in keys.items())]
        shape = " ".join([*words, *(["noise"] if getattr(cell.task, "sigma2", 0) else [])])
        entry = found.setdefault((shape, pack.engine, pack.device), [0, 0, 0.0, 0])
        entry[0] += len(pack.cells)
        entry[1] += 1
        entry[2] += pack.seconds
        entry[3] = max(entry[3], pack.bytes)
    shapes = [ShapeForecast(*key, int(n), int(p), s, int(b)) for key, (n, p, s, b) in found.items()]
    start = (max(queue.cost.rates.start_s - RAY_S, LOADING_S) if in_process else queue.cost.rates.start_s) if shapes else 0.0
    ends, cards = max(slot.free for slot in slots), sum(slot.device == "cuda" for slot in slots)
    held, on_cards = (sum(slot.held for slot in slots if slot.device == device) for device in ("cpu", "cuda"))
    name = queue.machine.card.name if queue.machine.card else ""
    return Forecast(tuple(shapes), queue.machine.slots, start + ends, held, cards, name, on_cards)


def _ranges(cells: Sequence[Cell], keys: Collection[str]) -> dict[str, str]:
    """The values of keys in which the cells of a pack differ: `2..12`."""
    several = [one.keys() for one in {id(cell.task): cell for cell in cells}.values()]
    values = {k: {own[k] for own in several if k in own} for k in keys}
    return {k: f"{min(found)}..{max(found)}" for k, found in values.items() if len(found) > 1}


def _names(cell: Cell) -> tuple[str, ...]:
    return tuple(part.name for part in cell.parts)


def _differing(shapes: Collection[tuple[Any, ...]]) -> set[str]:
    """The keys in which these shapes differ; a key at its default may be missing from a shape."""
    shared = set.intersection(*map(set, shapes))
    return {key for shape in shapes for key, value in shape if (key, value) not in shared}


def print_forecast(found: Forecast, out: Console, most: int = 20, goes_on: bool = False) -> None:
    """Print the forecast, the costliest shapes first. Words that all shapes share stand once, above the table. `goes_on`: whether
    searches ask for further networks once these are trained."""
    shapes = sorted(found.shapes, key=lambda s: -s.seconds)
    cells, packs = sum(s.cells for s in shapes), sum(s.packs for s in shapes)
    sizes = f"{cells} cell{'s' * (cells != 1)} in {packs} pack{'s' * (packs != 1)}"
    cards = f" and on {found.cards} GPU{'s' * (found.cards > 1)} ({found.card})" if found.card_bytes else ""
    room = f"{found.bytes / 2**30:.1f} GiB" + (f" and {found.card_bytes / 2**30:.1f} on GPUs" if found.card_bytes else "")
    sizes += ", the first batch" if goes_on else ""
    title = f"{sizes}: about {duration(found.wall_s)} with {counted(found.slots, 'pack')} at once{cards}, up to {room}"
    words = [s.shape.split() for s in shapes]
    common = [word for word in words[0] if len(shapes) > 1 and all(word in others for others in words)] if words else []
    table = Table(box=SIMPLE_HEAD)
    for name in ("shape", "engine", "device", "cells", "packs", "time", "GiB per pack"):
        table.add_column(name, justify="left" if name in ("shape", "engine", "device") else "right", no_wrap=name != "shape")
    for s, own in zip(shapes[:most], words, strict=False):
        shape = " ".join(word for word in own if word not in common) or "defaults"
        table.add_row(shape, s.engine, s.device, str(s.cells), str(s.packs), duration(s.seconds), f"{s.pack_bytes / 2**30:.2f}")
    if len(shapes) > most:
        rest = shapes[most:]
        table.add_row(f"... {len(rest)} more shapes", "", "", str(sum(s.cells for s in rest)), str(sum(s.packs for s in rest)),
                      duration(sum(s.seconds for s in rest)), "")  # fmt: skip
    for line in (title, *([f"all of them: {' '.join(common)}"] if common else [])):
        out.print(Text(line), soft_wrap=True)
    if out.is_terminal:
        out.print(table)
    else:
        write_plain(table, out)
