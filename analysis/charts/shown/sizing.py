"""The size of charts: pixels of a PNG for each of theirs, and charts in another size."""

from typing import Any

SHARPNESS = 2
"""Pixels of a PNG per pixel of the chart, along each side: screens of laptops have as many."""
_TOGETHER = ("hconcat", "vconcat", "concat")


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
