"""The pages of the app that have something to show for a sweep, and what would give the others something."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from analysis.data.keys import KINDS, gamma_once
from analysis.data.measures import MAIN, main_of, measures
from analysis.data.networks.saved import HOLDING, RICHNESS
from analysis.data.selection import grid_keys, one_of, values_of
from analysis.studies.gathered import Gathered
from analysis.studies.loading import studies
from analysis.studies.page import Page
from sweepkit.declarations.columns import Key
from sweepkit.store.sql import literal, quoted
from sweepkit.store.views import declared, fetch


class Varying(NamedTuple):
    """The finished networks of one task in a sweep: their number, the numeric keys that vary, and what else pages ask for."""

    task: str
    n_ok: int
    numbers: frozenset[str]
    """Keys with at least two values, all of them numbers."""
    positive: frozenset[str]
    """Keys of `numbers` whose values above 0 vary, and which are sizes of tasks or networks: how the least width depends on a
    learning rate is no scaling law."""
    pages: frozenset[str]
    """Pages of studies that have something to show."""
    has_thresholds: bool = False
    """True if `_thresholds` finds some; looked up only where two keys are `positive`."""


class Need(NamedTuple):
    """The networks that a page shows, in words, and a grid that trains some, with its length on two cores."""

    networks: str
    grid: str
    takes: str
    shows: Callable[[Varying], bool]
    """Says if the page has something to show for the finished networks of one task, of which there is at least one."""
    everyday: bool = False
    """True if the page shows something of nearly every sweep."""
    others: str = ""
    """Words about further grids that train more."""


_CORE = {
    "curves": Need(
        "networks at two values of a parameter that is a number",
        "grid.yaml",
        "a minute or two",
        lambda found: bool(found.numbers),
        everyday=True,
    ),
    "structure": Need(
        "a finished network; `save: [curves, neurons]` in a grid keeps what it draws",
        "grid.yaml",
        "a minute or two",
        lambda found: True,
        everyday=True,
    ),
    "scaling": Need(
        "networks of one task at several values of one parameter, such as L, for each of two values of another, such as d; an "
        "exponent takes three",
        "quick",
        "a quarter of an hour",
        lambda found: found.has_thresholds,
        others="searches by `find` in a grid train what thresholds need, as `lstar_quick` does and, at equilibrium, "
        "`nstar_he3_quick`",
    ),
}


def _of(page: Page, grid: str) -> Need:
    return Need(page.networks, grid, page.takes, lambda found: page.name in found.pages, others=page.others)


NEEDS = Gathered(
    lambda: {page.name: _of(page, study.grid_word(page.grid)) for study in studies() for page in study.pages} | _CORE
)
"""By page, what it needs. Pages that are not here have something to show as soon as there are networks."""


def showing(results: str, only: str | None = None) -> dict[str, frozenset[str]]:
    """By sweep, the pages of NEEDS that have something to show for its networks; `only`: of this sweep alone."""
    found: dict[str, set[str]] = {}
    for sweep, of_task in _with_thresholds(results, _varying(results, only)):
        pages = found.setdefault(sweep, set())
        pages |= {page for page, need in NEEDS.items() if of_task.n_ok and need.shows(of_task)}
    return {sweep: frozenset(pages) for sweep, pages in found.items()}


def newest_of(results: str, page: str | None = None) -> str | None:
    """The sweep whose last network ended latest. If a page of NEEDS is named, the sweep whose last network finished latest among
    those of which the page has something to show. None if there is none."""
    finished = "WHERE status = 'ok' " if page else ""
    sql = (
        f"SELECT sweep FROM plans JOIN cells USING (cell_id) {finished}"
        "GROUP BY sweep ORDER BY max(finished_at) DESC NULLS LAST, sweep"
    )
    names = (sweep for (sweep,) in fetch(results, sql))
    return next((sweep for sweep in names if page is None or page in showing(results, sweep)[sweep]), None)


def tasks_with_thresholds(results: str, sweep: str) -> list[str]:
    """The tasks of a sweep of which page Scaling has something to show."""
    return [one.task for _, one in _with_thresholds(results, _varying(results, sweep)) if one.has_thresholds]


def _varying(results: str, only: str | None) -> list[tuple[str, Varying]]:
    """The finished networks of each sweep, or of one, and of each task. It compares least and greatest values, which is
    cheaper than to list all."""
    known = declared(results)
    numeric = {
        key: column
        for key in grid_keys(results)
        if isinstance(column := known.get(key), Key) and column.kind in ("whole", "number", "single")
    }
    keys = list(numeric)
    of_training = {key for key, column in numeric.items() if column.part == "training"}
    ok = "FILTER (status = 'ok')"
    ends = [
        f"min({key}) {ok} < max({key}) {ok}, min({key}) FILTER (status = 'ok' AND {key} > 0) < max({key}) {ok}"
        for key in map(quoted, keys)
    ]
    pages = [page for study in studies() for page in study.pages]
    asked = ", ".join(["sweep", "task", f"count(*) {ok}", *ends, *(_shows(page, known, ok) for page in pages)])
    sql = f"""SELECT {asked}
    FROM plans JOIN cells USING (cell_id) WHERE {"true" if only is None else f"sweep = {literal(only)}"} GROUP BY sweep, task"""
    found = []
    for sweep, task, n_ok, *rest in fetch(results, sql):
        differ = rest[: len(rest) - len(pages)]
        numbers = frozenset(key for key, differs in zip(keys, differ[::2], strict=True) if differs)
        positive = frozenset(key for key, differs in zip(keys, differ[1::2], strict=True) if differs and key not in of_training)
        names = frozenset(page.name for page, shows in zip(pages, rest[len(differ) :], strict=True) if shows)
        found.append((sweep, Varying(task, n_ok, numbers, positive, names)))
    return found


def _shows(page: Page, known: Mapping[str, Any], ok: str) -> str:
    """SQL: whether a page has something to show for a group of networks, of which `ok` filters those that finished."""
    limits = [_holds(key, wanted, known) for key, wanted in page.where.items()]
    if page.saved:  # the column that says it of richness is read only where some file has such metrics
        may_hold = page.saved != "richness" or known.keys() & {*RICHNESS}
        limits += [f"cell_id IN ({HOLDING[page.saved]})" if may_hold else "false"]
    among = f"{ok[:-1]} AND {' AND '.join(limits)})" if limits else ok
    vary = [f"min({quoted(key)}) {among} < max({quoted(key)}) {among}" if key in known else "false" for key in page.varying]
    return f"({' AND '.join([f'count(*) {among} > 0', *vary])})"


def _holds(key: str, wanted: Any, known: Mapping[str, Any]) -> str:
    """SQL of the condition on a key in `Page.where`. A store without the key has no value of it."""
    column = quoted(key) if key in known else "NULL"
    if isinstance(wanted, Mapping):
        return f"{column} > {literal(wanted['above'])}"
    return one_of(column, values_of(wanted))


MOST_SETTINGS = 20_000
"""Most settings among which thresholds are looked for; of more, some are taken to have them."""


def _with_thresholds(results: str, varying: Sequence[tuple[str, Varying]]) -> list[tuple[str, Varying]]:
    """These sweeps and tasks with `has_thresholds`, by the measure that pages show first. One question serves all of them."""
    asked = {(sweep, of_task.task) for sweep, of_task in varying if len(of_task.positive) > 1}
    if not asked:
        return list(varying)
    keys, known = [key for key in grid_keys(results) if key != "task"], measures(results)
    counts = ", ".join(f"count({known[name].sql})" for name in MAIN)
    rows = fetch(
        results,
        f"SELECT sweep, task, {', '.join(map(quoted, keys))}, {counts} FROM plans JOIN cells USING (cell_id) "
        f"WHERE status = 'ok' AND (sweep, task) IN ({', '.join(f'({literal(one)}, {literal(task)})' for one, task in asked)}) "
        f"GROUP BY ALL LIMIT {MOST_SETTINGS + 1}",
    )
    settings: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for sweep, task, *values in rows:
        settings.setdefault((sweep, task), []).append(tuple(values))
    many = len(rows) > MOST_SETTINGS
    return [
        (sweep, one._replace(has_thresholds=many or _thresholds(settings[sweep, one.task], keys, one.positive)))
        if (sweep, one.task) in asked
        else (sweep, one)
        for sweep, one in varying
    ]


def _thresholds(settings: Sequence[tuple[Any, ...]], keys: Sequence[str], positive: frozenset[str]) -> bool:
    """True if curves over one of the `positive` keys, at two values of another one, agree in all other keys. None of the two is
    one of KINDS, and a width may grow with d.

    settings: the values of the keys, and the numbers of networks that have each of MAIN.
    """
    counts = [sum(column) for column in zip(*(setting[len(keys) :] for setting in settings), strict=True)]
    main = main_of(dict(zip(MAIN, counts, strict=True)))
    there = [one for one in settings if main is None or one[len(keys) + MAIN.index(main)]]
    rows = [dict(zip(keys, one, strict=False)) for one in there]
    positive -= {*KINDS}
    keys = [key for key in keys if len({row[key] for row in rows}) > 1 or key == "gamma_label"]
    found = any(_laws(rows, keys, over, positive) for over in positive)
    if not found and {"width", "d"} <= positive:
        rows = [row | {"width": row["width"] and row["d"] and row["width"] / row["d"]} for row in rows]
        found = any(_laws(rows, keys, over, positive - {"width"}) for over in positive - {"width"})
    return found


def _laws(rows: Sequence[Mapping[str, Any]], keys: Sequence[str], over: str, positive: frozenset[str]) -> bool:
    """Whether two curves over `over` differ in one further key of `positive` alone."""
    for against in positive - {over}:
        taken = {over, against, *(["gamma_label"] if "gamma" in (over, against) else [])}
        rest = [key for key in gamma_once(keys, keys) if key not in taken]
        curves: dict[tuple[Any, ...], set[Any]] = {}
        for row in rows:
            if row[against] is not None and row[over] is not None and row[over] > 0:
                curves.setdefault((row[against], *(row[key] for key in rest)), set()).add(row[over])
        ends: dict[tuple[Any, ...], int] = {}
        for (_, *held), values in curves.items():
            ends[tuple(held)] = ends.get(tuple(held), 0) + (len(values) > 1)
        if max(ends.values(), default=0) > 1:
            return True
    return False
