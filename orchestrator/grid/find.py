"""`find:` in a block: a search for a threshold along one key, in place of an axis of that key. Checks it and makes its rungs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from orchestrator.grid.keys import Kind, Legal, axis_keys
from orchestrator.grid.saving import lacking
from orchestrator.grid.syntax.axes import Axis, parse_axis
from orchestrator.grid.syntax.problems import COMMAND_LINE, Report
from orchestrator.grid.syntax.values import REPLACED
from sweepkit.console.words import listed, nearest, show
from sweepkit.console.yaml_lines import Item
from sweepkit.declarations.metrics import METRICS
from sweepkit.declarations.synonyms import meant
from sweepkit.store.searches import Question
from trainables.metrics import Requested
from trainables.parts import declared

USAGE = "find: {axis: L, metric: best_test_acc, at: 0.85, range: [2, 4096], tolerance: 0.05}"
NEEDED, OPTIONAL = ("axis", "at", "range"), ("metric", "tolerance", "falling")
DEFAULT_TOLERANCE = 0.05


@dataclass(frozen=True)
class Find:
    """The question of a search: where does the mean of `metric` over seeds cross `at`, along `axis`, between `low` and `high`?"""

    axis: str
    metric: str
    at: float
    low: float
    high: float
    tolerance: float
    """Half-width of the 95% interval asked for, as a share of the threshold."""
    falling: bool
    """Whether the metric falls to `at` as the key grows."""

    @property
    def question(self) -> Question:
        """The question as the plan keeps it."""
        return Question(self.axis, self.metric, self.at, self.falling)

    def describe(self) -> str:
        """`L at best_test_acc = 0.85 in 2..4096`."""
        return f"{self.axis} at {self.metric} = {self.at:g} in {self.low:g}..{self.high:g}"


def find_metrics(kind: Kind, **traits: str | None) -> list[str]:
    """Names of the metrics that a search in networks of this kind, with these traits, may use. Traits not given may have any
    value."""
    told = kind.traits() | traits
    return [m.name for m in METRICS.values() if m.per == "network" and not m.diagnostic and m.had_by(told)]


def parse_find(
    item: Item, kind: Kind, taken: Mapping[str, Item], metrics: Mapping[str, Requested], limit: int, report: Report
) -> tuple[Find, Axis] | None:
    """The search that the item asks for, with the axis of all its rungs; None, with a report, if it is wrong.

    `taken`: the values that the block or the command line gives, by key. `metrics`: metrics that a grid may ask for.
    """
    known = {**METRICS, **{name: found.metric for name, found in metrics.items()}}
    if not isinstance(item.value, dict):
        report.at(item, f"find = {show(item.value)}: must hold keys and values, such as {USAGE}")
        return None
    before = len(report)
    parts: dict[str, Item] = item.value
    legal = (*NEEDED, *OPTIONAL)
    for name, part in parts.items():
        if name not in legal:
            hint = nearest(name, legal) or ";"
            report.at(replace(part, line=part.key_line), f"find: unknown key {show(name)}{hint} legal: {listed(legal)}")
    if missing := [name for name in NEEDED if name not in parts]:
        report.at(item, f"find does not say {listed(missing)}; write for instance {USAGE}")
    key = _axis(parts["axis"], kind, taken, report) if "axis" in parts else None
    metric = _metric(parts["metric"], kind, metrics, report) if "metric" in parts else kind.training.headline_of(kind.task)[0]
    at = _number(parts["at"], "at", report) if "at" in parts else 0.0
    if "at" in parts and metric and at is not None:
        low, high = known[metric].low, known[metric].high
        if not low < at < high:
            report.at(parts["at"], f"find: at = {at:g}: {metric} lies between {low:g} and {high:g}")
    tolerance = _number(parts["tolerance"], "tolerance", report) if "tolerance" in parts else DEFAULT_TOLERANCE
    if tolerance is not None and not 0.001 <= tolerance <= 1:
        report.at(parts["tolerance"], f"find: tolerance = {tolerance:g}: must lie between 0.001 and 1; 0.05 is 5%")
    falling = parts["falling"].value if "falling" in parts else metric is not None and known[metric].falls
    if not isinstance(falling, bool):
        report.at(parts["falling"], f"find: falling = {show(falling)}: must be true or false")
    ends = _range(parts["range"], key, report) if "range" in parts else None
    if len(report) > before or key is None or ends is None or metric is None or at is None or tolerance is None:
        return None
    found = Find(key.name, metric, at, *ends, tolerance, falling)
    span = [replace(item, value=x) for x in (found.low, found.high, n_rungs(found.low, found.high, tolerance))]
    axis = parse_axis(key, replace(item, value={"geomspace": replace(item, value=span)}), limit, report)
    rungs = tuple(dict.fromkeys(axis.values))
    return found, Axis(key.name, len(rungs) or axis.count, rungs)


def n_rungs(low: float, high: float, tolerance: float) -> int:
    """Number of rungs of a geometric ladder from low to high; each rung is at most 1 + tolerance times the rung below."""
    return 1 + math.ceil(math.log(high / low) / math.log1p(tolerance))


def _axis(part: Item, kind: Kind, taken: Mapping[str, Item], report: Report) -> Legal | None:
    keys = axis_keys(kind)
    words = declared(kind.task) | declared(kind.network) | declared(kind.training)
    name, searchable = part.value, [k for k, key in keys.items() if key.takes_numbers and k in words and words[k].searched]
    if not isinstance(name, str) or name not in searchable:
        report.at(part, f"find: axis = {show(name)}{meant(name, searchable) or ';'} a search can go along {listed(searchable)}")
        return None
    if name in taken:
        legal = f"find searches along {name} and finds the values itself, within its `range`"
        of_block = taken[name].where not in (COMMAND_LINE, REPLACED)
        here = f"leave {name} out of the block" if of_block else f"leave {name} out, and change `range` in the grid if need be"
        report.at(
            part, f"{legal}, so {name} can be given none: {here}; without `find` the block trains every {name} that it lists"
        )
        return None
    return keys[name]


def _metric(part: Item, kind: Kind, metrics: Mapping[str, Requested], report: Report) -> str | None:
    of_networks = {name: one.metric for name, one in metrics.items() if one.metric.per == "network"}
    asked = [name for name, one in of_networks.items() if not lacking(name, [one], kind)]
    if isinstance(part.value, str) and part.value in (*find_metrics(kind), *asked):
        return part.value
    had = {name for network in kind.networks for name in find_metrics(kind, **network.traits())}
    legal = [*(name for name in METRICS if name in had), *asked]
    known = of_networks.get(part.value) if isinstance(part.value, str) else None
    reason = f"{lacking(part.value, [known], kind)};" if known else f"these networks do not have it{nearest(part.value, legal)};"
    report.at(part, f"find: metric = {show(part.value)}: {reason} they have {listed(legal)}")
    return None


def _number(part: Item, name: str, report: Report) -> float | None:
    value = part.value
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    report.at(part, f"find: {name} = {show(value)}: must be a number")
    return None


def _range(part: Item, key: Legal | None, report: Report) -> tuple[float, float] | None:
    """Both ends of the range, legal for the key; None, with a report, if they are wrong."""
    ends = [e.value for e in part.value] if isinstance(part.value, list) else []
    if len(ends) != 2:
        report.at(part, f"find: range = {show(part.value)}: must be the least and the greatest value, such as [2, 4096]")
        return None
    if key is None:
        return None
    try:
        low, high = (key.check(end) for end in ends)
    except ValueError as error:
        report.at(part, f"find: range: {error}")
        return None
    if not all(isinstance(end, int | float) for end in (low, high)) or not 0 < low < high:
        report.at(part, f"find: range = [{show(low)}, {show(high)}]: must rise from a value > 0, as steps are even on a log axis")
        return None
    return low, high
