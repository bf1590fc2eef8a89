"""Carries the runs of sweeps to a tracker. A second time it adds what is new, and replaces what has changed."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass

from sweepkit.console.words import listed, nearest
from sweepkit.store.files import Files, ResultsError
from sweepkit.store.sharing.destination import Destination, alone
from sweepkit.store.sharing.runs import Per, Run
from sweepkit.store.sharing.selecting import runs, sweeps


@dataclass
class Shared:
    """The outcome for one sweep: runs that were added, that replaced one with other numbers, and that were there already."""

    added: int = 0
    replaced: int = 0
    there: int = 0


def chosen(files: Files, names: Sequence[str], where: str = "") -> dict[str, int]:
    """The number of networks to share by sweep, of all sweeps if none is named. ResultsError for an unknown sweep or bad SQL."""
    known = sweeps(files, where)
    for name in names:
        if name not in known:
            raise ResultsError(
                f"no finished networks of sweep {name!r}{nearest(name, known) or ';'} sweeps here: {listed(known)}"
            )
    return {name: n for name, n in known.items() if n and (name in names or not names)}


def share(
    files: Files,
    destination: Destination,
    sweep: str,
    per: Per = "network",
    where: str = "",
    seen: Callable[[], None] = lambda: None,
    done: Shared | None = None,
) -> Shared:
    """Share the runs of one sweep; `seen` is called after each. `done` counts meanwhile, for a caller that is interrupted."""
    counted = Shared() if done is None else done
    with alone(destination.place):
        there = destination.complete(sweep)

        def carried(run: Run) -> str:
            if there.get(run.identity) == run.content:
                return "there"
            destination.write(sweep, run)
            return "replaced" if run.identity in there else "added"

        for outcome in _side_by_side(carried, runs(files, sweep, per, where), destination.at_once):
            setattr(counted, outcome, getattr(counted, outcome) + 1)
            seen()
    return counted


def _side_by_side(work: Callable[[Run], str], items: Iterator[Run], at_once: int) -> Iterator[str]:
    """The results of `work` as they come. Items are drawn as they are needed. After an error no further item is begun."""
    if at_once == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(at_once) as pool:
        under_way = set()
        for item in items:
            under_way.add(pool.submit(work, item))
            if len(under_way) >= 2 * at_once:
                finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                yield from (one.result() for one in finished)
        yield from (one.result() for one in under_way)
