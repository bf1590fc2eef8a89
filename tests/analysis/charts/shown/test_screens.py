"""Charts for screens: colours on a dark page, shapes in a narrow window."""

import altair as alt
import pandas as pd
import pytest

from analysis.charts.curves import styled
from analysis.charts.shown.screens import BEHIND, IMAGES, NARROW_PLOT, dark_colour, image, on_screen, spec_of

FRAME = pd.DataFrame({"x": [1, 2], "y": [3, 4]})


def chart(width=600):
    lines = alt.Chart(FRAME).mark_line(color="black").encode(x="x:Q", y="y:Q").properties(width=width)
    dots = alt.Chart(FRAME).mark_point(color="#440154").encode(x="x:Q", y="y:Q").properties(width=100)
    return styled(alt.hconcat(lines, dots))


def luminance(colour):
    """Relative luminance of sRGB, by WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(colour, behind=BEHIND):
    return (luminance(colour) + 0.05) / (luminance(behind) + 0.05)


@pytest.mark.parametrize(
    "colour", ["#000000", "#440154", "#46327e", "#365c8d", "#277f8e", "#4ac16d", "#d9a500", "#c2532d", "#888"]
)
def test_marks_can_be_seen_on_a_dark_page(colour):
    assert contrast(dark_colour(colour)) > 3  # WCAG 2.1 asks for 3 of graphical objects


def test_fills_and_grids_stay_behind_the_marks():
    for pale in ("#eeeeee", "#dcefe3", "#ffffff"):
        assert contrast(dark_colour(pale)) < 4 < contrast(dark_colour("#000000"))


def test_a_specification_holds_the_frames_and_a_screen_changes_no_data():
    spec = spec_of(chart())
    assert [frame.equals(FRAME) for frame in spec["datasets"].values()] == [True]
    assert spec_of(chart())["datasets"].keys() == spec["datasets"].keys()
    dark = on_screen(spec, dark=True)
    assert dark["datasets"] is spec["datasets"] and dark["background"] == "transparent"
    assert [part["mark"]["color"] for part in dark["hconcat"]] == [dark_colour("#000000"), dark_colour("#440154")]
    assert dark["config"]["axis"]["gridColor"] == dark_colour("#eee")
    assert [part["mark"]["color"] for part in spec["hconcat"]] == ["black", "#440154"]  # as it was


def test_in_a_narrow_window_panels_stand_one_below_the_other():
    narrow = on_screen(spec_of(chart()), narrow=True)
    assert "hconcat" not in narrow
    assert [part["width"] for part in narrow["vconcat"]] == [NARROW_PLOT, 100]
    assert narrow["config"]["legend"]["orient"] == "bottom" and narrow["config"]["axis"]["labelOverlap"]


@pytest.mark.parametrize(("labels", "columns"), [(["1", "lazy"], 3), (["perceptron", "transformer + a I"], 2),
                                                 (["1", "kernel, no token twice, infinite width"], 1)])  # fmt: skip
def test_in_a_narrow_window_legends_have_as_many_columns_as_their_labels_leave_room_for(labels, columns):
    scale = alt.Scale(domain=labels)
    lines = alt.Chart(FRAME).mark_line().encode(x="x:Q", color=alt.Color("y:N", scale=scale), opacity=alt.Opacity("x:Q"))
    legend = on_screen(spec_of(lines), narrow=True)["encoding"]["color"]["legend"]
    assert legend["columns"] == columns and legend["labelLimit"] >= NARROW_PLOT
    assert "legend" not in on_screen(spec_of(lines), narrow=True)["encoding"]["opacity"]
    hidden = lines.encode(color=alt.Color("y:N", scale=scale, legend=None))
    assert on_screen(spec_of(hidden), narrow=True)["encoding"]["color"]["legend"] is None
    assert "legend" not in on_screen(spec_of(lines))["encoding"]["color"]


def test_an_image_of_each_kind():
    starts = {kind: image(chart(), kind)[:4] for kind in IMAGES}
    assert starts == {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
