"""`python -m benchmarks.card`: how the figures of [Tong25] would fill one H200: packs, and the time that the cost model predicts.

A model, not a measurement. Its inputs are the rates that the engines state for a card (`seconds` in trainables/engines/), the
shapes of the packs that the planner forms, and an H200's 141 GB beside 16 cores; `--measured` takes this machine's card instead.
"""

import argparse
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from orchestrator.cards import Card, cards_here
from orchestrator.cost.calibration import Rates, measured_on_card, with_card_rates
from orchestrator.cost.model import CostModel
from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from orchestrator.plan.forecast import PACK_S
from orchestrator.plan.machine import MEMORY_SHARE, Machine
from orchestrator.plan.missing import enqueue, ordered
from orchestrator.plan.packing import PackQueue
from sweepkit.console.words import duration
from sweepkit.shipped import grids

H200 = Card("NVIDIA H200", 141 * 10**9, has_mps=True)
CORES, CORE_BYTES = 16, 4 * 2**30


def row(path: Path, cost: CostModel, card: Card) -> tuple[int, dict[str, float], list[str]] | None:
    """Networks of a grid, seconds by device, and its line of the table; None where its data are not here."""
    try:
        grid = load_grid(str(path), ())
    except GridError:
        return None
    machine = Machine(CORES, CORE_BYTES, cards=1, card_bytes=int(MEMORY_SHARE * card.bytes), card=card)
    queue = PackQueue(grid.cells, machine, cost)
    enqueue(queue, ordered(grid.cells, range(len(grid.cells)), "seed-first"), "seed-first")
    seconds, networks, on_card = {"cpu": 0.0, "cuda": 0.0}, {"cpu": 0, "cuda": 0}, []
    busy = 0.0
    while pack := queue.next():
        seconds[pack.device] += (pack.seconds + PACK_S) / (CORES if pack.device == "cpu" else 1)
        networks[pack.device] += len(pack.cells)
        if pack.device == "cuda":
            on_card.append(len(pack.cells))
            busy += pack.seconds * cost.on_card([grid.cells[i].cell for i in pack.cells], pack.engine)[1]
        queue.in_flight.clear()
    packs = f"{min(on_card)} to {max(on_card)}" if on_card else ""
    share = f"{busy / seconds['cuda']:.0%}" if on_card else ""
    words = [path.stem, str(networks["cuda"]), str(len(on_card) or ""), packs, share, duration(seconds["cuda"])]
    return len(grid.cells), seconds, [*words, str(networks["cpu"]), duration(seconds["cpu"])]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", action="store_true", help="this machine's card and its measured rates")
    asked = parser.parse_args()
    card, rates = H200, Rates()
    if asked.measured:
        if not cards_here():
            parser.error("there is no card on this machine")
        card = cards_here()[0]
        rates = with_card_rates(Rates(), card, print, measured_on_card)
        if rates == Rates():
            parser.exit(1)  # it has said why
    title = f"{card.name} and {CORES} cores, {'at its measured rates' if asked.measured else 'a model: no card was asked'}"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    for name in ("grid", "networks on the card", "packs", "networks a pack", "card busy", "time", "on cores", "their time"):
        table.add_column(name, justify="left" if name == "grid" else "right")
    total, n = {"cpu": 0.0, "cuda": 0.0}, 0
    for path in [path for name, path in grids().items() if name.startswith("fig")]:
        found = row(path, CostModel(rates), card)
        if found is None:
            table.add_row(path.stem, "needs data that are not here")
            continue
        n += found[0]
        total = {device: total[device] + found[1][device] for device in total}
        table.add_row(*found[2])
    Console(width=150).print(table)
    print(f"{n} networks: {duration(total['cuda'])} on the card, {duration(total['cpu'])} on the cores beside it")


if __name__ == "__main__":
    main()
