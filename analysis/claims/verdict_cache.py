"""Verdicts on disk, so that a server that starts anew shows those of the last one at once: one file for each store.

A verdict belongs to the state of the store, its claim and the code that judged it: the core's, and that of its study. After an
edit of one study its verdicts alone are forgotten. Those of an older state of the store are shown until they are checked again.
"""

import os
import pickle
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from analysis.claims.check import check, load_claims
from analysis.claims.entries import Claim
from analysis.claims.verdict import JUDGES, Checked
from analysis.data.measures import measures
from analysis.data.source import state
from analysis.overlays.registry import THEORIES
from analysis.studies.loading import judging_digest
from sweepkit import FOLDER
from sweepkit.console.cache import cache_folder, digest
from sweepkit.console.terminal import tracked
from sweepkit.console.writing import write_whole
from sweepkit.studies import folders

# Read once, at import: an edit made while the process runs must not name the verdicts of the old code.
CODE = digest([file for room in JUDGES for file in (FOLDER / room).rglob("*.py")])
"""Names the core's code that judges."""


class Remembered(NamedTuple):
    """Verdicts by id of their claims, the state of the store that they are checked on, and the ids of the claims that were still
    to be checked on it, whose verdicts are of an earlier state or of other code."""

    token: Any
    known: dict[str, Checked]
    to_come: frozenset[str]


def said(claim: Claim) -> str:
    """A text that changes with the claim's statement, measure or bounds."""
    judged = (claim.expected, claim.law, claim.identity, claim.other_setting, claim.needs, claim.looks)
    return repr((claim.id, claim.says, claim.measure, *judged, claim.not_measured, claim.formulas_lost))


def judged_by(claim: Claim) -> str:
    """Names what the claim's verdict depends on besides the networks: the claim, the core, its study, and that of its theory."""
    studies = {claim.study, *_studies_of(claim.measure.get("theory", ""))} - {""}
    return digest([], CODE, said(claim), *(judging_digest(folders()[name]) for name in sorted(studies)))


def _studies_of(theory: str) -> frozenset[str]:
    return frozenset(one.study for one in THEORIES.values() if one.name == theory) if theory else frozenset()


def recall(results: str, claims: Iterable[Claim]) -> Remembered:
    """The verdicts on these claims that were kept last, as far as their code is that of now; none if they cannot be read."""
    # A torn file, or one of another version of a library, raises any of many errors; the verdicts are then checked anew.
    with suppress(Exception):
        token, kept, left = pickle.loads(_file(results).read_bytes())
        now = {claim.id: judged_by(claim) for claim in claims}
        if known := {name: checked for name, (code, checked) in kept.items() if now.get(name) == code}:
            return Remembered(token, known, frozenset(left) | (now.keys() - known.keys()))
    return Remembered(None, {}, frozenset())


def checked(results: str, claims: Sequence[Claim], words: str | None = "putting the claims to the test") -> list[Checked]:
    """The verdicts on these claims: those kept for this state of the store and this code, and the others checked now and kept.
    `words` go before the progress; None for none."""
    token, every = state(results), {claim.id: claim for claim in (*load_claims(known_measures=measures(results)), *claims)}
    before = recall(results, every.values())
    known = dict(before.known)
    left = set(before.to_come if before.token == token else every)
    missing = [claim for claim in claims if claim.id in left or claim.id not in known]
    try:
        for claim in tracked(missing, words) if words and missing else missing:
            (known[claim.id],) = check(results, [claim])
            left.discard(claim.id)
    finally:
        remember(results, token, known, left)
    return [known[claim.id]._replace(claim=claim) for claim in claims]  # whose source or note may have changed


def remember(results: str, token: Any, known: Mapping[str, Checked], to_come: Iterable[str] = ()) -> None:
    """Keep verdicts on one state of the store. A disk that is full keeps none; nothing else depends on it."""
    kept = {name: (judged_by(one.claim), one) for name, one in known.items()}
    with suppress(OSError):
        write_whole(_file(results), pickle.dumps((token, kept, frozenset(to_come))))


def _file(results: str) -> Path:
    return cache_folder() / "verdicts" / digest([], os.path.abspath(results))
