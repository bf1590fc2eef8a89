"""A sweep's name that was used before, with other settings or for other networks."""

from orchestrator.grid.load import Grid
from sweepkit.console.words import shown
from sweepkit.declarations.columns import Key
from sweepkit.store.sql import literal, quoted
from sweepkit.store.store import Store
from sweepkit.store.views import Statuses, declared, fetch


def reused(grid: Grid, store: Store, held: Statuses, whole: bool) -> str:
    """A warning where other networks have this grid's name: those of another setting, or those that leave the sweep's plan.

    `held`: the contents of the store. `whole`: the plan of this grid replaces the earlier one."""
    return _of_other_settings(grid, store, whole) or (_leaving(grid, store, held) if whole else "")


def _leaving(grid: Grid, store: Store, held: Statuses) -> str:
    """Networks in the store that were planned under this name and are not in the grid."""
    planned = fetch(store.results, f"SELECT DISTINCT cell_id FROM plans WHERE sweep = {literal(grid.sweep)}")
    here = {one.cell_id for one in grid.cells}
    n = sum(cell_id in held and cell_id not in here for (cell_id,) in planned)
    if not n:
        return ""
    networks, they, leave, stay = ("network", "it", "leaves", "stays") if n == 1 else ("networks", "they", "leave", "stay")
    return (
        f"warning: {n:,} {networks} of {grid.sweep} so far {'is' if n == 1 else 'are'} not in this grid: {they} {leave} the "
        f"sweep's plan as it runs, and {stay} in the results. To keep the two apart, give this sweep another name by --name"
    )


def _of_other_settings(grid: Grid, store: Store, whole: bool) -> str:
    """The keys that have one value in this grid and another one in all networks planned under its name so far.

    Nothing if the grid was only extended or thinned along its axes."""
    kinds = {(id(p.cell.task), id(p.cell.network), id(p.cell.training)): p.cell for p in grid.cells}.values()
    rows = [{**cell.columns(), **({"gamma_label": cell.gamma_label} if cell.gamma_label else {})} for cell in kinds]
    keys = [name for name, column in declared(store.results).items() if isinstance(column, Key) and column.part != "seed"]
    values = {key: {row.get(key) for row in rows} for key in keys if key != "gamma"}  # its label is one for all lazy networks
    held = {name for (name,) in fetch(store.results, "SELECT column_name FROM (DESCRIBE cells)")}
    fixed = {key: of_key.pop() for key, of_key in values.items() if key in held and len(of_key) == 1 and None not in of_key}
    if not fixed:
        return ""
    columns = ", ".join(f"list(DISTINCT {quoted(key)})" for key in fixed)
    [stored] = fetch(store.results, f"SELECT {columns} FROM cells JOIN plans USING (cell_id) WHERE sweep = {literal(grid.sweep)}")
    pairs = zip(fixed.items(), stored, strict=True)
    told = [
        f"{key} = {shown(found[0])} (here {shown(here)})"
        for (key, here), found in pairs
        if found and len(found) == 1 and found[0] not in (here, None)  # None: of before the key was there
    ]
    if not told:
        return ""
    then = "leave the sweep's plan as it runs, and stay in the results" if whole else "are averaged and drawn with these"
    return (
        f"warning: {grid.sweep} is also the name of networks with {'; '.join(told)}: they {then}. "
        "To keep the two apart, give this sweep another name by --name"
    )
