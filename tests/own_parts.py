"""A user's own task, network, optimiser and metric: the examples, beside a small grid that names them."""

from pathlib import Path

import pytest

import trainables.metrics.base
import trainables.networks.base
import trainables.tasks.base
import trainables.training.base

EXAMPLES = Path(__file__).parents[1] / "examples"
PARITY, NETWORK, OPTIMISER, METRIC = (
    (EXAMPLES / f"{name}.py").read_text() for name in ("parity", "own_network", "own_optimiser", "own_metric")
)

HEAD = """\
sweep: own
tasks: [own_task.py]
networks: [own_network.py]
trainings: [own_optimiser.py]
metrics: [own_metric.py]
defaults: {steps: 40, eval_every: 20, batch: 16, test_size: 64, width: 8, base_lr: 0.1}
grids:
"""
TWO_LAYERS = "  - {task: parity, d: [6, 8], gamma: 1, seed: {range: 2}, save: [curves, sparsity]}\n"
GATED = "  - {task: parity, d: [6, 8], network: gated, gate: [linear, relu], seed: 0, save: [curves, sparsity]}\n"
BY_LION = (
    "  - {task: parity, d: [6, 8], gamma: 1, training: lion, memory: [0.5, 0.9], base_lr: 0.01, seed: {range: 2}, "
    "save: [curves, sparsity]}\n"
)


def own_grid(
    folder: Path,
    task: str = PARITY,
    network: str = NETWORK,
    optimiser: str = OPTIMISER,
    metric: str = METRIC,
    blocks: str = TWO_LAYERS,
) -> Path:
    """A grid with these files beside it."""
    for name, source in (("own_task", task), ("own_network", network), ("own_optimiser", optimiser), ("own_metric", metric)):
        (folder / f"{name}.py").write_text(source)
    path = folder / "own.yaml"
    path.write_text(HEAD + blocks)
    return path


def keep_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    for base, name in (
        (trainables.tasks.base, "_TASKS"),
        (trainables.networks.base, "_NETWORKS"),
        (trainables.training.base, "_TRAININGS"),
        (trainables.metrics.base, "_REQUESTED"),
    ):
        monkeypatch.setattr(base, name, dict(getattr(base, name)))


def line_of(source: str, words: str) -> int:
    """The first line that holds these words."""
    return next(i for i, text in enumerate(source.splitlines(), 1) if words in text)
