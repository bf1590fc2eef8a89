"""Charts as parts of a page that needs no other file: the picture, its caption, its data and the query behind it."""

import base64
import io
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

MOST_SVG = 300_000
"""Largest drawing, in characters, that stands in the page as it is. A larger one, of thousands of tiles, becomes a PNG."""


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
    svg = text.getvalue()
    if len(svg) <= MOST_SVG:
        return Markup(svg)
    data = io.BytesIO()
    chart.save(data, format="png", scale_factor=1.5)
    source = base64.b64encode(data.getvalue()).decode()
    return Markup('<img src="data:image/png;base64,{}" alt="{}">').format(source, title)


def csv(frame: pd.DataFrame) -> str:
    """The rows as an address that a browser can save."""
    return f"data:text/csv;base64,{base64.b64encode(frame.to_csv(index=False).encode()).decode()}"
