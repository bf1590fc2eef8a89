"""The axes, the colour and the settings on which page Scaling opens: those with enough thresholds for a law, or with most."""

from collections.abc import Iterable, Sequence

import numpy as np

from analysis.data.keys import KINDS, is_label
from analysis.data.points import Points
from analysis.data.settings import Numbers, Settings, distinct
from sweepkit.stats import FEWEST_OF_LAW

SOME = 2
"""Fewest thresholds that show whether they grow."""


class Laws:
    """Counts of thresholds among some points, for any axes."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.settings = Settings(points.frame, points.keys)

    def counts(self, over: str, against: str) -> Numbers:
        """For each point, the number of values of `against` at which there is a curve over `over`, among the points that agree
        with it in all other keys; 0 for a point of no such curve."""
        found, numbers = np.zeros(len(self.points.frame), int), self.settings.numbers
        if not {over, against} <= numbers.keys():
            return found
        frame = self.points.frame
        rows = np.flatnonzero((frame[over] > 0).fillna(False).to_numpy(bool) & frame[against].notna().to_numpy())
        laws, steps, ends = self.settings.beside(over, against)[rows], numbers[over][rows], numbers[against][rows]
        curves = distinct(laws + ends, steps) > 1
        found[rows[curves]] = distinct(laws[curves], ends[curves])
        return found

    def first_over(self, candidates: Iterable[str], usual: Sequence[str]) -> str | None:
        """The parameter over which thresholds are shown first: one of the usual ones or else another, with SOME thresholds
        against a third, or with as many as there are; None if there are none."""
        numbers = sorted(candidates, key=lambda key: usual.index(key) if key in usual else len(usual))
        most = {over: max((self._most(over, key) for key in numbers if key != over), default=0) for over in numbers}
        return _first(most, SOME)

    def first_against(self, over: str, candidates: Iterable[str], usual: str) -> str | None:
        """The parameter against which thresholds over `over` are shown first: the usual one, or another one if only that has
        FEWEST_OF_LAW, or as many as there are; one of KINDS only if no other has SOME. None if there are no thresholds."""
        most = {key: self._most(over, key) for key in sorted(candidates, key=lambda key: key != usual)}
        sizes = {key: n for key, n in most.items() if key not in KINDS and n >= SOME}
        return _first(sizes or most, FEWEST_OF_LAW)

    def first_colour(self, over: str, against: str, candidates: Iterable[str]) -> str | None:
        """The parameter whose values first tell laws apart: a label that laws have, or one with two values in one setting; None
        if there is none."""
        counts, frame, known = self.counts(over, against), self.points.frame, self.points.declared
        laws = counts >= min(FEWEST_OF_LAW, counts.max(initial=1))
        for key in candidates:
            rows = np.flatnonzero(laws & frame[key].notna())
            n = distinct(self.settings.beside(over, against, key)[rows], self.settings.numbers[key][rows]).max(initial=0)
            if n >= (1 if is_label(key, known) else 2):
                return key
        return None

    def opening(self, over: str, against: str, by: str | None = None) -> Points:
        """The points of those settings of all keys but these with FEWEST_OF_LAW thresholds for some value of `by`, or with as
        many as there are."""
        counts = self.counts(over, against)
        if by:
            counts[self.points.frame[by].isna()] = 0
        enough = counts >= min(FEWEST_OF_LAW, counts.max(initial=1))
        settings = self.settings.beside(over, against, *([by] if by else []))
        return self.points._replace(frame=self.points.frame[np.isin(settings, settings[enough & (counts > 0)])])

    def _most(self, over: str, against: str) -> int:
        return int(self.counts(over, against).max(initial=0))


def _first(most: dict[str, int], enough: int) -> str | None:
    """The first name with this count, or else the first with the highest; None if all counts are 0."""
    best = min(enough, max(most.values(), default=0))
    return next((name for name, n in most.items() if n >= best), None) if best else None
