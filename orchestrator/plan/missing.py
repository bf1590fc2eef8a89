"""The cells that a sweep has to train: those that the store lacks, in the order in which they start."""

import random
from collections.abc import Collection, Sequence
from itertools import groupby

from orchestrator.grid.planned import PlannedCell
from orchestrator.plan.packing import LATE, Order, PackQueue
from orchestrator.saved import held_as
from sweepkit.store.views import Held, Statuses


def missing_cells(
    plan: Sequence[PlannedCell],
    statuses: Statuses,
    among: Sequence[int] | None = None,
    *,
    retry_failed: bool = False,
    force: bool = False,
) -> list[int]:
    """Positions of the cells that want training, out of the positions `among` or out of all. With `force`, every cell wants it.

    A cell wants training if it is not stored, if it is stored without some of the extras asked for, or, with `retry_failed`,
    if it failed.
    """

    asked: dict[frozenset[str], frozenset[str]] = {}

    def wanted(planned: PlannedCell) -> bool:
        status, extras = statuses.get(planned.cell_id, Held("missing", frozenset()))
        if status == "missing":
            return True
        if status == "failed":
            return retry_failed
        if planned.save not in asked:
            asked[planned.save] = frozenset(map(held_as, planned.save))
        return status == "ok" and not asked[planned.save] <= extras

    return [i for i in (range(len(plan)) if among is None else among) if force or wanted(plan[i])]


def why_again(planned: PlannedCell, held: Held) -> str:
    """Why a stored network is trained again, such as `stored without weights`; empty where it lacks nothing."""
    if held.status != "ok":
        return f"{held.status} before"
    lacking = sorted(extra for extra in planned.save if held_as(extra) not in held.extras)
    edited = [extra for extra in lacking if any(has.partition("@")[0] == extra for has in held.extras)]
    without = [extra for extra in lacking if extra not in edited]
    reasons = [f"without {' and '.join(without)}"] * bool(without)
    reasons += [f"with {' and '.join(edited)} of another version of its file"] * bool(edited)
    return f"stored {' and '.join(reasons)}" if reasons else ""


def ordered(plan: Sequence[PlannedCell], cells: Sequence[int], order: Order) -> list[int]:
    """The cells in the order in which they start. `seed-first`: the whole grid for one seed, then for the next."""
    if order == "grid":
        return list(cells)
    if order == "shuffled":
        return random.Random(0).sample(list(cells), len(cells))
    rank = {seed: k for k, seed in enumerate(dict.fromkeys(planned.cell.seed for planned in plan))}
    return sorted(cells, key=lambda i: rank[plan[i].cell.seed])


def enqueue(queue: PackQueue, cells: Sequence[int], order: Order, late: Collection[int] = ()) -> None:
    """Add ordered cells to the queue, the `late` ones last. With `seed-first` a pack keeps to one seed if that is enough work."""
    seeds = groupby((i for i in cells if i not in late), lambda i: queue.plan[i].cell.seed if order == "seed-first" else 0)
    for rank, (_, group) in enumerate(seeds):
        queue.add(list(group), rank)
    queue.add([i for i in cells if i in late], LATE)
