"""The size of charts: in the files that they are saved in, and charts in another size."""

import io
import re
from pathlib import Path
from typing import Any

import altair as alt

SHARPNESS = 2
"""Pixels of a PNG per pixel of the chart, along each side: screens of laptops have as many."""
_POINTS = 0.75
"""Points in a PDF per pixel: a pixel is 1/96 inch, as in browsers, and a point 1/72."""
_TOGETHER = ("hconcat", "vconcat", "concat")


def save(chart: Any, target: Any, kind: str | None, factor: float | None = None, **more: Any) -> None:
    """Save an Altair chart in a file, by its path or open, as `svg`, `png`, `pdf` or another format of Altair's, by default the
    one that the path ends with. OSError if it cannot be written.

    A pixel of the chart is 1/96 inch in a PDF, times `factor`, and SHARPNESS pixels along each side of a PNG, unless `factor` or
    `ppi` is given. more: options of Altair's own `save`, but for a PDF.
    """
    if kind == "pdf":
        _save_pdf(chart, target, 1 if factor is None else factor)
        return
    if factor is None:
        factor = SHARPNESS if kind == "png" and "ppi" not in more else 1
    alt.TopLevelMixin.save(chart, target, format=kind, scale_factor=factor, **more)  # type: ignore[arg-type]


def _save_pdf(chart: Any, target: Any, factor: float) -> None:
    """Save as a PDF by way of an SVG: Altair's own PDF has one size, a point per pixel."""
    import vl_convert

    drawn = io.StringIO()
    alt.TopLevelMixin.save(chart, drawn, format="svg")
    made = vl_convert.svg_to_pdf(_enlarged(drawn.getvalue(), factor * _POINTS))
    if isinstance(target, str | Path):
        Path(target).write_bytes(made)
    else:
        target.write(made)


def _enlarged(svg: str, factor: float) -> str:
    """The picture with its width and height times a factor; its view box, in which it is drawn, stays."""

    def times(match: re.Match[str]) -> str:
        return f'{match[1]}="{float(match[2]) * factor:g}"'

    head, end, rest = svg.partition(">")
    return re.sub(r'(?<=\s)(width|height)="([\d.]+)"', times, head) + end + rest


def sized(chart: Any, width: int | None = None, height: int | None = None) -> Any:
    """The Altair chart with a largest panel of this width and height, in pixels; the others keep their share of it. None keeps
    what the chart has."""
    panels = [panel for panel in _panels(chart) if _mark(panel) != "text"]
    factors = {
        side: pixels / max(_pixels(panel, side) for panel in panels)
        for side, pixels in (("width", width), ("height", height))
        if pixels is not None
    }
    return _scaled(chart, factors) if factors else chart


def _panels(chart: Any) -> list[Any]:
    """The charts that stand side by side or one below the other in this one."""
    for name in _TOGETHER:
        if isinstance(parts := getattr(chart, name, None), list):
            return [panel for part in parts for panel in _panels(part)]
    return [chart]


def width_of(chart: Any) -> float:
    """The width of the panels that stand side by side, in pixels, without axes and legends."""
    if isinstance(parts := getattr(chart, "hconcat", None), list):
        return sum(map(width_of, parts))
    if isinstance(parts := getattr(chart, "concat", None), list):
        return max(map(width_of, parts)) * min(len(parts), int(chart.columns))
    if isinstance(parts := getattr(chart, "vconcat", None), list):
        return max(map(width_of, parts))
    return _pixels(chart, "width")


def _pixels(part: Any, side: str) -> float:
    """The width or height; 0 if it has none in pixels. (Altair gives for an undefined one an object of its own.)"""
    found = getattr(part, side, None)
    return found if isinstance(found, int | float) else 0


def _mark(chart: Any) -> Any:
    mark = getattr(chart, "mark", None)
    return getattr(mark, "type", mark)


def _scaled(part: Any, factors: dict[str, float]) -> Any:
    """A copy of which all panels, and pictures in them, are larger by these factors."""
    found = part.copy(deep=False)
    for name in (*_TOGETHER, "layer"):
        if isinstance(parts := getattr(part, name, None), list):
            found[name] = [_scaled(one, factors) for one in parts]
    if _mark(part) == "image":
        found.mark = _scaled(part.mark, factors)
    for side, factor in factors.items():
        if pixels := _pixels(part, side):
            found[side] = max(1, round(factor * pixels))
    return found
