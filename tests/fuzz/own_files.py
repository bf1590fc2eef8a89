"""A user's own files for the fuzzer: good ones, and bad ones of every kind, each with what must become of it."""

import copy
import importlib.util
from dataclasses import dataclass
from typing import Any, Literal

import yaml
from hypothesis import strategies as st

from tests.fuzz import own_networks, own_optimisers, own_others
from tests.fuzz.cases import Case
from trainables.engines import ENGINES

IS_GENERAL = "stacked" in ENGINES
"""Whether there is an engine that trains networks of one's own."""
CHECKS = importlib.util.find_spec("orchestrator.plan.checks") is not None
"""Whether what own parts return is tried before anything is trained."""

Section = Literal["tasks", "networks", "trainings", "metrics"]
Verdict = Literal["good", "refused", "tried", "either"]
"""`refused` by its reader; `tried`: only a call of what it defines can tell; `either`: it must not crash, no more is said."""


@dataclass(frozen=True)
class Own:
    """One file."""

    section: Section
    source: str
    verdict: Verdict


def _collected() -> dict[str, Own]:
    found: dict[str, Own] = {}
    of: tuple[tuple[Section, Verdict, dict[str, str]], ...] = (
        ("networks", "good", own_networks.GOOD_NETWORKS),
        ("networks", "refused", own_networks.REFUSED_NETWORKS),
        ("networks", "tried", own_networks.TRIED_NETWORKS),
        ("networks", "either", own_networks.EITHER_NETWORKS),
        ("trainings", "good", own_optimisers.GOOD_OPTIMISERS),
        ("trainings", "refused", own_optimisers.REFUSED_OPTIMISERS),
        ("trainings", "tried", own_optimisers.TRIED_OPTIMISERS),
        ("metrics", "good", own_others.GOOD_METRICS),
        ("metrics", "refused", own_others.REFUSED_METRICS),
        ("metrics", "tried", own_others.TRIED_METRICS),
        ("metrics", "either", own_others.EITHER_METRICS),
        ("tasks", "good", own_others.GOOD_TASKS),
        ("tasks", "refused", own_others.REFUSED_TASKS),
        ("tasks", "tried", own_others.TRIED_TASKS),
    )
    for section, verdict, files in of:
        for what, source in files.items():
            name = f"{section}, {verdict}: {what}"
            assert name not in found
            found[name] = Own(section, source, verdict)
    return found


OWN = _collected()
"""By what is special about each."""

_SHORT = {"steps": 20, "eval_every": 10, "batch": 16, "test_size": 16, "width": 8, "seed": 0}
FILE_OF: dict[Section, str] = {
    "tasks": "own_task.py",
    "networks": "own_network.py",
    "trainings": "own_optimiser.py",
    "metrics": "own_metric.py",
}


def grid_of(*sections: Section) -> dict[str, Any]:
    """A grid that uses own files of these sections: legal where the files are good."""
    block: dict[str, Any] = {"task": "same_different", "L": 3, "d": 8, "gamma": 1}
    if "tasks" in sections:
        block = {"task": "majority", "bits": 6, "gamma": 1}
    if "networks" in sections:
        block |= {"network": ["relu2", "gated"], "gate": ["linear", "relu"], "base_lr": 0.1}
    if "trainings" in sections:
        block |= {"training": ["adam", "lion"], "memory": [0.5, 0.9], "base_lr": 0.1}
    if "metrics" in sections:
        block["save"] = ["curves", "sparsity"]
    return {**{section: [FILE_OF[section]] for section in sections}, "defaults": dict(_SHORT), "grids": [block]}


def case_of(*files: Own) -> Case:
    """A dry run of a grid with these files, one of a section, and what must become of it."""
    sections = [own.section for own in files]
    # Where the grid names trainings, nothing asks for the default of a task.
    judged = [own for own in files if "trainings" not in sections or own.source != own_others.SAMPLES_BY_DEFAULT]
    grid, verdicts = grid_of(*sections), {own.verdict for own in judged}
    if any("Gated_2" in own.source for own in files):
        grid["grids"][0]["network"] = ["relu2", "Gated_2"]
    expected = None if "either" in verdicts else 0 if verdicts <= {"good"} else 2
    return Case("sweep", ("grid.yaml", "--dry-run"), _dumped(grid), beside=_beside(*files), expected=expected)


def _clashing(
    network: str = own_networks.NETWORK, metric: str = own_others.METRIC, task: str = own_others.TASK
) -> tuple[Own, ...]:
    return Own("tasks", task, "good"), Own("networks", network, "refused"), Own("metrics", metric, "good")


CLASHES: dict[str, tuple[tuple[Own, ...], str]] = {
    "a task and a network": (
        _clashing(network=own_networks.NETWORK.replace("    gate:", "    bits: int = 3\n    gate:")),
        "task majority and network gated both have a key bits",
    ),
    "a task and a network, in another case": (
        _clashing(network=own_networks.NETWORK.replace("    gate:", "    Bits: int = 3\n    gate:")),
        "task majority and network gated both have a key Bits",
    ),
    "a network and a metric": (
        _clashing(network=own_networks.NETWORK.replace("    gate:", "    Sparsity: float = 0.5\n    gate:")),
        "metric sparsity would be a column of the results, and so is the key Sparsity",
    ),
    "a task and a metric": (
        _clashing(task=own_others.TASK.replace("bits", "sparsity")),
        "in task majority, and one column of the results holds both; name it otherwise",
    ),
}
"""Good files that cannot be used together, and what is said of it."""


def _beside(*files: Own) -> tuple[tuple[str, bytes], ...]:
    return tuple((FILE_OF[own.section], own.source.encode("utf-8", "surrogatepass")) for own in files)


def _dumped(grid: Any) -> bytes:
    text: str = yaml.safe_dump(grid, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)
    return text.encode("utf-8", "surrogatepass")


def can_be_run(own: Own) -> bool:
    """Whether this version can say what becomes of it."""
    needs_engine = own.section in ("networks", "trainings") and own.verdict != "refused"
    return (IS_GENERAL or not needs_engine) and (CHECKS or own.verdict != "tried")


_DRAWN: dict[Section, list[Own]] = {
    section: [own for own in OWN.values() if own.section == section and can_be_run(own)] for section in FILE_OF
}
_GOOD: dict[Section, list[Own]] = {
    section: [own for own in _DRAWN[section] if own.verdict == "good"] or _DRAWN[section] for section in FILE_OF
}

_WORDS = (
    "int", "float", "str", "bool", "Any", "None", "7", "''", "x", "self", "ClassVar", "Network", "Task", "metric", "Probe", "rng",
    "cell", "return", "raise ValueError('no')", "width", "gate", "gated", "relu2", "title", "low", "high", "\n", "    ", "(", ")",
    "[0]", "=", ":", ",", "@", "\\", "'", '"""', "#", "lambda: 0", "...", "*", "1e400", "-1", "\u202e", "é", "\x0c", "if True:\n",
)  # fmt: skip


@st.composite
def _changed(draw: st.DrawFn, own: Own) -> Own:
    """A file with a few of its words changed: it may still be a good one."""
    words = own.source.split(" ")
    # Without the checks of what own parts return, the head of a file alone is all that is looked at.
    end = len(words) if CHECKS else max(1, own.source.split("    def ")[0].count(" "))
    for _ in range(draw(st.integers(1, 3))):
        i = draw(st.integers(0, end - 1))
        words[i] = draw(st.one_of(st.sampled_from(_WORDS), st.just(""), st.just(words[i] * 2), st.sampled_from(words[:end])))
    return Own(own.section, " ".join(words), "either")


_OVERRIDES = (
    "network=gated", "network=relu2", "network=gatd", "network=erf2", "network=gated,relu2", "network=", "training=sgd",
    "training=langevin", "training=sgd,sgd", "gate=relu", "gate=rleu", "gate=1", "save=sparsity", "save=sparsty", "save=[]",
    "metrics=own_metric.py", "networks=own_network.py", "task=majority", "task=parity", "bits=3,4", "width=range(1,4)",
    "seed=0,1", "depth=2", "training=lion", "memory=2", "trainings=own_optimiser.py", *(("momentum=0.9",) if IS_GENERAL else ()),
)  # fmt: skip
_OTHERS: tuple[tuple[str, Any], ...] = (
    ("zip", [["network", "gate"]]), ("zip", [["gate", "seed"]]), ("zip", [["training", "base_lr"]]),
    ("exclude", ["gate == 'relu'"]), ("exclude", ["network == 'gated'"]), ("exclude", ["network == gated"]),
    ("exclude", ["training == 'sgd'"]),
    ("network", "gatd"), ("network", ["gated", "gated"]), ("network", ["gated", 7]), ("network", []), ("network", None),
    ("network", {"range": 3}), ("network", "erf2"), ("network", ["gated", "erf2"]), ("network", "cnn"), ("training", "langevin"),
    ("training", ["sgd", "langevin"]), ("training", "sdg"), ("training", []), ("training", 7), ("gate", ["rleu"]), ("gate", 0),
    ("save", ["sparsty"]), ("save", ["sparsity", "sparsity"]), ("save", ["neurons", "sparsity"]), ("save", "weights"),
    ("save", [7]),
    ("save", {"sparsity": 1}), ("bits", [6, 7]), ("bits", 0), ("gamma", "lazy"),
    ("find", {"axis": "width", "metric": "sparsity", "at": 0.5, "range": [2, 8]}),
    ("find", {"axis": "width", "metric": "best_test_acc", "at": 0.7, "range": [2, 8]}),
    ("find", {"axis": "gate", "metric": "sparsity", "at": 0.5, "range": [2, 8]}),
)  # fmt: skip
_LISTS: tuple[Any, ...] = (
    None, [], 7, "own_network.py", ["nowhere.py"], ["own_metric.py"], ["own_network.py", "own_network.py"], [["own_network.py"]],
    [7], [""], ["."], ["/etc/passwd"], ["a_file"], ["loop"], ["results/packs"], ["own_network.py\0"], {"own": "own_network.py"},
    ["../own_network.py"], ["secret.csv"], ["good.yaml"], ["a" * 300 + ".py"], ["\x1b[31m.py"],
)  # fmt: skip


@st.composite
def owned(draw: st.DrawFn) -> Case:
    """Grids with own files: good and bad ones, some changed; and the grid and the command line changed as well."""
    sections = draw(st.lists(st.sampled_from([s for s in FILE_OF if _DRAWN[s]]), min_size=1, max_size=3, unique=True))
    files = [draw(st.sampled_from(_GOOD[section] if draw(st.booleans()) else _DRAWN[section])) for section in sections]
    if not IS_GENERAL:  # networks of one's own have no engine: only what refuses them can be seen
        files = [own for own in files if own.section != "networks" or own.verdict == "refused"]
    match draw(st.sampled_from(["as it is", "as it is", "a file changed", "the grid changed", "the command line changed"])):
        case "as it is":
            return case_of(*files)
        case "a file changed" if files:
            i = draw(st.integers(0, len(files) - 1))
            if files[i].section != "networks" or IS_GENERAL:
                files[i] = draw(_changed(files[i]))
            return case_of(*files)
        case "the command line changed":
            words = draw(st.lists(st.sampled_from(_OVERRIDES), min_size=1, max_size=3))
            grid = grid_of(*[own.section for own in files])
            return Case("sweep", ("grid.yaml", *words, "--dry-run"), _dumped(grid), beside=_beside(*files))
    grid = copy.deepcopy(grid_of(*[own.section for own in files]))
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 2)):
            key, value = draw(st.sampled_from(_OTHERS))
            grid["grids"][0][key] = copy.deepcopy(value)
        else:
            grid[draw(st.sampled_from(list(FILE_OF)))] = copy.deepcopy(draw(st.sampled_from(_LISTS)))
    return Case("sweep", ("grid.yaml", "--dry-run"), _dumped(grid), beside=_beside(*files))
