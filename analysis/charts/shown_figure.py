"""A matplotlib figure that a notebook shows without `%matplotlib inline`, and that pyplot does not keep alive."""

import io

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that draws itself as the value of a notebook's cell."""

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.savefig(drawn, format="png")
        return drawn.getvalue()
