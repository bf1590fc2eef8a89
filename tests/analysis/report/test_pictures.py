"""Charts in a report's page: what they say stays as it was drawn."""

import altair as alt
import pandas as pd

from analysis.report.pictures import image


def test_labels_keep_their_digits_and_coordinates_do_not():
    data = pd.DataFrame({"x": [1, 2, 3], "y": [0.0012, 0.0345, 0.2]})
    y = alt.Y("y:Q", scale=alt.Scale(type="log"), axis=alt.Axis(values=[0.002, 0.0345], format="~g", labelOverlap=False))
    page = str(image(alt.Chart(data).mark_line().encode(x="x:Q", y=y), "loss"))
    assert ">0.002<" in page and ">0.0345<" in page
