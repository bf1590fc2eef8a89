"""Verdicts that a directory of results brings with it, as evidence/ does: a first look need not wait for the check of all claims.

They are shown until they are checked here. Where neither the claims, the networks nor the code have changed since, they stand.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from analysis.claims.entries import Claim
from analysis.claims.verdict import Checked, Measured, NotMeasured, Verdict
from analysis.claims.verdict_cache import CODE
from sweepkit.console.cache import digest
from sweepkit.console.writing import write_whole
from sweepkit.store.views import fetch

FILE = "verdicts.json"


class _One(NamedTuple):
    claim: str
    """A digest of the claim that was checked."""
    verdict: Verdict
    measured: Measured | NotMeasured
    why: str
    sweeps: tuple[str, ...]


class _File(NamedTuple):
    code: str
    networks: str
    verdicts: dict[str, _One]


_FORMAT: TypeAdapter[_File] = TypeAdapter(_File, config=ConfigDict(ser_json_inf_nan="constants"))


class Published(NamedTuple):
    """Verdicts by id of their claims; `stand`: whether code and networks are those that they were checked with."""

    known: dict[str, Checked]
    stand: bool


def publish(results: str, checked: Iterable[Checked]) -> None:
    """Keep these verdicts with their networks, in a local directory of results."""
    kept = {one.claim.id: _One(digest([], said(one.claim)), one.verdict, one.measured, one.why, one.sweeps) for one in checked}
    write_whole(Path(results, FILE), _FORMAT.dump_json(_File(CODE, digest([], *finished(results)), kept)))


def published(results: str, claims: Sequence[Claim]) -> Published:
    """The verdicts kept with these results, of claims that say the same now; none if there are none or they cannot be read.

    `claims`: all claims as they are now.
    """
    try:
        found = _FORMAT.validate_json(Path(results, FILE).read_bytes())
    except (OSError, ValidationError):  # no such file, a bucket, or the file of another version
        return Published({}, False)
    known = {
        claim.id: Checked(claim, one.verdict, one.measured, one.why, one.sweeps)
        for claim in claims
        if (one := found.verdicts.get(claim.id)) and one.claim == digest([], said(claim))
    }
    same = len(known) == len(claims) and found.code == CODE and found.networks == digest([], *finished(results))
    return Published(known, same)


def finished(results: str) -> list[str]:
    """The ids of the finished networks, in order."""
    return [cell_id for (cell_id,) in fetch(results, "SELECT cell_id FROM cells WHERE status = 'ok' ORDER BY cell_id")]


def said(claim: Claim) -> str:
    """A text that changes with the claim's statement, measure or bounds."""
    return repr((claim.id, claim.says, claim.measure, claim.expected, claim.not_measured))
