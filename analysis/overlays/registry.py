"""All theories that can be set beside a measured point: those of the studies."""

from dataclasses import replace

from analysis.overlays.declared import DECLARED
from analysis.overlays.theory import Theory
from analysis.studies.declared import Declared
from analysis.studies.gathered import Gathered
from analysis.studies.loading import part, studies
from sweepkit.studies import StudyError


def theories_of(study: Declared) -> list[Theory]:
    """The theories that a study brings: those in `THEORIES` of its module `theory`, then those declared, in their order."""
    module = part(study.folder, "theory")
    functions = [value for value in vars(module).values() if hasattr(value, DECLARED)] if module else []
    declared = [one for function in functions for one in getattr(function, DECLARED)]
    return [replace(one, study=study.name) for one in (*getattr(module, "THEORIES", ()), *declared)]


def _all() -> dict[str, Theory]:
    found: dict[str, Theory] = {}
    of: dict[tuple[str, str], Theory] = {}
    for theory in (one for study in studies() for one in theories_of(study)):
        for measure in theory.measures:
            other = of.setdefault((theory.name, measure), theory)
            if other is not theory:
                raise StudyError(
                    f"study {theory.study}: theory {theory.name!r} of {measure} is there twice: give it another name"
                )
        found[theory.id] = theory
    return found


THEORIES = Gathered(_all)
"""The theories by their `id`, in the order in which legends list them."""
