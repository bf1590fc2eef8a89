"""All theories that can be set beside a measured point: those of the studies."""

from dataclasses import replace

from analysis.overlays.declared import DECLARED
from analysis.overlays.theory import Theory
from analysis.studies.declared import Declared
from analysis.studies.gathered import Gathered
from analysis.studies.loading import of_each, part
from sweepkit.studies import StudyError


def theories_of(study: Declared) -> list[Theory]:
    """The theories that a study brings: those in `THEORIES` of its module `theory`, then those declared, in their order."""
    module = part(study.folder, "theory")
    functions = [value for value in vars(module).values() if hasattr(value, DECLARED)] if module else []
    declared = [one for function in functions for one in getattr(function, DECLARED)]
    return [replace(one, study=study.name) for one in (*getattr(module, "THEORIES", ()), *declared)]


def _all() -> dict[str, Theory]:
    found: dict[str, Theory] = {}
    taken: set[tuple[str, str]] = set()

    def gather(study: Declared) -> None:
        theories, own = theories_of(study), set[tuple[str, str]]()
        for name, measure in [(one.name, measure) for one in theories for measure in one.measures]:
            if (name, measure) in taken | own:
                raise StudyError(f"study {study.name}: theory {name!r} of {measure} is there twice: give it another name")
            own.add((name, measure))
        taken.update(own)
        found.update({one.id: one for one in theories})

    of_each(gather)
    return found


THEORIES = Gathered(_all)
"""The theories by their `id`, in the order in which legends list them."""
