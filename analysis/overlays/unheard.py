"""Theories of a study that apply to no network, and why: a misspelt name would else be silent."""

from analysis.data.measures import measures
from analysis.data.points import points
from analysis.data.selection import Selection, grid_keys
from analysis.overlays.overlays import beside
from analysis.overlays.registry import theories_of
from analysis.overlays.theory import Theory
from analysis.studies.declared import Declared
from sweepkit.console.words import listed, nearest

_IMPLIED = ("final_test_size", "eval_at")
"""Keys that a theory may have though no row names them."""


def unheard(study: Declared, results: str) -> list[str]:
    """A line for each theory of the study that is about none of the networks in these results."""
    return [f"theory {one.name!r} {why}" for one in theories_of(study) if (why := _why(one, results))]


def _why(theory: Theory, results: str) -> str:
    held, keys = measures(results), grid_keys(results)
    there = [name for name in theory.measures if name in held]
    if not there:
        named = listed(theory.measures)
        return f"is of {named}, and no network in {results} has this metric{nearest(theory.measures[0], held)}"
    for key in (*theory.keys, *theory.about.keys):
        if key not in keys and key not in (*_IMPLIED, "task", "network", "training"):
            return f"names {key!r}, and no network in {results} has this parameter{nearest(key, keys)}"
    for name in there:
        said = beside(points(results, Selection(), name).frame, name, wait=False, only=[theory.name])
        if len(said.values) or said.missing:
            return ""
    return f"is about none of the networks in {results}: look at its `of`"
