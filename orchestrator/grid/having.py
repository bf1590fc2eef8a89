"""Metrics on request that networks of a kind lack: the reason, and what to do."""

from collections.abc import Iterable

from orchestrator.grid.keys import Kind
from sweepkit.console.words import listed
from sweepkit.declarations.columns import Metric


def lacking(asked: str, metrics: Iterable[Metric], kind: Kind) -> str:
    """Why some networks of this kind lack some of the metrics for which `asked` stands; empty if all have all of them."""
    every = list(metrics)
    for network in kind.networks:
        traits = kind.traits() | network.traits()
        without = [metric for metric in every if not metric.had_by(traits)]
        missing = {trait for metric in without for trait, legal in metric.of[0] if traits.get(trait) not in (None, *legal)}
        if "sampled" in missing:
            return f"{asked} is measured on networks that learn by gradient descent, not by {kind.training.name}"
        if "answers" in missing:
            return f"{asked} is of one answer an example, and task {kind.task.name} asks each token; leave it out"
        if "outputs" in missing:
            return f"{asked} is of several outputs, and task {kind.task.name} has one; leave it out, or take a task of classes"
        if "features" in missing:
            needless = [metric.name for metric in every if metric not in without]
            rest = f"save {listed(needless)} alone" if needless else f"leave out {asked}"
            own = "add a method `features` that returns its last hidden layer, or " if network.file_digest else ""
            return f"network {network.name} has no `features`, which {asked} needs: {own}{rest}"
        if without:
            return f"{asked} is not measured on network {network.name} under {kind.training.name} with task {kind.task.name}"
    return ""
