"""Verdicts that a directory of results brings with it, as evidence/ does: a first look need not wait for the check of all claims.

They are shown until they are checked here. Where neither the claims, the networks nor the code have changed since, they stand.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from analysis.claims.entries import Claim
from analysis.claims.verdict import Checked, Measured, NotMeasured, Verdict
from analysis.claims.verdict_cache import judged_by, said
from sweepkit.console.cache import digest
from sweepkit.console.writing import write_whole
from sweepkit.store.views import fetch

FILE = "verdicts.json"


class _One(NamedTuple):
    claim: str
    """A digest of the claim that was checked, and of the code that judged it."""
    verdict: Verdict
    measured: Measured | NotMeasured
    why: str
    sweeps: tuple[str, ...]


class _File(NamedTuple):
    networks: str
    verdicts: dict[str, _One]


_FORMAT: TypeAdapter[_File] = TypeAdapter(_File, config=ConfigDict(ser_json_inf_nan="constants"))


class Published(NamedTuple):
    """Verdicts by id of their claims, and the ids of the claims that are to be checked anew: all if the networks are others, else
    those that say something else now or whose code is another one."""

    known: dict[str, Checked]
    to_come: frozenset[str]


def publish(results: str, checked: Iterable[Checked]) -> None:
    """Keep these verdicts with their networks, in a local directory of results."""
    kept = {one.claim.id: _One(_names(one.claim), one.verdict, one.measured, one.why, one.sweeps) for one in checked}
    write_whole(Path(results, FILE), _FORMAT.dump_json(_File(digest([], *finished(results)), kept)))


def published(results: str, claims: Sequence[Claim]) -> Published:
    """The verdicts kept with these results, of claims that say the same now; none if there are none or they cannot be read.

    `claims`: all claims as they are now.
    """
    every = frozenset(claim.id for claim in claims)
    try:
        found = _FORMAT.validate_json(Path(results, FILE).read_bytes())
    except (OSError, ValidationError):  # no such file, a bucket, or the file of another version
        return Published({}, every)
    there = [(claim, one) for claim in claims if (one := found.verdicts.get(claim.id))]
    kept = {claim.id: (claim, one) for claim, one in there if _says(claim) == one.claim[:_SAID]}
    known = {name: Checked(claim, one.verdict, one.measured, one.why, one.sweeps) for name, (claim, one) in kept.items()}
    if found.networks != digest([], *finished(results)):
        return Published(known, every)
    return Published(known, every - {name for name, (claim, one) in kept.items() if one.claim == _names(claim)})


_SAID = 16
"""Digits of a digest."""


def _says(claim: Claim) -> str:
    return digest([], said(claim))


def _names(claim: Claim) -> str:
    return _says(claim) + judged_by(claim)


def finished(results: str) -> list[str]:
    """The ids of the finished networks, in order."""
    return [cell_id for (cell_id,) in fetch(results, "SELECT cell_id FROM cells WHERE status = 'ok' ORDER BY cell_id")]
