"""`python -m orchestrator.reference`: every key and metric as Markdown tables, from their declarations."""

from collections.abc import Iterable
from typing import Any

from orchestrator.grid.keys import keys_of
from sweepkit.console.escaping import escaped
from sweepkit.console.streams import run_and_leave
from sweepkit.console.words import listed
from sweepkit.declarations.columns import Metric
from sweepkit.declarations.metrics import METRICS
from trainables.cell import default_of
from trainables.metrics import metric_groups, requested_metric, requested_names
from trainables.networks import Network, all_networks
from trainables.parts import Part, declared
from trainables.tasks import Task, task_class, task_names
from trainables.training import all_trainings

_HEAD = """# Keys and metrics

Written by `python -m orchestrator.reference > docs/reference/keys.md` from the declarations.

A grid sets keys. Each task, network and training has its own. A grid must give a key that has no default, unless its task
gives one: see the line below each task. Every task has `data_seed`, too: a whole number whose symbols, training set and tests
networks of all `seed`s then see; only their weights differ.

## Tasks
"""

_OF_PARTS = {
    "Trainings": (
        """A task may set other defaults: the line below its table has them. The loss mse is the mean of (f - y)^2, without 1/2,
summed over the components of y; gradients are those of this loss.""",
        "",
    )
}
_OF_METRICS = """Under gradient descent the training loss and accuracy of an evaluation are means over the steps since the one
before, each step before its update. Test metrics are of fresh test examples."""
_DERIVED = """Charts, figures, tables of `Results` and claims also take these. They are computed from columns of `cells` and are
no columns of their own: in SQL write what stands in the last column."""
_TABLE = ["| metric | meaning | bounds | better | of networks with |", "|---|---|---|---|---|"]


def reference() -> str:
    """The page `docs/reference/keys.md`."""
    tasks = [task_class(name) for name in task_names() if not task_class(name).file_digest]
    parts: dict[str, list[type[Part]]] = {"Networks": [*all_networks()], "Trainings": [*all_trainings()]}
    lines = [_HEAD]
    for task in tasks:
        lines += [*_part(task), f"Defaults of other keys: {_defaults_of(task)}.", ""]
    for title, kinds in parts.items():
        lines += [f"## {title}", "", *_OF_PARTS.get(title, ())]
        for kind in kinds:
            if not kind.file_digest:
                lines += _part(kind)
    lines += ["## Metrics", "", _OF_METRICS, "", *_TABLE]
    lines += [_metric(m) for m in METRICS.values() if m.per == "network" and not m.expression]
    lines += ["", _DERIVED, "", "| metric | meaning | from |", "|---|---|---|"]
    lines += [f"| `{m.name}` | {escaped(m.title)} | `{m.expression}` |" for m in METRICS.values() if m.expression]
    asked = [requested_metric(name).metric for name in requested_names()]
    if asked := [metric for metric in asked if not metric.digest]:
        along = "one along training (`curve_`) brings `curves`"
        lines += ["", f"A grid asks for these by `save:`; {along}:", "", *_TABLE, *map(_metric, asked)]
        groups = [(g.name, listed(f"`{name}`" for name in g.members)) for g in metric_groups().values()]
        without = "A network without `features`, such as `linear1`, must ask by name for those that need none."
        asks = "asks for those of these metrics that the task and the training have"
        lines += ["", without, "", *(f"`save: [{name}]` {asks}: {members}." for name, members in groups)]
    return "\n".join(lines) + "\n"


def _part(part: type[Part]) -> list[str]:
    """A table of the keys of one part."""
    family = f", trained by {part.family}" if issubclass(part, Network) else ""
    about = (part.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
    lines = [
        f"**`{part.name}`**{family}: {escaped(' '.join(about.split()))}",
        "",
        "| key | meaning | legal values | default |",
        "|---|---|---|---|",
    ]
    words = declared(part)
    for name, legal in keys_of(part).items():
        if issubclass(part, Task) and name in Task.model_fields:
            continue  # keys of every task stand once, above
        lines.append(
            f"| `{name}` | {escaped(words[name].title_for(part.name))} | {escaped(legal.legal)} | {_default(part, name)} |"
        )
    return [*lines, ""]


def _default(part: type[Part], key: str) -> str:
    task = part if issubclass(part, Task) else Task
    try:
        return _shown(default_of(task, part, key))
    except KeyError:
        return ""


def _defaults_of(task: type[Task]) -> str:
    found = []
    for key in dict.fromkeys(("network", "training", "prefactor", "base_lr", "loss", *task.defaults, *task.presets)):
        try:
            found.append(f"`{key}` {_shown(task.default_of(key))}")
        except KeyError:
            found.append(f"`{key}` must be given")
    return ", ".join(found)


def _metric(metric: Metric) -> str:
    low, high = (f"{bound:g}" if abs(bound) != float("inf") else "" for bound in (metric.low, metric.high))
    bounds = f"{low} to {high}".strip() if low or high else ""
    return f"| `{metric.name}` | {escaped(metric.title)} | {bounds} | {metric.better} | {_conditions(metric)} |"


def _conditions(metric: Metric) -> str:
    def told(condition: Iterable[tuple[str, tuple[str, ...]]]) -> str:
        return ", ".join(f"{trait} {' or '.join(legal)}" for trait, legal in condition)

    return "; or ".join(map(told, metric.of))


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "none"
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    run_and_leave(lambda: print(reference(), end=""), quiet_pipe=True)
