"""Charts of pictures: hidden weights in colours symmetric about zero, one scale per network; inputs in grey or in colour.

Each picture is one PNG inside the chart, in which every pixel is enlarged to a block: as marks, a picture of 70x70 would need
4,900. Borders of patches are marks: inside a PNG some lines would vanish where a browser shrinks it.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import styled
from analysis.data.networks.pictures import Array, Pictures

DIVERGING = ("#2166ac", "#92c5de", "#f7f7f7", "#f4a582", "#b2182b")
"""Colours of -m, -m/2, 0, m/2 and m. Values between them are interpolated in RGB; values beyond have the colour of the end."""
SHARE = 0.99
"""m is this quantile of the |weights| that a network shows. With the maximum, a neuron with a few large weights would pale all
others."""
SIDE = 96
"""Side of a square panel in pixels on the screen; other panels have the same area."""
SHARPNESS = 2
"""Least number of PNG pixels per screen pixel, along each side."""
MOST_PIXELS = 512
"""Most pixels along a side of a drawn picture. Longer sides, as of features, are averaged down."""
GAP, TEXT = 10, 18
ON_WEIGHTS, ON_EXAMPLES = "#333", "#2a9d8f"
"""Colours of the rulings on weights and on examples, which may themselves be black, grey and white."""
_OPACITY = 0.65


def weights_chart(networks: Mapping[str, Pictures], title: str | None = None) -> Any:
    """Hidden weights of networks side by side: neurons with the most positive readouts above, with the most negative ones
    below."""
    panels = [_weights_panel(name, pictures) for name, pictures in networks.items()]
    row = alt.hconcat(*panels, spacing=30).resolve_scale(color="independent")
    return row.properties(title=title) if title else row


def examples_chart(pictures: Pictures, words: tuple[str, str]) -> Any:
    """Example inputs in a row, each with its label: in grey from the least value to the largest, or in their own colours.

    words: for labels above 0 and for the others.
    """
    if len(pictures.examples) == 0:
        raise ValueError("no example inputs are kept of this network")
    shown = pictures.examples if _is_coloured(pictures.examples) else _flat(pictures.examples)
    if shown.ndim == 3:
        low, high = float(shown.min()), float(shown.max())
        shown = np.repeat(((shown - low) / (high - low) if high > low else np.full_like(shown, 0.5))[..., None], 3, axis=-1)
    labels = [words[0] if same else words[1] for same in pictures.same]
    hover = pd.DataFrame({"label": labels, "input": labels})
    return _images(shown, hover, ["input:N"], len(labels), pictures.rulings, ON_EXAMPLES)


def whole(chart: Any) -> Any:
    """A chart of this module with the look of all figures, to be shown on its own."""
    return styled(chart)


def said_of(pictures: Pictures) -> str:
    """Words for a caption: which neurons are shown."""
    positive, negative = (int((sign * pictures.readout > 0).sum()) for sign in (1, -1))
    return f"the {positive} most positive readouts above, the {negative} most negative below"


def _weights_panel(name: str, pictures: Pictures) -> Any:
    shown = _flat(pictures.weights)
    size = np.abs(shown)
    m = float(np.quantile(size, SHARE)) or float(size.max()) or 1.0
    stops = np.linspace(-m, m, len(DIVERGING))
    colours = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in DIVERGING]) / 255
    painted = np.stack([np.interp(shown, stops, colours[:, i]) for i in range(3)], axis=-1)
    labels = [f"a = {a:.4g}" for a in pictures.readout]
    hover = pd.DataFrame({"label": labels, "neuron": pictures.neuron, "readout": pictures.readout})
    n_positive = int((pictures.readout > 0).sum())
    columns = max(n_positive, len(labels) - n_positive, 1)
    places = [*range(n_positive), *(columns + i for i in range(len(labels) - n_positive))]
    images = _images(painted, hover, ["neuron:Q", "readout:Q"], columns, pictures.rulings, ON_WEIGHTS, places)
    beyond = "(datum.value > 0 ? '≥ ' : datum.value < 0 ? '≤ ' : '') + datum.label" if size.max() > m else "datum.label"
    legend = alt.Legend(
        orient="right", gradientLength=110, gradientThickness=10, values=[-m, 0, m], format=".2~g", labelExpr=beyond
    )
    scale = alt.Scale(domain=stops.tolist(), range=list(DIVERGING), interpolate="rgb", clamp=True)
    # Points of size 0 draw nothing: they carry the legend of the colours in the images.
    ends = alt.Chart(pd.DataFrame({"weight": [-m, m]})).mark_point(size=0, filled=True, opacity=1)
    ends = ends.encode(alt.Color("weight:Q", title="weight", scale=scale, legend=legend), x=alt.value(0), y=alt.value(0))
    return alt.layer(images, ends).properties(title=name)


def _images(
    shown: Array,
    hover: pd.DataFrame,
    tooltip: Sequence[str],
    columns: int,
    rulings: int | None,
    colour: str,
    places: Sequence[int] | None = None,
) -> Any:
    """Pictures (n, h, w, 3), colours in [0, 1], in rows of `columns`, each with its `label` above.

    places: the position of each picture, counted row by row; colour: that of the lines every `rulings` pixels.
    """
    at = np.array(range(len(shown)) if places is None else places, np.int64)
    width, height = _panel_size(*shown.shape[1:3])
    frame = hover.assign(
        url=[_png(picture, width, height) for picture in shown],
        left=(at % columns) * (width + GAP),
        top=(at // columns) * (height + TEXT + GAP) + TEXT,
    )
    x, y = (alt.X("left:Q", scale=None, axis=None), alt.Y("top:Q", scale=None, axis=None))
    base = alt.Chart(frame)
    image = base.mark_image(width=width, height=height, aspect=False, smooth=False, align="left", baseline="top")
    text = base.mark_text(align="left", baseline="bottom", dy=-3, fontSize=11)
    n_rows = int(at.max()) // columns + 1 if len(at) else 1
    layers = [image.encode(x=x, y=y, url="url:N", tooltip=list(tooltip)), text.encode(x=x, y=y, text="label:N")]
    if rulings and len(lines := _lines(frame, shown.shape[1:3], (height, width), rulings)):
        rules = alt.Chart(lines).mark_rule(color=colour, strokeWidth=1, opacity=_OPACITY)
        layers.insert(1, rules.encode(x=x, x2="right:Q", y=y, y2="bottom:Q"))
    return alt.layer(*layers).properties(
        width=columns * (width + GAP) - GAP, height=n_rows * (height + TEXT + GAP) - GAP, view={"stroke": None}
    )


def _lines(frame: pd.DataFrame, shape: tuple[int, ...], size: tuple[int, int], rulings: int) -> pd.DataFrame:
    """Ends of the lines that cross pictures of this shape every `rulings` pixels. A picture is drawn at this size (height,
    width), with its corner at `left` and `top` of the frame."""
    height, width = size
    across, down = (
        [round(at / n * length) for at in range(rulings, n, rulings)] for n, length in zip(shape, (height, width), strict=True)
    )
    ends = [
        line
        for left, top in zip(frame["left"], frame["top"], strict=True)
        for line in (
            *((left, left + width, top + y, top + y) for y in across),
            *((left + x, left + x, top, top + height) for x in down),
        )
    ]
    return pd.DataFrame(ends, columns=["left", "right", "top", "bottom"])


def _panel_size(height: int, width: int) -> tuple[int, int]:
    """Width and height on the screen: one area for all pictures, in their own proportions up to 8 to 1."""
    stretch = float(np.sqrt(np.clip(width / height, 1 / 8, 8)))
    return round(SIDE * stretch), round(SIDE / stretch)


def _flat(pictures: Array) -> Array:
    """Pictures of any shape as (n, h, w): a vector is a row, channels lie below each other, long sides are averaged down."""
    if pictures.ndim == 2:
        pictures = pictures[:, None, :]
    if pictures.ndim > 3:
        n, height, width = pictures.shape[:3]
        pictures = np.moveaxis(pictures.reshape(n, height, width, -1), -1, 1).reshape(n, -1, width)
    for axis in (1, 2):
        size = pictures.shape[axis]
        if size > MOST_PIXELS:
            starts = np.linspace(0, size, MOST_PIXELS + 1).astype(int)
            shape = [-1 if i == axis else 1 for i in range(3)]
            pictures = np.add.reduceat(pictures, starts[:-1], axis=axis) / np.diff(starts).reshape(shape)
    return pictures


def _is_coloured(pictures: Array) -> bool:
    return pictures.ndim == 4 and pictures.shape[-1] == 3 and bool((pictures >= 0).all() and (pictures <= 1).all())


def _png(picture: Array, width: int, height: int) -> str:
    """A picture (h, w, 3), colours in [0, 1], as a data URL, each pixel a block."""
    from PIL import Image  # imported here, so that pages without pictures do not wait for it

    rows, columns = (max(1, -(-SHARPNESS * size // n)) for size, n in zip((height, width), picture.shape[:2], strict=True))
    large = picture.repeat(rows, axis=0).repeat(columns, axis=1)
    data = io.BytesIO()
    Image.fromarray(np.rint(255 * large.clip(0, 1)).astype(np.uint8)).save(data, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()
