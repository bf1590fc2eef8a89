"""The work of a worker on a pack: train it on its engine, turn results into rows, commit them. Knows no Ray."""

import os
import socket
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from orchestrator.cost.calibration import cpu_name
from orchestrator.grid.planned import PlannedCell
from orchestrator.saved import held_as, why_without
from sweepkit.console.errors import own_line
from sweepkit.console.words import in_a_line
from sweepkit.declarations.columns import Column
from sweepkit.store.store import Store
from trainables.basics import TaskError
from trainables.cell import Cell
from trainables.engines import ENGINES
from trainables.engines.base import Result
from trainables.metrics import requested_metric, requested_names
from trainables.metrics.base import MOST
from trainables.pictures import MOST_EXTREME, OF_EACH_LABEL, pictures_of, pictures_of_weights
from trainables.result import CellResult
from trainables.trainers.card.faults import card_faults, release
from trainables.trainers.run import PackRun


@dataclass(frozen=True)
class Provenance:
    """The store to which a sweep's rows go, the commit of the code that computed them, and the time of the last row that they
    replace: a row counts as newer whatever the clocks of two machines say."""

    results: str
    git_sha: str
    replaced: datetime | None = None


@dataclass(frozen=True)
class Outcome:
    """The report of a committed pack: status and headline measure of its cells, seconds of training, and the device."""

    statuses: tuple[str, ...]
    headline: tuple[float | None, ...]
    seconds: float
    device: str


def _use_threads(n: int) -> None:
    """Let torch, and the BLAS of NumPy and SciPy, use this many threads. Ray sets OMP_NUM_THREADS only when these may
    have read it: two packs on two cores then had four threads of BLAS."""
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(n)
    os.environ["OPENBLAS_NUM_THREADS"] = str(n)  # for a library that is loaded later
    threadpool_limits(n)


@contextmanager
def keeping_threads() -> Iterator[None]:
    """Afterwards libraries have as many threads as before: those of a notebook, in which a sweep may run."""
    import torch
    from threadpoolctl import threadpool_limits

    before, told = torch.get_num_threads(), os.environ.get("OPENBLAS_NUM_THREADS")
    with threadpool_limits():  # sets nothing, and gives back what it found
        try:
            yield
        finally:
            torch.set_num_threads(before)
            os.environ.pop("OPENBLAS_NUM_THREADS", None)
            os.environ.update({"OPENBLAS_NUM_THREADS": told} if told is not None else {})


class PackWork:
    """One pack in training in this process. All libraries use as many threads as the pack has cores."""

    def __init__(self, pack_id: str, members: Sequence[PlannedCell], engine: str, device: str, threads: int = 1) -> None:
        _use_threads(threads)
        self.pack_id, self.members, self.device = pack_id, list(members), device
        if device != "cpu":
            release()  # the pack before this one has ended
        cells = [planned.cell for planned in members]
        for cell in {planned.cell.task: planned.cell for planned in members if "weights" in planned.save}.values():
            _check_pictures(cell)
        self.engine = engine
        with card_faults(device):
            self.run = ENGINES[engine].make(cells, device)
        self.run.watch([_asked(one) for one in members])

    @property
    def fraction(self) -> float:
        """Share of the steps done."""
        return self.run.step / self.run.n_steps

    def advance(self, seconds: float, provenance: Provenance) -> Outcome | None:
        """Train for about this many seconds. If that ends the training, write the pack's file and return the outcome.

        Once the file is written, the pack is never trained again.
        """
        with card_faults(self.device):
            self.run.advance(seconds)
            return self.commit(provenance) if self.run.done else None

    def curves_so_far(self) -> list[dict[str, Any]]:
        """The cells whose curves can be read while they train, each with `cell_id`, its keys under `keys`, and its `curve`."""
        if not isinstance(self.run, PackRun):  # chains are no training curves
            return []
        pairs = zip(self.members, self.run.so_far(), strict=True)
        return [
            {"cell_id": one.cell_id, "keys": one.cell.columns() | {"gamma_label": one.cell.gamma_label}, "curve": curve}
            for one, curve in pairs
        ]

    def commit(self, provenance: Provenance) -> Outcome:
        """Write the pack's file and return the outcome. ResultsError if the store cannot be written."""
        results = self.run.results()
        device = device_name(self.device)
        # `_row` writes the weights that it names, so that they are in the store before the pack.
        pairs = enumerate(zip(self.members, results, strict=True))
        rows = [self._row(c, planned, result, device, provenance) for c, (planned, result) in pairs]
        Store(provenance.results).commit(self.pack_id, rows, declared_of(self.members))
        cell = self.members[0].cell
        headline, _ = cell.training.headline_of(type(cell.task))
        statuses, values = (tuple(row[k] for row in rows) for k in ("status", headline))
        return Outcome(statuses, values, self.run.seconds, self.device)

    def _row(self, c: int, planned: PlannedCell, result: Result, device: str, provenance: Provenance) -> dict[str, Any]:
        row = common_columns(planned, self.pack_id, provenance) | result.summary()
        row |= {"engine": self.engine, "device": device, **result.lists(planned.save)}
        if result.status != "ok":
            return row  # diverged networks have nothing to look at
        lacking = dict[str, str]()
        names = _asked(planned)
        if names:
            values, lacking = self.run.measured(c, names)
            row |= values
        row |= {one.metric.name: one.value for one in planned.carried if one.metric}
        run, readout = self.run, result.readout if isinstance(result, CellResult) else None
        if "weights" in planned.save and isinstance(run, PackRun) and readout is not None:
            try:
                pictures = pictures_of(planned.cell, run.trainer, c, readout).rows()
            except Exception as error:  # noqa: BLE001 - what was trained is kept, whatever a task raises; the next run wants its weights
                lacking["weights"] = in_a_line(error)
            else:
                row["weights_file"] = Store(provenance.results).write_weights(planned.cell_id, pictures)
        # A metric that failed counts as measured, too, or each run would train for it.
        holds = [*map(held_as, names), *(one.request for one in planned.carried)]
        reasons = [row["reason"], *(why_without(extra, error) for extra, error in lacking.items())]
        reasons += [one.reason for one in planned.carried]
        return {**row, "measured": holds or None, "reason": "; ".join(filter(None, reasons)) or None}


def _asked(planned: PlannedCell) -> list[str]:
    """Names of the metrics on request that are to be saved of a cell."""
    return sorted(planned.save.intersection(requested_names()))


def _check_pictures(cell: Cell) -> None:
    """Let the task show its examples and a row of weights. TaskError if it fails, so that it does not fail after training."""
    task = cell.task
    try:
        pictures_of_weights(cell, np.zeros(1, np.int64), np.zeros(1), np.zeros((1, task.input_dim), np.float32)).rows()
    except MemoryError:
        raise  # a smaller pack may fit
    except Exception as error:
        raise TaskError(
            f"save: weights wants pictures of task {task.name}, and its shown_examples or as_shown fails: {in_a_line(error)}"
        ) from error


def declared_of(members: Sequence[PlannedCell]) -> list[Column]:
    """Declarations of the columns of these cells' rows: the keys of their parts, and metrics asked for or carried over."""
    kinds = {(type(p.cell.task), type(p.cell.network), type(p.cell.training)): p.cell for p in members}
    found: dict[str, Column] = {}
    for cell in kinds.values():
        found |= cell.declared()
    names = {name for p in members for name in p.save}.intersection(requested_names())
    carried = {one.metric.name: one.metric for p in members for one in p.carried if one.metric}
    metrics = carried | {name: requested_metric(name).metric for name in sorted(names)}
    return [*found.values(), *metrics.values()]


def failed_row(planned: PlannedCell, pack_id: str, reason: str, log_path: str, provenance: Provenance) -> dict[str, Any]:
    """The row of a cell that could not be trained."""
    return common_columns(planned, pack_id, provenance) | {"status": "failed", "reason": reason, "log_path": log_path}


def common_columns(planned: PlannedCell, pack_id: str, provenance: Provenance) -> dict[str, Any]:
    """Keys of the cell and origin of the row."""
    cell = planned.cell
    return {
        "cell_id": planned.cell_id,
        **cell.columns(),
        "gamma_label": cell.gamma_label,
        "pack_id": pack_id,
        "finished_at": _later_than(provenance.replaced),
        "git_sha": provenance.git_sha,
        "science_version": cell.version,
        "host": socket.gethostname(),
    }


def _later_than(replaced: datetime | None) -> datetime:
    now = datetime.now(UTC)
    return max(now, replaced + timedelta(microseconds=1)) if replaced else now


_PICTURE_BYTES = 1024
"""Bytes that a picture takes in a file of weights beside its numbers: its other columns, and its share of the footer."""


def row_bytes(planned: PlannedCell) -> int:
    """Most bytes that a cell takes in the store, uncompressed: its row, and its file of weights."""
    cell, save = planned.cell, planned.save
    curve = 36 * len(cell.evaluations) if "curves" in save else 0
    neurons, examples = 2 * MOST_EXTREME, 2 * OF_EACH_LABEL
    numbers = neurons * cell.task.input_dim + examples * cell.task.shown_size
    weights = 4 * numbers + (neurons + examples) * _PICTURE_BYTES if "weights" in save else 0
    lengths = {**MOST, "evaluation": len(cell.evaluations)}
    asked = 4 * sum(lengths.get(requested_metric(name).metric.per, 1) for name in _asked(planned))
    return 1024 + curve + (8 * cell.width if "neurons" in save else 0) + weights + asked


def device_name(device: str) -> str:
    """The device as rows name it: `cuda (NVIDIA H200)`, `cpu (x86_64, 2 cores)`."""
    if device == "cpu":
        return cpu_name()
    import torch

    return f"{device} ({torch.cuda.get_device_name()})"


@dataclass(frozen=True)
class Failure:
    """Why a pack could not be trained: one line for people, the whole traceback, and whether a smaller pack may do."""

    reason: str
    log: str
    out_of_memory: bool = False

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        """The failure that an exception describes, with the line of the user's own code that it came through. If it is Ray's and
        wraps a worker's, the worker's gives the reason."""
        cause = getattr(error, "cause", None)  # for a dead actor Ray puts a text there
        told = cause if isinstance(cause, BaseException) else error
        line = traceback.format_exception_only(told)[-1].strip().splitlines()[0]
        if place := own_line(told):
            line = f"{line[:400]} ({place})"
        memory = isinstance(told, MemoryError) or type(told).__name__ == "OutOfMemoryError"
        memory = memory or any(words in str(error) for words in _OUT_OF_MEMORY)
        return cls(line[:500], "".join(traceback.format_exception(error)), memory)


_OUT_OF_MEMORY = ("not enough memory", "can't allocate memory", "running low on memory", "OutOfMemoryError")
"""Words in the messages of PyTorch's allocator and Ray's memory monitor. Ray mentions the OOM killer for any dead worker, so it
is not among them."""
