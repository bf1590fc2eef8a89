"""A matplotlib figure that a notebook shows without `%matplotlib inline`, that pyplot does not keep alive, and whose words and
legend fit its size."""

import io
import textwrap
from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from analysis.charts.shown.sizing import SHARPNESS

NARROW_INCHES = 4.5
"""Width below which labels are small, as in a column of a paper."""
BESIDE_INCHES = 5.5
"""Least width of a figure whose legend stands beside the panels; else it stands below them."""
CAPTION_SHARE = 0.15
"""Largest share of the figure's height for the caption; where it needs more, it is left out."""
LETTER_EM, LINE_EM, HANDLE_EM = 0.58, 1.35, 4.3
"""Width of a letter on average, height of a line, and width of what stands before a name in a legend, by the font size."""
WIDE, NARROW = (10.0, 8.3, 8.3), (8.0, 7.0, 7.0)
"""Font sizes of labels, of ticks, and of title and legend, in points."""


class ShownFigure(Figure):
    """A figure that draws itself as the value of a notebook's cell. Changing its size wraps its title and moves its legend."""

    caption = ""
    """The contents of the figure: parameters that all networks share, intervals, n."""
    _title: str | None = None
    _named: Mapping[str, Any] = {}
    _legend: Any = None
    _is_narrow = False

    def named(self, caption: str, title: str | None, handles: Mapping[str, Any]) -> None:
        """Put a title above, by default the caption where there is room, and a legend of these lines and marks, by name, beside
        or below the panels."""
        self.caption, self._title, self._named = caption, title, handles
        self._arrange()

    def set_size_inches(self, w: Any, h: float | None = None, forward: bool = True) -> None:
        """Set width and height in inches, as Figure does, and arrange title and legend anew."""
        super().set_size_inches(w, h, forward)
        self._arrange()

    def _arrange(self) -> None:
        width, height = self.get_size_inches()
        is_narrow = bool(width < NARROW_INCHES)
        labels, ticks, words = NARROW if is_narrow else WIDE
        em = words / 72
        if is_narrow != self._is_narrow:  # else sizes that the user chose stay
            self._is_narrow = is_narrow
            for axis in self.axes:
                axis.tick_params(labelsize=ticks)
                for label in (axis.xaxis.label, axis.yaxis.label):
                    label.set_fontsize(labels)
        lines = textwrap.wrap(self.caption if self._title is None else self._title, max(20, int(width / (LETTER_EM * em))))
        if self._title is None and len(lines) * LINE_EM * em > CAPTION_SHARE * height:
            lines = []
        if lines or self._suptitle is not None:  # type: ignore[attr-defined]
            self.suptitle("\n".join(lines), fontsize=words, x=0.01, ha="left")
        if not self._named or (self._legend is not None and self._legend not in self.legends):  # the user took it away
            return
        if self._legend is not None:
            self._legend.remove()
        beside = width >= BESIDE_INCHES
        self._legend = self.legend(
            [*self._named.values()], [*self._named], loc="outside right center" if beside else "outside lower center",
            ncols=1 if beside else _columns([*self._named], width / em), fontsize=words, frameon=False, handlelength=2.2,
            columnspacing=1.0, labelspacing=0.3,
        )  # fmt: skip

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save as Figure does; a PNG has as many pixels as that of an Altair chart, unless `dpi` is given."""
        super().savefig(fname, **{"dpi": SHARPNESS * self.dpi} | options)

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi="figure")
        return drawn.getvalue()


def _columns(names: list[str], width: float) -> int:
    """The most columns of a legend within a width in units of the font size. Columns are filled one after the other."""
    for columns in range(len(names), 1, -1):
        per = -(-len(names) // columns)
        longest = [max(map(len, names[i : i + per])) for i in range(0, len(names), per)]
        if sum(HANDLE_EM + LETTER_EM * length for length in longest) <= width:
            return columns
    return 1
