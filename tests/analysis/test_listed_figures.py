"""`sweep figures FILE.yaml`: a list of figures is drawn, wrong ones are told before anything is drawn, and figures are added."""

import csv

import pytest
from typer.testing import CliRunner

from analysis.charts.curves import Look
from analysis.charts.explore import Choices, explore
from analysis.data.comparing import named
from analysis.data.points import groups
from analysis.data.selection import Selection
from analysis.figures.files import FILES
from analysis.figures.listed import add, app, entries
from analysis.python_lines import figure_entry, plot_options
from sweepkit.store.files import ResultsError

LIST = """# the figures of my paper
figures:
  - {name: one, figure: curve, x: L, by: d, where: {gamma: [1]}, residuals: false, width: 150, height: 90}
  - {name: two, figure: map, where: "gamma=lazy", x: d, by: L, caption: false}
"""


def draw(measured, folder, text=LIST, *words):
    (folder / "figures.yaml").write_text(text)
    out = ["--results", measured, "--out", str(folder / "out"), "--no-wait"]
    return CliRunner().invoke(app, [str(folder / "figures.yaml"), *words, *out])


def test_all_figures_of_a_list_are_drawn_by_their_names(measured, tmp_path):
    done = draw(measured, tmp_path)
    assert done.exit_code == 0, done.output
    assert {file.name for file in (tmp_path / "out").iterdir()} == {f"{name}.{kind}" for name in ("one", "two") for kind in FILES}
    rows = list(csv.DictReader((tmp_path / "out/one.csv").read_text().splitlines()))
    assert {row["d"] for row in rows} == {"64", "128", "256"}
    assert 'd="M0.5,0.5h150v90h-150Z"' in (tmp_path / "out/one.svg").read_text()
    assert "1/2 one" in done.stdout and "2/2 two" in done.stdout


def test_one_of_a_list(measured, tmp_path):
    assert draw(measured, tmp_path, LIST, "two").exit_code == 0
    assert {file.stem for file in (tmp_path / "out").iterdir()} == {"two"}
    wrong = draw(measured, tmp_path, LIST, "tow")
    assert wrong.exit_code == 2 and "has no figure 'tow'; did you mean 'two'?" in wrong.stderr


def test_a_figure_that_cannot_be_drawn_does_not_keep_the_others(measured, tmp_path):
    done = draw(measured, tmp_path, LIST.replace("width: 150", "sweep: nowhere"))
    assert done.exit_code == 2
    assert "no sweep 'nowhere'" in done.stderr and "1 figure could not be drawn: one; the others are" in done.stderr
    assert {file.stem for file in (tmp_path / "out").iterdir()} == {"two"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("figures:\n  - {name: a, figure: curve, xx: L}\n", "figure 1 (a): xx: no such option; did you mean 'x'?"),
        ("figures:\n  - {name: a, figure: curve, width: wide}\n", "figure 1 (a): Invalid value for '--width'"),
        ("figures:\n  - {name: a, figure: curve, seeds: 3}\n", "seeds: 3: say true or false"),
        ("figures:\n  - {name: ../a, figure: curve}\n", "say a file's name without a folder"),
        ("figures:\n  - {figure: curve}\n", "figure 1: name: is missing"),
        ("figures:\n  - 3\n", "figure 1: 3: must be a mapping"),
        ("figures:\n  - {name: a, figure: map}\n  - {name: a, figure: map}\n", "figure 2 (a): name: a is there twice"),
        ("figures: []\n", "must hold `figures:` and below it a list"),
        ("sweep: mine\n", "must hold `figures:` and below it a list"),
        ("figures: [\n", "not YAML"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_drawn(measured, tmp_path, text, words):
    done = draw(measured, tmp_path, text)
    assert done.exit_code == 2 and words in done.stderr.replace("\n", " "), done.output
    assert not (tmp_path / "out").exists()


def test_a_list_that_is_not_there_is_told(tmp_path):
    done = CliRunner().invoke(app, [str(tmp_path / "none.yaml")])
    assert done.exit_code == 2 and "none.yaml: No such file" in done.stderr.replace("\n", " ")


def test_a_figure_is_added_below_the_others_and_comments_stay(tmp_path):
    file = tmp_path / "figures.yaml"
    assert add(file, {"name": "a", "figure": "curve", "x": "L"}) == "a"
    file.write_text("# mine\n" + file.read_text() + "  # the end\n")
    assert add(file, {"name": "a", "figure": "threshold", "of": "L", "where": {"d": [64, 128]}}) == "a-2"
    assert file.read_text().startswith("# mine\n") and "# the end" in file.read_text()
    assert [one.name for one in entries(file)] == ["a", "a-2"]
    assert entries(file)[1].words == ["threshold", "--of", "L", "--where", "d=64,128"]


@pytest.mark.parametrize("text", ["figures: [{name: a, figure: map}]\n", "sweep: mine\n", "figures: [\n"])
def test_what_is_no_list_stays_as_it_is(tmp_path, text):
    file = tmp_path / "figures.yaml"
    file.write_text(text)
    with pytest.raises(ResultsError):
        add(file, {"name": "b", "figure": "curve"})
    assert file.read_text() == text and [one.name for one in tmp_path.iterdir()] == ["figures.yaml"]


def test_the_figure_that_a_page_adds_draws_the_points_of_its_chart(measured, tmp_path):
    selection = Selection("measured")
    points = named(groups(measured, selection))
    look = Look("L", "d", None, log_x=False, declared=points.declared)
    choices = Choices(look, (("gamma_label", "lazy"), ("sigma2", 0.0)), "median", True, False, False)
    found = explore(measured, selection, points, choices)
    options = plot_options(selection, points, choices, found.drawn.points)
    add(tmp_path / "figures.yaml", figure_entry("mine", "curve", options))
    done = draw(measured, tmp_path, (tmp_path / "figures.yaml").read_text())
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader((tmp_path / "out/mine.csv").read_text().splitlines()))
    got = {(int(row["d"]), int(row["L"]), round(float(row["median"]), 8)) for row in rows}
    assert got == {(row.d, row.L, round(row.median, 8)) for row in found.drawn.points.itertuples()}
