"""Charts as the value of a notebook's cell and as files for a paper: offline, of a stated size, with the words that were asked
for."""

import io
import re

import altair
import pandas as pd
import pytest
from PIL import Image

from analysis import Results
from analysis.charts.shown.screens import image
from analysis.charts.shown.shown_figure import ShownFigure
from analysis.figures.files import write
from sweepkit.store.files import ResultsError

ASKED = {"x": "L", "by": "gamma", "wait": False}


@pytest.fixture(scope="module")
def chart(measured):
    return Results(measured).plot(**ASKED, title="")


@pytest.fixture
def figure(measured):
    return Results(measured).plot(**ASKED, library="matplotlib")


def test_a_notebook_gets_a_picture_and_nothing_that_loads_from_the_net(chart):
    data, metadata = chart._repr_mimebundle_()
    assert {*data} == {"application/vnd.vegalite.v5+json", "image/png", "text/plain"}
    picture = Image.open(io.BytesIO(data["image/png"]))
    assert picture.width // 2 == metadata["image/png"]["width"] > 420
    assert "Eq. 3" in str(data["application/vnd.vegalite.v5+json"])
    assert data["text/plain"] == chart.description and "95% interval" in chart.description


def test_a_renderer_that_the_user_chose_is_used(chart):
    with altair.renderers.enable("svg"):
        assert chart._repr_mimebundle_().keys() == {"image/svg+xml"}


def test_charts_made_from_it_show_themselves_so(chart):
    wider = chart.properties(title="mine")
    assert isinstance(wider, altair.VConcatChart) and "image/png" in wider._repr_mimebundle_()[0]
    assert wider.to_dict()["title"] == "mine" and "title" not in chart.to_dict()


def test_a_pdf_has_96_pixels_to_the_inch_and_fits_a_page(chart, tmp_path):
    _, metadata = chart._repr_mimebundle_()
    chart.save(tmp_path / "one.pdf")
    chart.save(tmp_path / "half.pdf", scale_factor=0.5)
    one, half = (float(re.search(rb"MediaBox \[0 0 ([\d.]+)", (tmp_path / f"{n}.pdf").read_bytes())[1]) for n in ("one", "half"))
    assert one == metadata["image/png"]["width"] * 72 / 96 == 2 * half
    write(chart, pd.DataFrame(), tmp_path, "command")
    drawn = altair.Chart.from_dict(chart.to_dict())  # the app's charts are Altair's own
    write(drawn, pd.DataFrame(), tmp_path, "plain")
    of_others = [(tmp_path / "command.pdf").read_bytes(), (tmp_path / "plain.pdf").read_bytes(), image(drawn, "pdf")]
    assert [float(re.search(rb"MediaBox \[0 0 ([\d.]+)", one)[1]) for one in of_others] == 3 * [one]
    assert one < 6.5 * 72


def test_a_png_has_the_pixels_that_the_command_writes(chart, figure, tmp_path):
    _, metadata = chart._repr_mimebundle_()
    chart.save(tmp_path / "python.png")
    write(chart, pd.DataFrame(), tmp_path, "command")
    chart.save(tmp_path / "one.png", scale_factor=1)
    width = metadata["image/png"]["width"]
    assert [width_of(tmp_path / f"{name}.png") for name in ("python", "command", "one")] == [2 * width, 2 * width, width]
    figure.savefig(tmp_path / "matplotlib.png")
    assert width_of(tmp_path / "matplotlib.png") == pytest.approx(2 * figure.bbox.width, abs=2)


def width_of(path):
    with Image.open(path) as picture:
        return picture.width


def test_html_opens_offline(chart, tmp_path):
    chart.save(tmp_path / "chart.html")
    assert not re.search(r'src="https?://', (tmp_path / "chart.html").read_text())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none/x.pdf", "cannot write .*none/x.pdf: No such file or directory"),
        ("none/x.png", "cannot write .*none/x.png: No such file or directory"),
        ("x.tiff", r"its name must end with one of \.pdf, \.svg, \.png"),
        ("x", "its name must end with one of"),
    ],
)
def test_a_place_where_it_cannot_be_saved_is_named(chart, tmp_path, name, words):
    with pytest.raises(ResultsError, match=words):
        chart.save(tmp_path / name)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("size", [(3.3, 2.5), (4.5, 3), (6.5, 4), (12, 5)])
def test_a_figure_fits_any_size(figure, size):
    """Its words lie within the page, and the panel keeps the larger part of the width."""
    figure.set_size_inches(*size)
    figure.savefig(
        io.BytesIO(), format="png", dpi="figure"
    )  # lays it out; that axes had no room would be a warning, an error here
    page = figure.bbox
    [legend] = figure.legends
    boxes = [legend.get_window_extent(), *([figure._suptitle.get_window_extent()] if figure._suptitle else [])]
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in boxes)
    assert figure.axes[0].get_position().width > 0.5
    assert figure.axes[0].get_position().height > 0.3


def test_its_legend_names_each_theory_once_with_the_mark_of_its_residuals(figure):
    [legend] = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert len(names) == len({*names}) and "Eq. 3" in names
    theories = [line for line in legend.get_lines() if line.get_color() == "black"]
    marks = [line.get_marker() for line in theories]
    assert len(theories) == 1 or len({*marks}) == len(marks)


def test_the_title_is_the_users(measured, figure):
    assert "95% interval" in figure.caption and figure._suptitle.get_text().replace("\n", " ") == figure.caption
    figure.set_size_inches(3.3, 2.5)
    assert figure._suptitle.get_text() == ""
    bare = Results(measured).plot(**ASKED, library="matplotlib", title="")
    assert isinstance(bare, ShownFigure) and bare._suptitle is None and bare.caption == figure.caption
    named = Results(measured).plot(**ASKED, library="matplotlib", title="Rich and lazy")
    named.set_size_inches(3.3, 2.5)
    assert named._suptitle.get_text() == "Rich and lazy"
    assert Results(measured).plot(**ASKED, title="Rich and lazy").to_dict()["title"]["text"] == ["Rich and lazy"]


def test_what_the_user_did_to_it_stays(figure):
    figure.axes[0].set_ylabel("accuracy", fontsize=14)
    figure.set_size_inches(7, 4)
    assert figure.axes[0].yaxis.label.get_fontsize() == 14
    figure.legends[0].remove()
    figure.set_size_inches(3.3, 2.5)
    assert figure.legends == []
