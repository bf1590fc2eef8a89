"""An Altair chart that a notebook shows without the net, that leaves a picture in the saved notebook, and that saves itself for a
paper."""

import io
import struct
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt

from analysis.charts.shown.sizing import SHARPNESS, save
from analysis.data.source import ResultsError
from sweepkit.console.words import listed, show
from sweepkit.extras import missing_extra

FORMATS = ("pdf", "svg", "png", "html", "json")
_DEFAULT = "default"
"""The renderer that Altair starts with: its HTML loads scripts from the net."""
_DRAWN_IN = "application/vnd.vegalite.v5+json"
"""The kind of chart that JupyterLab and VS Code draw by themselves, without the net. They know no later version of Vega-Lite;
these charts are the same in both."""
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


class _Shown:
    """The ways in which a chart of `shown` differs from Altair's. Charts derived from it, as by `properties`, have them too."""

    def _repr_mimebundle_(self: Any, *_: Any, **more: Any) -> Any:
        """A picture, which every notebook shows, beside the chart for front ends that draw it themselves. A renderer that the
        user chose (`altair.renderers.enable`) is used instead."""
        if alt.renderers.active != _DEFAULT:
            return super()._repr_mimebundle_(**more)  # type: ignore[misc]
        spec = self.to_dict(context={"pre_transform": False})
        bundle = {_DRAWN_IN: spec | {"$schema": _SCHEMA}, "text/plain": spec["description"]}
        if missing_extra("figures"):  # JupyterLab and VS Code draw the chart all the same
            return bundle, {}
        drawn = io.BytesIO()
        save(self, drawn, "png")
        width, height = (side // SHARPNESS for side in struct.unpack(">2I", drawn.getvalue()[16:24]))
        return bundle | {"image/png": drawn.getvalue()}, {"image/png": {"width": width, "height": height}}

    def save(self: Any, fp: Any, format: str | None = None, scale_factor: float | None = None, **more: Any) -> None:
        """Save as `.pdf`, `.svg`, `.png`, `.html` (which opens offline) or `.json`. ResultsError if that cannot be written.

        A pixel of the chart is 1/96 inch in a PDF, times `scale_factor`, and SHARPNESS pixels along each side of a PNG, unless
        `scale_factor` or `ppi` is given.
        """
        format = format or (Path(fp).suffix.removeprefix(".").lower() if isinstance(fp, str | Path) else None)
        if isinstance(fp, str | Path) and format not in FORMATS:
            raise ResultsError(
                f"cannot save {show(str(fp))}: its name must end with one of {listed(f'.{one}' for one in FORMATS)}"
            )
        if format != "json" and (why := missing_extra("figures")):
            raise ResultsError(why)
        more = {"inline": True} | more if format == "html" else more
        try:
            save(self, fp, format, scale_factor, **more)
        except OSError as error:
            raise ResultsError(f"cannot write {fp}: {error.strerror}") from None


@cache
def _shown_class(kind: Any) -> Any:
    """The class of such charts of a kind: its name and module stay those of Altair's."""
    return type(kind.__name__, (_Shown, kind), {"__module__": kind.__module__, "__doc__": kind.__doc__})


def shown(chart: Any) -> Any:
    """The chart as one that shows and saves itself so."""
    kind: Any = type(chart)
    return _shown_class(kind)(*chart._args, **chart._kwds)
