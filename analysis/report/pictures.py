"""Charts as parts of a page that needs no other file: the picture, its caption, its data and the query behind it."""

import base64
import io
import re
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

MOST_SVG = 300_000
"""Largest drawing, in characters, that stands in the page as it is. A larger one, of thousands of tiles, becomes a PNG."""
NARROW = 560
"""Widest drawing, in pixels, that a phone shows whole; a wider one is scrolled."""


class Picture(NamedTuple):
    """A chart of a report. `csv` is an address that holds the data themselves."""

    title: str
    image: Markup
    caption: str
    csv: str
    name: str
    """The name of its CSV file, without the ending."""
    sql: str | None = None


def picture(title: str, chart: Any, frame: pd.DataFrame, caption: str, name: str, sql: str | None = None) -> Picture:
    """A chart of Altair with its data as a part of a page."""
    return Picture(title, image(chart, title), caption, csv(frame), name, sql)


def image(chart: Any, title: str) -> Markup:
    """The chart as HTML."""
    text = io.StringIO()
    chart.save(text, format="svg")
    svg = _slim(text.getvalue())
    size = re.search(r'width="([\d.]+)"', svg)
    width = float(size[1]) if size else 0.0
    if len(svg) <= MOST_SVG:
        wide = Markup(' wide" style="--width: {:.0f}px').format(width) if width > NARROW else ""
        return Markup('<div class="scroll chart{}" role="img" aria-label="{}">{}</div>').format(wide, title, Markup(svg))
    data = io.BytesIO()
    chart.save(data, format="png", scale_factor=1.5)
    source = base64.b64encode(data.getvalue()).decode()
    return Markup('<div class="scroll chart wide"><img src="data:image/png;base64,{}" alt="{}"></div>').format(source, title)


def _slim(svg: str) -> str:
    """The drawing without the words that Vega gives every mark, and with coordinates to a hundredth of a pixel: far smaller.

    Numbers outside of tags are labels, which keep their digits."""
    svg = re.sub(r' (?:aria-label|aria-roledescription|role)="[^"]*"', "", svg)
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d\d)\d+", r"\1", tag[0]), svg)


def csv(frame: pd.DataFrame) -> str:
    """The rows as an address that a browser can save. Numbers have seven digits: a page holds many tables."""
    return f"data:text/csv;base64,{base64.b64encode(frame.to_csv(index=False, float_format='%.7g').encode()).decode()}"
