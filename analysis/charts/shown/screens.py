"""Charts for a reader's screen: colours for a dark background, and a shape for a narrow window.

A chart is drawn once, for paper. Its Vega-Lite specification is adapted here, so that no chart needs to know of screens.
"""

import colorsys
import io
import re
from threading import Lock
from typing import Any

import altair as alt

from analysis.charts.shown.sizing import save

Spec = dict[str, Any]

BEHIND, TEXT = "#0e1117", "#d5d8de"
"""Streamlit's dark background, and the colour of labels on it."""
NARROW_PLOT = 268
"""Widest plot in a narrow window, in pixels: a phone of 390 less its margins, the axis and its labels."""
LETTER, SYMBOL, ROW = 5.8, 30, 3
"""In a legend: the width of a letter on average and of a symbol with its gaps, in pixels, and most entries beside each other."""
_WITH_LEGEND = ("color", "fill", "stroke", "shape", "strokeDash", "opacity", "size")
_NAMED = {"black": "#000000", "white": "#ffffff", "grey": "#808080", "gray": "#808080"}
_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_GREY = 0.12
"""Largest saturation of a colour that counts as grey."""
_SOFTER = 0.8
"""Share of a colour's saturation that is kept on a dark background, where vivid colours glare."""
_PALE = 0.78
"""Least lightness of a colour that fills an area behind marks."""

IMAGES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
"""The forms in which a chart is saved, and their media types."""

_lock = Lock()
"""Altair's settings hold for all threads: one chart at a time is turned into a specification."""


def spec_of(chart: Any) -> Spec:
    """The specification of an Altair chart. Its `datasets` are the chart's own data frames, by names that stay the same as long
    as the chart has the same parts."""
    kept: dict[int, tuple[str, Any]] = {}

    def by_name(data: Any) -> dict[str, str]:
        return {"name": kept.setdefault(id(data), (f"data{len(kept)}", data))[0]}

    with _lock:
        alt.data_transformers.register("by_name", by_name)
        with alt.theme.enable("none"), alt.data_transformers.enable("by_name"):
            spec: Spec = chart.to_dict(validate=False)
    return spec | {"datasets": spec.get("datasets", {}) | dict(kept.values())}


def image(chart: Any, kind: str) -> bytes:
    """The chart as a file: `kind` is one of IMAGES."""
    with _lock:
        if kind == "svg":
            text = io.StringIO()
            save(chart, text, kind)
            return text.getvalue().encode()
        data = io.BytesIO()
        save(chart, data, kind)
        return data.getvalue()


def on_screen(spec: Spec, dark: bool = False, narrow: bool = False) -> Spec:
    """The specification for a screen; its data stay as they are."""
    data = spec.get("datasets", {})
    found: Spec = {key: value for key, value in spec.items() if key != "datasets"}
    if narrow:
        found = _narrowed(found)
    if dark:
        found = _darkened(found)
    return found | {"background": "transparent", "datasets": data}


def dark_colour(colour: str) -> str:
    """A colour, `#rrggbb`, as it is drawn on a dark background: greys are reversed, pale fills become dark ones, and the others
    keep their order of brightness and are bright enough to see."""
    if len(colour) == 4:
        colour = "#" + "".join(2 * digit for digit in colour[1:])
    hue, light, vivid = colorsys.rgb_to_hls(*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)))
    is_grey = vivid < _GREY or light in (0, 1)
    light = 0.92 - 0.84 * light if is_grey else 1.05 - light if light > _PALE else 0.45 + 0.45 * light
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, light, _SOFTER * vivid))


def _darkened(spec: Spec) -> Spec:
    found: Spec = _recoloured(spec)
    config = found.get("config", {})
    text = {"labelColor": TEXT, "titleColor": TEXT}
    symbols = {"symbolBaseFillColor": TEXT, "symbolBaseStrokeColor": TEXT}
    more = {"axis": text, "legend": text | symbols, "header": text, "title": {"color": TEXT, "subtitleColor": TEXT},
 "text": {"color": TEXT}, "rule": {"color": TEXT}, "tick": {"color": TEXT}}  # fmt: skip
    return found | {"config": config | {part: config.get(part, {}) | colours for part, colours in more.items()}}


def _recoloured(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: value if key == "data" else _recoloured(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_recoloured(one) for one in part]
    if isinstance(part, str):
        colour = _NAMED.get(part, part)
        return dark_colour(colour) if _HEX.fullmatch(colour) else part
    return part


def _narrowed(spec: Spec) -> Spec:
    found: Spec = _slimmed(spec)
    config = found.get("config", {})
    below = {
        "orient": "bottom",
        "columns": ROW,
        "labelLimit": 96,
        "titleLimit": NARROW_PLOT,
        "direction": "horizontal",
        "layout": {"bottom": {"direction": "vertical", "anchor": "start", "margin": 6}},
    }  # one below the other
    more = {"legend": below, "axis": {"labelOverlap": "greedy", "titleLimit": NARROW_PLOT},
            "title": {"limit": NARROW_PLOT + 50, "fontSize": 12}, "concat": {"spacing": 12}}  # fmt: skip
    return found | {"config": config | {part: config.get(part, {}) | words for part, words in more.items()}}


def _slimmed(part: Any) -> Any:
    """A part of a specification whose plots are no wider than NARROW_PLOT and stand one below the other."""
    if isinstance(part, list):
        return [_slimmed(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {key: value if key in ("data", "config") else _slimmed(value) for key, value in part.items()}
    if "hconcat" in found:
        found["vconcat"] = found.pop("hconcat")
    if "concat" in found:
        found["columns"] = 1
    if isinstance(found.get("width"), int | float) and found["width"] > NARROW_PLOT:
        found["width"] = NARROW_PLOT
    if isinstance(found.get("axis"), dict) and found["axis"].get("labelLimit", 0) > 100:
        found["axis"]["labelLimit"] = 100
    for channel in _WITH_LEGEND:
        if isinstance(found.get(channel), dict):
            found[channel] = _with_whole_labels(found[channel])
    legend = found.get("legend")
    if isinstance(legend, dict):
        legend.update({key: min(legend[key], NARROW_PLOT) for key in ("labelLimit", "titleLimit") if key in legend})
    return found


def _with_whole_labels(channel: Spec) -> Spec:
    """An encoding whose legend, if the values in it are known, has so few columns that no label is cut."""
    values = channel.get("scale") and channel["scale"].get("domain")
    if channel.get("legend", {}) is None or channel.get("type") != "nominal" or not isinstance(values, list) or not values:
        return channel
    widest = SYMBOL + LETTER * max(len(str(value)) for value in values)
    columns = int(min(ROW, max(1, NARROW_PLOT // widest)))
    return channel | {"legend": channel.get("legend", {}) | {"columns": columns, "labelLimit": NARROW_PLOT}}
