"""Figures of one's own sweep: any metric against any parameter, along training, and over two parameters."""

import csv
import math

import pytest
from PIL import Image
from typer.testing import CliRunner

from analysis.data.measures import MEASURES
from analysis.figures.__main__ import app
from analysis.figures.files import FILES
from analysis.figures.registry import FIGURES
from sweepkit.store.store import Store
from tests.store_rows import row


def drawn(measured, folder, *words):
    """The rows of the CSV, and what was printed."""
    done = CliRunner().invoke(app, [*words, "--results", measured, "--out", str(folder), "--name", "f", "--no-wait"])
    assert done.exit_code == 0, done.output
    assert {file.name for file in folder.iterdir()} == {f"f.{kind}" for kind in FILES}
    return list(csv.DictReader((folder / "f.csv").read_text().splitlines())), done.stdout


def test_no_option_draws_the_main_metric_of_the_only_sweep(measured, tmp_path):
    done = CliRunner().invoke(app, ["curve", "--results", measured, "--out", str(tmp_path), "--no-wait"])
    assert done.exit_code == 0, done.output
    assert {file.stem for file in tmp_path.iterdir()} == {"measured-best_test_acc-L"}
    assert done.stdout.startswith("Best test accuracy against training symbols L. ")


def test_a_file_may_be_named_and_its_ending_may_be_any_of_the_four(measured, tmp_path):
    words = ["curve", "--results", measured, "--no-wait", "--out", str(tmp_path / "paper.pdf")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert {file.name for file in tmp_path.iterdir()} == {f"paper.{kind}" for kind in FILES}
    done = CliRunner().invoke(app, [*words, "--name", "f"])
    assert done.exit_code == 2 and "paper.pdf names the files already" in done.output


def test_the_asked_axes_and_values(measured, tmp_path):
    words = ["--sweep", "measured", "--x", "d", "--y", "final_test_acc", "--by", "L", "--where", "gamma=1", "--where", "L=3,5"]
    rows, said = drawn(measured, tmp_path, "curve", *words)
    assert {row["d"] for row in rows} == {"64", "128", "256"} and {row["L"] for row in rows} == {"3", "5"}
    assert all(float(row["low"]) < float(row["mean"]) < float(row["high"]) for row in rows)
    assert said.startswith("Last test accuracy against input dimension d. ") and "6 seeds per point" in said.replace("\n", " ")
    assert "gamma = 1" in said, "a default that was asked for is told"


@pytest.mark.parametrize("words", [["--by", "none", "--no-theory"], ["--panels", "d", "--no-residuals", "--seeds", "--log-x"]])
def test_options_of_a_curve(measured, tmp_path, words):
    rows, _ = drawn(measured, tmp_path, "curve", "--x", "L", "--where", "gamma=1", *words)
    assert ("Eq. 3" in rows[0]) == ("--panels" in words)
    assert ("d" in rows[0]) == ("--panels" in words)


def test_along_training(measured, tmp_path):
    rows, said = drawn(measured, tmp_path, "curve", "--x", "step", "--y", "train_loss", "--by", "L", "--where", "gamma=lazy")
    assert {row["step"] for row in rows} == {"0", "1000", "2000"} and {float(row["mean"]) for row in rows} == {0.5}
    assert said.startswith("Training loss along training. ")
    assert len({row["L"] for row in rows}) == 7


def test_a_map_over_two_parameters(measured, tmp_path):
    rows, said = drawn(measured, tmp_path, "map", "--where", "gamma=lazy", "--x", "d", "--by", "L")
    assert len(rows) == 21 and "Best test accuracy over d and L" in said


def test_a_map_over_a_parameter_that_holds_0_names_the_values_that_can_be_drawn(tmp_path):
    store = Store(str(tmp_path / "noisy"))
    store.commit("p", [row(f"{i:020x}", sigma2=float(i % 4), d=[64, 128][i // 4], seed=0, L=3, steps=9) for i in range(8)])
    words = ["map", "--x", "sigma2", "--by", "d", "--results", store.results, "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2 and "it holds 0; choose the others, sigma2 = 1, 2, 3, or draw a curve; axes must be" in done.output
    done = CliRunner().invoke(app, [*words, "--where", "sigma2=1,2,3"])
    assert done.exit_code == 0 and "over sigma2 and d" in done.output


@pytest.mark.parametrize("words", ["curve --x L", "curve --x step --where gamma=1", "map", "Lstar"])
def test_a_panel_has_the_size_that_was_asked_for(measured, tmp_path, words):
    drawn(measured, tmp_path, *words.split(), "--width", "150", "--height", "90")
    panel = 'd="M0.5,0.5h150v90h-150Z"'  # the frame of a panel
    assert panel in (tmp_path / "f.svg").read_text()


def test_a_figure_of_matplotlib_has_the_size_and_no_title_of_its_own(measured, tmp_path):
    """Its first argument after the caption is a title: the centre stood there."""
    sizes = {}
    for width in ("200", "400"):
        out = tmp_path / width
        drawn(measured, out, "curve", "--x", "L", "--library", "matplotlib", "--width", width)
        with Image.open(out / "f.png") as image:
            sizes[width] = image.width
        assert "<!-- mean -->" not in (out / "f.svg").read_text()
    assert 1.3 < sizes["400"] / sizes["200"] < 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--width", "4"], "'--width'"),
        (["--sweep", "mesured"], "did you mean 'measured'? there are measured"),
        (["--x", "witdh"], "did you mean 'width'?"),
        (["--x", "task"], "must be a parameter that is a number here: L, d"),
        (["--y", "best_tst_acc"], "did you mean 'best_test_acc'?"),
        (["--where", "gamma=lzay"], "did you mean 'lazy'? there are lazy, 0.0001"),
        (["--where", "d=65"], "no network has d = 65"),
        (["--where", "d"], "say a parameter and its values, such as d=128,256"),
        (["--x", "step", "--y", "tset_acc"], "no 'tset_acc' along training; did you mean 'test_acc'?"),
        (["--x", "L", "--by", "L"], "x = L and by = L: name two parameters"),
        (["--x", "seed"], "points are means over seeds"),
        (["d=64"], "d=64: say --where d=64"),
        (["eq3"], "'eq3': a command draws one figure"),
        (["--centre", "meen"], "did you mean 'mean'?"),
        (["--library", "ggplot"], "there are altair, matplotlib"),
        (["--measure", "final_test_acc"], "name the metric by --y final_test_acc"),
        (["--name", "a/b"], "--out names the folder"),
    ],
)
def test_a_mistake_names_what_there_is_and_writes_nothing(measured, tmp_path, words, message):
    done = CliRunner().invoke(app, ["curve", *words, "--results", measured, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and message in done.stderr.replace("\n", " "), done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("folder", "why"), [("/proc/figures", "Permission denied"), ("{tmp}/file/figures", "Not a directory")])
@pytest.mark.parametrize("figure", ["curve", "1c"])
def test_a_folder_that_cannot_be_written_is_told_before_anything_is_drawn(measured, tmp_path, monkeypatch, figure, folder, why):
    for name in ("_own", "_of_paper"):
        monkeypatch.setattr(f"analysis.figures.__main__.{name}", lambda *arguments: pytest.fail("the work was begun"))
    (tmp_path / "file").touch()
    out = folder.format(tmp=tmp_path)
    done = CliRunner().invoke(app, [figure, "--results", measured, "--out", out])
    assert done.exit_code == 2
    assert f"cannot write in {out}: {why}" in done.stderr.replace("\n", " ") and "name a folder with --out" in done.stderr


def test_axes_are_for_ones_own_figures(measured):
    done = CliRunner().invoke(app, ["1c", "--x", "d", "--results", measured])
    assert done.exit_code == 2 and "--x: for curve, map, threshold, rescaled, compare only" in done.stderr.replace("\n", " ")


def test_titles_by_another_measure_name_it():
    other = MEASURES["final_test_auc"]
    assert FIGURES["1c"].title_by(other).lower().startswith(f"{other.title} against the number of training symbols".lower())
    for figure in FIGURES.values():
        if figure.draw_by is not None:
            assert other.title.lower() in figure.title_by(other).lower() and "est accuracy" not in figure.title_by(other), (
                figure.name
            )


@pytest.mark.parametrize("ends", [False, True])
def test_a_figure_is_written_before_its_slow_theory(measured, tmp_path, monkeypatch, ends):
    """Ctrl-C during the theory leaves the measured figure; without it the figure is written again."""
    seen = []

    def instead(missing):
        seen.append((len(missing), sorted(file.suffix for file in tmp_path.iterdir())))
        if ends:
            raise KeyboardInterrupt
        return True

    monkeypatch.setattr("analysis.figures.__main__.computed", instead)
    words = ["curve", "--sweep", "measured", "--x", "L", "--by", "gamma", "--results", measured, "--out", str(tmp_path)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == (130 if ends else 0), done.output
    ((n, files),) = seen
    assert n > 0 and files == [".csv", ".pdf", ".png", ".svg"]
    assert f"are written, without the theory of {n} points; Ctrl-C leaves them so" in done.stderr.replace("\n", " ")
    assert ("stays without that theory" in done.stderr) == ends and ("Best test accuracy" in done.stdout) != ends


def test_lstar_at_a_level_of_ones_own(measured, tmp_path):
    for level in ("0.7", "0.85"):
        out = tmp_path / level
        done = CliRunner().invoke(app, ["Lstar", "--at", level, "--results", measured, "--out", str(out), "--no-wait"])
        assert done.exit_code == 0 and f"mean best test accuracy {level}, " in done.stdout.replace("\n", " "), done.output
    of = [list(csv.DictReader((tmp_path / x / f"Lstar-{x}.csv").read_text().splitlines())) for x in ("0.7", "0.85")]
    lower, usual = ([float(row["threshold"]) for row in rows if row["gamma_label"] == "lazy"] for rows in of)
    assert len(usual) > 1 and all(low < high for low, high in zip(lower, usual, strict=True))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("Lstar --at 85", "at = 85: best_test_acc lies between 0 and 1"),
        ("Lstar --measure readout_ratio", "no level of readout ratio |mean a-| / |mean a+| is usual: say one with --at"),
        ("1f --at 0.9", "1f has no level; figures that have one: Lstar"),
    ],
)
def test_a_level_where_there_is_none(measured, tmp_path, words, said):
    done = CliRunner().invoke(app, [*words.split(), "--results", measured, "--out", str(tmp_path)])
    assert done.exit_code == 2 and said in done.stderr.replace("\n", " "), done.output


def two_tasks(folder):
    """Two seeds of two tasks with the same P, one with an accuracy and one with an error, and training losses 1 and 3."""
    store = Store(str(folder))
    losses = {"curve_train_acc": [1.0] * 3, "curve_test_acc": None}
    hermite = {"task": "hermite", "best_test_acc": None, "test_mse": 0.5, "curve_train_loss": [3.0] * 3, **losses}
    clusters = {"task": "clusters", "curve_train_loss": [1.0] * 3}
    cells = [row(10 * i + j, seed=j % 2, L=2 + j // 2, **(clusters, hermite)[i]) for i in range(2) for j in range(4)]
    store.commit("two", cells)
    store.write_plan("two", [one["cell_id"] for one in cells], whole=True)
    return store.results


@pytest.mark.parametrize(("words", "loss"), [((), 1.0), (("--where", "task=hermite"), 3.0)])
def test_a_curve_along_training_is_of_one_task(tmp_path, words, loss):
    """The means were once over all tasks with that loss, and named one of them."""
    (tmp_path / "out").mkdir()
    rows, said = drawn(
        two_tasks(tmp_path / "store"),
        tmp_path / "out",
        "curve",
        "--x",
        "step",
        "--y",
        "train_loss",
        "--by",
        "L",
        "--panels",
        "none",
        *words,
    )
    assert {(row["n"], float(row["mean"])) for row in rows} == {("2", loss)}
    assert ("of other task not shown" in said.replace("\n", " ")) == (not words)


def test_a_caption_names_the_tasks_without_the_metric(tmp_path):
    (tmp_path / "out").mkdir()
    _, said = drawn(two_tasks(tmp_path / "store"), tmp_path / "out", "curve", "--x", "L")
    assert "4 networks of hermite without a best test accuracy" in said.replace("\n", " ")


def test_a_caption_counts_networks_whose_value_is_not_finite(tmp_path):
    (tmp_path / "out").mkdir()
    store = Store(str(tmp_path / "store"))
    values = [0.5, 0.6, 0.7, math.inf]
    store.commit("one", [row(i, seed=i % 2, L=2 + i // 2, test_mse=value) for i, value in enumerate(values)])
    _, said = drawn(store.results, tmp_path / "out", "curve", "--x", "L", "--y", "test_mse")
    assert "3 networks; " in (words := said.replace("\n", " ")) and "1 further network without a finite" in words


def test_a_curve_by_default_is_of_networks_over_which_a_number_varies(tmp_path):
    """The command that a sweep names at its end was refused, where its main metric has one value of each parameter."""
    (tmp_path / "out").mkdir()
    store = Store(str(tmp_path / "store"))
    rates = {"task": "hermite", "best_test_acc": None, "test_mse": 0.5}
    cells = [row(0, task="clusters", L=2, seed=0), *(row(1 + i, L=2 + i, seed=0, **rates) for i in range(3))]
    store.commit("two", cells)
    store.write_plan("two", [one["cell_id"] for one in cells], whole=True)
    _, said = drawn(store.results, tmp_path / "out", "curve", "--sweep", "two")
    assert said.startswith("Test mean squared error against training symbols L. ")
