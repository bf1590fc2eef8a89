"""The settings of points beside any axes, told apart fast enough to compare many choices of axes."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.keys import gamma_once, same_axis

Numbers = np.ndarray[tuple[int], np.dtype[Any]]
"""A number for each point."""


class Settings:
    """The settings of the points of a frame.

    A random number stands for each value of each key, and the sum of those of a point for its setting. The setting beside some
    axes is then a subtraction away. Two settings have one number with probability 2^-64.
    """

    def __init__(self, frame: pd.DataFrame, keys: Iterable[str]) -> None:
        keys = list(keys)
        self.frame = frame
        self.numbers: dict[str, Numbers] = {}
        for i, key in enumerate(keys):
            codes = pd.factorize(frame[key], use_na_sentinel=False)[0]
            self.numbers[key] = np.random.default_rng(i).integers(0, 2**64, codes.max(initial=0) + 1, np.uint64)[codes]
        self.told = gamma_once(keys, frame)
        self.whole = self._sum(self.told)

    def beside(self, *axes: str) -> Numbers:
        """A number for the setting of all keys but these axes, by point."""
        return self.whole - self._sum([key for key in self.told if any(same_axis(key, axis) for axis in axes)])

    def _sum(self, keys: Iterable[str]) -> Numbers:
        return sum((self.numbers[key] for key in keys), np.zeros(len(self.frame), np.uint64))


def distinct(groups: Numbers, values: Numbers) -> Numbers:
    """For each element, the number of different values in its group."""
    order = np.lexsort((values, groups))
    new_group = np.diff(groups[order], prepend=groups[order[:1]] + np.uint64(1)) != 0
    new_value = new_group | (np.diff(values[order], prepend=values[order[:1]]) != 0)
    group = np.cumsum(new_group) - 1
    found = np.zeros(len(groups), int)
    found[order] = np.bincount(group, new_value).astype(int)[group]
    return found
