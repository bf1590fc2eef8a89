"""Theory for the weights of rich networks on same-different: the Markov process of one hidden neuron [Tong25 App. C.3, C.4].

The process is driven for the paper's 100 batches of the networks' own size, however long these were trained.

gamma   richness; L training symbols
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from analysis.overlays.theory import Theory
from analysis.theory.cache import is_kept, kept
from analysis.theory.estimate import Estimate

from .markov import of_trained
from .of_same_different import RICH

NAMES = {
    "readout_ratio": "readout ratio",
    "alignment_pos": "parallel halves",
    "alignment_neg": "antiparallel halves",
    "half_norm_ratio": "norms of halves",
}
"""The process's name in charts, by measure."""


RICH_OF_A_BATCH = replace(RICH, where=lambda frame: RICH.where(frame) & frame["batch"].notna())


def _sizes(at: Mapping[str, Any]) -> tuple[int, int]:
    return int(at["L"]), int(at["batch"])


def _theory(measure: str, word: str) -> Theory:
    def drawn(at: Mapping[str, Any]) -> Estimate:
        return kept(of_trained, *_sizes(at))[measure]

    return Theory(
        f"Markov process, {word}", f"[Tong25 App. C.4] {word}", ("L", "batch"), lambda at: drawn(at).value, RICH_OF_A_BATCH,
        (measure,),
        smooth=False, error=lambda at: drawn(at).standard_error, is_kept=lambda at: is_kept(of_trained, *_sizes(at)),
    )  # fmt: skip


THEORIES = tuple(_theory(measure, word) for measure, word in NAMES.items())
