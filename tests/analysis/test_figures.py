"""Figures of the paper from a store: what they show, the files, and what a person reads when data are missing."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
import typer
from sweepkit.studies.tong25.figures.curves import CURVES
from sweepkit.studies.tong25.paper import ROUNDED
from sweepkit.studies.tong25.theory.rich import test_accuracy as eq3
from typer.testing import CliRunner

from analysis.charts.curves import title_of
from analysis.data.points import averaged, task_of
from analysis.data.progress.coverage import progress, reasons
from analysis.figures.__main__ import NAMES, app
from analysis.figures.files import FILES
from analysis.figures.registry import FIGURES, Drawn, Missing, figures_of
from analysis.studies.loading import studies
from sweepkit.console.terminal import stop
from sweepkit.store import connections, views
from sweepkit.store.store import Store
from sweepkit.store.upkeep.compact import compact
from tests.measured_store import LAZY_EXPONENT, measured_rows
from tests.store_rows import OWN_KEYS, row

PICTURES = (
    "3a",
    "3d",
    "3g",
    "A1",
    "Nstar",
    "Collapse",
    "Outliers",
    "Layers",
    "Magnitude",
    "Attention",
    *(f.name for study in studies() for f in figures_of(study)),
)
"""They have stores and tests of their own."""
IMAGES = {
    "3b": [{"task": "psvrt", "L": L, "patches": 5} for L in (16, 64, 256)],
    "3c": [{"task": "psvrt", "L": 1024, "patches": patches} for patches in (2, 6, 10)],
    "3e": [{"task": "pentomino", "L": L, "patches": 2, "blur": 0.5} for L in (4, 10, 16)],
    "3f": [{"task": "pentomino", "L": L, "patches": patches, "blur": 0.5} for L in (14, 16) for patches in (2, 6, 10)],
    "3h": [{"task": "cifar100", "L": L, "layer": layer} for L in (8, 32) for layer in ("id", "relu4_3")],
}
SIZES = {"psvrt": {"patch_size": 5}, "pentomino": {"patch_size": 7}}
IMAGES["G1"] = IMAGES["3h"]
"""Curves of the visual tasks, and the networks that they need."""


def drawn(results, name):
    found = FIGURES[name].draw(results, None)
    assert isinstance(found, Drawn), found
    return found


@pytest.mark.parametrize("name", IMAGES)
def test_curves_of_images_are_drawn_from_networks_of_their_task(tmp_path, name):
    """Beside networks of the other tasks and settings, which must not show."""
    store = Store(str(tmp_path))
    gammas = ((1.0, "1"), (1e-5, "lazy"))
    everything = dict.fromkeys((f, i) for f in IMAGES for i in range(len(IMAGES[f])))
    networks = [(IMAGES[f][i], gamma, seed) for f, i in everything for gamma in gammas for seed in range(2)]
    unique = {repr(one): one for one in networks}.values()
    rows = [
        row(
            n,
            **SIZES.get(keys["task"], {}),
            **keys,
            gamma=gamma,
            gamma_label=label,
            seed=seed,
            d=None,
            width=512,
            best_test_acc=0.5 + 0.001 * keys["L"] / 4,
        )
        for n, (keys, (gamma, label), seed) in enumerate(unique)
    ]
    for task in ("psvrt", "pentomino", "cifar100"):
        store.commit(task, [one for one in rows if one["task"] == task], OWN_KEYS)
    found = drawn(str(tmp_path), name)
    look = CURVES[name].look
    shown = {tuple(point[key] for key in ("L", "patches", "layer") if key in point) for point in found.frame.to_dict("records")}
    axes = [key for key in (look.x, look.facet) if key]
    there = [keys for f in IMAGES for keys in IMAGES[f] if keys["task"] == IMAGES[name][0]["task"]]
    fixed = {key: value for key, value in {"patches": 5 if name == "3b" else 2, "layer": "relu4_3", "L": 1024}.items()
             if key not in axes and key in IMAGES[name][0]}  # fmt: skip
    asked = [[keys for keys in some if all(keys[k] == v for k, v in fixed.items())] for some in (IMAGES[name], there)]
    own, allowed = ({tuple(keys[k] for k in ("L", "patches", "layer") if k in axes) for keys in some} for some in asked)
    assert own <= shown <= allowed
    assert set(found.frame["gamma_label"]) == {"1", "lazy"} and set(found.frame["n"]) == {2}
    fixed |= {"patch_size": 7, "blur": 0.5} if name in ("3e", "3f") else {"patch_size": 5} if name in ("3b", "3c") else {}
    assert all(f"{key} = {value}" in found.caption for key, value in fixed.items())
    title = {"psvrt": "patterns", "pentomino": "shapes", "cifar100": "classes"}[IMAGES[name][0]["task"]]
    text = json.dumps(found.chart.to_dict())
    assert "training symbols" not in text
    assert f"training {title} L" in text if "L" in axes else "patches a side" in text


def test_the_help_names_every_figure():
    assert ", ".join(FIGURES) == NAMES


@pytest.mark.parametrize("name", [n for n in FIGURES if n != "1d" and n not in (*PICTURES, *IMAGES)])
def test_every_figure_is_drawn_from_its_networks(measured, name):
    found = drawn(measured, name)
    assert len(found.frame) and found.caption and found.chart.to_dict()


def test_what_the_store_lacks_is_said(measured):
    found = FIGURES["1d"].draw(measured, None)
    assert isinstance(found, Missing) and "neurons were saved" in found.needs
    assert f"python -m orchestrator.sweep quick --results {measured}" in FIGURES["1d"].commands(measured)


def test_c3_holds_the_means_beside_eq3(measured):
    frame = drawn(measured, "C3").frame
    assert set(frame["L"]) == {2, 3, 4, 5, 8}
    assert list(frame["Eq. 3"]) == pytest.approx([float(eq3(n)) for n in frame["L"]])
    assert (abs(frame["mean"] - frame["Eq. 3"]) < 4 * 0.004 / 2).all()  # four standard errors of four seeds


@pytest.mark.parametrize("name", ["1c", "1f", "2", "C3", "F1"])
def test_the_sql_of_a_figure_gives_its_points(measured, name):
    found = drawn(measured, name)
    again = views.run(measured, lambda connection: connection.execute(found.sql).df())
    assert set(found.frame["mean"].round(12)) <= set(again["mean"].round(12))
    assert len(again) == len(found.frame) or "less than half of the longest left out" in found.caption


def test_1e_fits_the_law_of_the_store(measured):
    caption = drawn(measured, "1e").caption
    assert "reached at 3 of 3 d" in caption
    exponent = float(caption.split("L* ~ d^")[1].split(" ")[0])
    assert exponent == pytest.approx(LAZY_EXPONENT, abs=0.05)


@pytest.mark.parametrize("name", ["1b", "1c", "1e", "1f", "2", "C3", "F1", "Lstar"])
def test_captions_warn_where_accuracies_of_lazy_networks_stand_beside_the_papers(measured, name):
    assert (ROUNDED in drawn(measured, name).caption) == (name in ("1c", "1e", "1f", "2", "Lstar"))


def test_2_has_a_panel_for_each_noise(measured):
    assert len(drawn(measured, "2").chart.to_dict()["concat"]) == 3  # sigma2 = 0 has the same setting


def test_a_figure_never_mixes_settings(measured):
    found = drawn(measured, "1c")
    assert "other configurations in the store not shown" in found.caption
    assert not found.frame.duplicated(["L", "gamma_label"]).any()


@pytest.mark.parametrize("measure", [lambda results: drawn(results, "C3").frame.round(12).to_csv(), progress])
def test_a_compaction_between_connecting_and_reading_does_no_harm(measured, tmp_path, monkeypatch, measure):
    import shutil

    results = shutil.copytree(measured, tmp_path / "copy")
    store, before, opened = Store(str(results)), measure(str(results)), []
    connect_to = connections.connect_to

    def connect_then_compact(files, snapshot):
        opened.append(connect_to(files, snapshot))
        compact(store.files, now=True)  # the files of the first connection are gone after this
        return opened[-1]

    monkeypatch.setattr(connections, "connect_to", connect_then_compact)
    store.commit("more", [row("unplanned", task="other")])
    assert measure(store.results) == before
    assert len(opened) > 1


def test_progress_and_failures(measured):
    (counts,) = progress(measured)
    assert counts.diverged == counts.missing == 1 and counts.failed == 0
    assert counts.planned == counts.ok + 2
    (reason,) = reasons(measured)["measured"]
    assert (reason.status, reason.n, reason.log_path) == ("diverged", 1, None)


def test_writes_svg_png_and_csv(measured, tmp_path):
    done = CliRunner().invoke(app, ["c3", "--results", measured, "--sweep", "measured", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "measured-C3.svg").read_text().startswith("<svg")
    assert (tmp_path / "out" / "measured-C3.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "measured-C3.pdf").read_bytes().startswith(b"%PDF")
    rows = list(csv.DictReader((tmp_path / "out" / "measured-C3.csv").read_text().splitlines()))
    assert {r["gamma_label"] for r in rows} == {"1"}
    assert "6 seeds per point" in done.output.replace("\n", " ")


def test_another_measure_is_drawn_beside_the_files_of_the_own_one(measured, tmp_path):
    args = ["c3", "--measure", "final_test_acc", "--results", measured, "--out", str(tmp_path)]
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 0, done.output
    assert {file.name for file in tmp_path.iterdir()} == {f"C3-final_test_acc.{kind}" for kind in FILES}
    means = [float(r["mean"]) for r in csv.DictReader((tmp_path / "C3-final_test_acc.csv").read_text().splitlines())]
    # The last accuracy of this store is 0.01 below the best.
    np.testing.assert_allclose(means, drawn(measured, "C3").frame["mean"] - 0.01, atol=1e-9)
    said = done.output.replace("\n", " ")
    assert "Rich and ultra-rich last test accuracy beside Eq. 3." in said and "dashed: accuracy 0.85" in said


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["c3", "--measure", "auc"], "figure C3 cannot be drawn by 'auc'; measures best_test_acc"),
        (["1a", "--measure", "final_test_auc"], "figure 1a cannot be drawn by 'final_test_auc'; figures that can be: 1b, 1c"),
        (["9z"], "no figure '9z': there are curve, map, threshold, rescaled, compare, 1a, 1b"),
        (["1c", "--sweep", "x"], "no sweep 'x'"),
        (["1d"], "run python -m orchestrator.sweep grid.yaml --results"),
    ],
)
def test_bad_input(measured, tmp_path, args, words):
    done = CliRunner().invoke(app, [*args, "--results", measured, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert words in done.stderr.replace("\n", " ")
    assert not (tmp_path / "out").exists()


def test_no_store_says_what_to_type(tmp_path):
    done = CliRunner().invoke(app, ["1c", "--results", str(tmp_path / "none")])
    assert done.exit_code == 2
    assert "python -m orchestrator.sweep fig1c_1f" in done.stderr


def test_stop_says_a_message_as_it_is(capsys):
    with pytest.raises(typer.Exit) as left:
        stop("no [bold]markup[/bold], no :x: pictures, " + "no folding " * 30)
    assert left.value.exit_code == 2
    assert capsys.readouterr().err == "no [bold]markup[/bold], no :x: pictures, " + "no folding " * 30 + "\n"


def test_captions_count_one_as_one(tmp_path):
    """One seed per point; one line of two points beside one of three; one setting more."""
    store = Store(str(tmp_path))
    common = {"task": "psvrt", "d": None, "patches": 5, "patch_size": 5, "seed": 0}
    rows = [
        row(10 * i + j, L=L, gamma=gamma, gamma_label=f"{gamma:g}", width=width, **common)
        for i, (gamma, width, Ls) in enumerate([(1.0, 512, (16, 64, 256)), (0.1, 512, (16, 20)), (1.0, 64, (16, 64))])
        for j, L in enumerate(Ls)
    ]
    store.commit("p", rows, OWN_KEYS)
    caption = drawn(store.results, "3b").caption
    assert "; 1 seed per point, without an interval, 3 networks; 1 line that spans less than half" in caption
    assert caption.endswith("; 1 other configuration in the store not shown.")


def test_what_a_point_is_by_its_seeds():
    frame = pd.DataFrame({"n": [1, 3], "low": [np.nan, 0.5]})
    assert averaged(frame) == "mean over 1 to 3 seeds per point with its 95% interval"
    assert averaged(frame[:1], intervals=False) == "1 seed per point"
    assert averaged(frame[1:], "median", intervals=False) == "median over 3 seeds per point"


def test_titles_by_the_task_of_the_points():
    assert title_of("L") == title_of("L", "same_different") == "training symbols L"
    assert [title_of("L", task) for task in ("psvrt", "pentomino", "cifar100")] == [
        "training patterns L", "training shapes L", "training classes L",
    ]  # fmt: skip
    assert title_of("patches") == "patches a side" and title_of("k") == "k"
    both = pd.DataFrame({"task": ["psvrt", "pentomino"]})
    assert task_of(both) is None and task_of(both[:1]) == "psvrt" and task_of(pd.DataFrame({"L": [2]})) is None


@pytest.mark.parametrize("loss", [None, "mse"])
def test_theorem_2_is_drawn_over_networks_that_it_speaks_of(tmp_path, loss):
    store = Store(str(tmp_path))
    store.commit("p", [one | {"loss": loss} for one in measured_rows()])
    found = drawn(str(tmp_path), "1e")
    assert ("Theorem 2" in found.caption) == ("Theorem 2" in found.chart.to_json()) == (loss is None)
