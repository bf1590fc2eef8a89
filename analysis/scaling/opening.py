"""The axes, the colour and the settings on which page Scaling opens: those with enough thresholds for a law, or with most."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.choosing import same_axis
from analysis.data.keys import gamma_once, is_label
from analysis.data.points import Points

ENOUGH = 3
"""Fewest thresholds through which a power law says something: through two, every one is perfect."""
SOME = 2
"""Fewest thresholds that show whether they grow."""

Numbers = np.ndarray[tuple[int], np.dtype[Any]]
"""A number for each point."""


class Laws:
    """Counts of thresholds among some points, for any axes.

    A random number stands for each value of each key, and the sum of those of a point for its setting. The setting beside some
    axes is then a subtraction away, which is fast for many axes. Two settings have one number with probability 2^-64.
    """

    def __init__(self, points: Points) -> None:
        self.points, frame = points, points.frame
        self.numbers: dict[str, Numbers] = {}
        for i, key in enumerate(points.keys):
            codes = pd.factorize(frame[key], use_na_sentinel=False)[0]
            self.numbers[key] = np.random.default_rng(i).integers(0, 2**64, codes.max(initial=0) + 1, np.uint64)[codes]
        self.told = gamma_once(points.keys, frame)
        self.whole = self._sum(self.told)

    def settings(self, *axes: str) -> Numbers:
        """A number for the setting of all keys but these axes, by point."""
        return self.whole - self._sum([key for key in self.told if any(same_axis(key, axis) for axis in axes)])

    def counts(self, over: str, against: str) -> Numbers:
        """For each point, the number of values of `against` at which there is a curve over `over`, among the points that agree
        with it in all other keys; 0 for a point of no such curve."""
        found = np.zeros(len(self.points.frame), int)
        if not {over, against} <= self.numbers.keys():
            return found
        frame = self.points.frame
        rows = np.flatnonzero((frame[over] > 0).fillna(False).to_numpy(bool) & frame[against].notna().to_numpy())
        laws, steps, ends = self.settings(over, against)[rows], self.numbers[over][rows], self.numbers[against][rows]
        curves = _distinct(laws + ends, steps) > 1
        found[rows[curves]] = _distinct(laws[curves], ends[curves])
        return found

    def first_over(self, candidates: Iterable[str], usual: Sequence[str]) -> str | None:
        """The parameter over which thresholds are shown first: one of the usual ones or else another, with SOME thresholds
        against a third, or with as many as there are; None if there are none."""
        numbers = sorted(candidates, key=lambda key: usual.index(key) if key in usual else len(usual))
        most = {over: max((self._most(over, key) for key in numbers if key != over), default=0) for over in numbers}
        return _first(most, SOME)

    def first_against(self, over: str, candidates: Iterable[str], usual: str) -> str | None:
        """The parameter against which thresholds over `over` are shown first: the usual one, or another one if only that has
        ENOUGH, or as many as there are; None if there are none."""
        return _first({key: self._most(over, key) for key in sorted(candidates, key=lambda key: key != usual)}, ENOUGH)

    def first_colour(self, over: str, against: str, candidates: Iterable[str]) -> str | None:
        """The parameter whose values first tell laws apart: a label that laws have, or one with two values in one setting; None
        if there is none."""
        counts, frame, known = self.counts(over, against), self.points.frame, self.points.declared
        laws = counts >= min(ENOUGH, counts.max(initial=1))
        for key in candidates:
            rows = np.flatnonzero(laws & frame[key].notna())
            n = _distinct(self.settings(over, against, key)[rows], self.numbers[key][rows]).max(initial=0)
            if n >= (1 if is_label(key, known) else 2):
                return key
        return None

    def opening(self, over: str, against: str, by: str | None = None) -> Points:
        """The points of those settings of all keys but these with ENOUGH thresholds for some value of `by`, or with as many as
        there are."""
        counts = self.counts(over, against)
        if by:
            counts[self.points.frame[by].isna()] = 0
        enough = counts >= min(ENOUGH, counts.max(initial=1))
        settings = self.settings(over, against, *([by] if by else []))
        return self.points._replace(frame=self.points.frame[np.isin(settings, settings[enough & (counts > 0)])])

    def _most(self, over: str, against: str) -> int:
        return int(self.counts(over, against).max(initial=0))

    def _sum(self, keys: Iterable[str]) -> Numbers:
        return sum((self.numbers[key] for key in keys), np.zeros(len(self.points.frame), np.uint64))


def _first(most: dict[str, int], enough: int) -> str | None:
    """The first name with this count, or else the first with the highest; None if all counts are 0."""
    best = min(enough, max(most.values(), default=0))
    return next((name for name, n in most.items() if n >= best), None) if best else None


def _distinct(groups: Numbers, values: Numbers) -> Numbers:
    """For each element, the number of different values in its group."""
    order = np.lexsort((values, groups))
    new_group = np.diff(groups[order], prepend=groups[order[:1]] + np.uint64(1)) != 0
    new_value = new_group | (np.diff(values[order], prepend=values[order[:1]]) != 0)
    group = np.cumsum(new_group) - 1
    found = np.zeros(len(groups), int)
    found[order] = np.bincount(group, new_value).astype(int)[group]
    return found
