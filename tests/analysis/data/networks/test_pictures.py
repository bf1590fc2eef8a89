"""Pictures of networks: what is read, what colours mean, and the figures of them."""

import base64
import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

from analysis.charts.census import census_chart, task_in
from analysis.charts.networks.pictures import DIVERGING, MOST_PIXELS, SHARPNESS, SIDE, examples_chart, weights_chart, whole
from analysis.data.networks.listing import network
from analysis.data.networks.pictures import Pictures, pictures_of
from analysis.data.networks.saved import beside_in_one, differing_in_one, of_other_gamma
from analysis.data.selection import Selection
from analysis.data.source import ResultsError
from analysis.figures.__main__ import app
from analysis.figures.registry import FIGURES, Drawn, Missing
from sweepkit.shipped import grids
from sweepkit.store.store import Store
from sweepkit.store.views import fetch
from tests.pictured_store import pictured_store, pictures
from tests.store_rows import OWN_KEYS, row


@pytest.fixture(scope="module")
def pictured(tmp_path_factory):
    return pictured_store(tmp_path_factory.mktemp("pictured"))


WORDS = ("same", "different")


def id_of(results, task, label):
    ((cell_id,),) = fetch(results, f"SELECT cell_id FROM cells WHERE task = '{task}' AND gamma_label = '{label}'")
    return cell_id


def some(weights, readout=(1.0, -1.0), examples=None, rulings=None):
    examples = np.zeros((2, 3, 3)) if examples is None else examples
    same = np.arange(len(examples)) % 2 == 0
    return Pictures(np.arange(len(weights)), np.array(readout), np.asarray(weights, float), examples, same, rulings)


def specs(chart, mark):
    """All views of a chart that are of this mark."""
    found, todo = [], [chart.to_dict()]
    data = todo[0].get("datasets", {})
    while todo:
        one = todo.pop()
        todo += [part for key in ("layer", "hconcat", "vconcat", "concat") for part in one.get(key, [])]
        if isinstance(one.get("mark"), dict) and one["mark"]["type"] == mark:
            found.append((one, data[one["data"]["name"]] if "name" in one.get("data", {}) else None))
    return found


def images(chart):
    """PNGs in order of their place, as arrays of colours in [0, 255]."""
    rows = [row for one, data in specs(chart, "image") for row in (data or _inherited(chart))]
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(row["url"].split(",")[1])))) for row in rows]


def _inherited(chart):
    return next(rows for rows in chart.to_dict()["datasets"].values() if "url" in rows[0])


def test_what_the_store_keeps_is_read_and_laid_out(pictured):
    found = pictures_of(pictured, id_of(pictured, "psvrt", "1"))
    kept = pictures("psvrt", 1.0, 0)
    np.testing.assert_allclose(found.weights[2], kept[2]["pixels"].reshape(10, 10), rtol=1e-6)
    assert list(found.readout) == [3.25, 2.0, -2.5, -1.0] and found.rulings == 5
    assert list(found.same) == [True, False] and found.examples.shape == (2, 10, 10)
    frame = found.only("weights")
    assert len(frame) == 400 and "same" not in frame
    (at,) = frame.query("neuron == 2 and row == 3 and column == 4")["value"]
    assert at == found.weights[2, 3, 4]
    assert set(pictures_of(pictured, id_of(pictured, "cifar100", "1")).only("example")["channel"]) == {0, 1, 2}


def test_a_network_without_weights_has_no_pictures(pictured):
    assert pictures_of(pictured, id_of(pictured, "psvrt", "0.1")) is None
    assert pictures_of(pictured, "nowhere") is None


def test_the_same_network_at_another_gamma(pictured):
    rich, lazy = (id_of(pictured, "pentomino", label) for label in ("1", "lazy"))
    assert of_other_gamma(pictured, network(pictured, rich)) == {"lazy": lazy}  # that at 0.1 has no weights
    assert of_other_gamma(pictured, network(pictured, lazy)) == {"1": rich}


def test_networks_that_differ_in_a_single_key(tmp_path):
    """Any key may be it; not the seed, nor two keys, nor gamma beside its label, nor what saved no neurons."""
    store = Store(str(tmp_path))
    rows = [
        row(0, L=3, d=8, seed=0, neurons=2), row(1, L=3, d=16, seed=0, neurons=2), row(2, L=3, d=4, seed=0, neurons=2),
        row(3, L=3, d=8, seed=0, neurons=2, gamma=1e-5, gamma_label="lazy"), row(4, L=3, d=8, seed=1, neurons=2),
        row(5, L=4, d=16, seed=0, neurons=2), row(6, L=4, d=8, seed=0), row(7, L=3, d=8, seed=0, neurons=2, base_lr=0.5),
        row(8, "diverged", L=5, d=8, seed=0, neurons=2), row(9, L=3, d=8, seed=0, neurons=2, batch=0),
    ]  # fmt: skip
    store.commit("p", [one | {"steps": 1000} for one in rows])
    ids = [one["cell_id"] for one in rows]
    cell = network(store.results, ids[0])
    found = differing_in_one(store.results, cell, "neurons")
    assert found == {
        "gamma_label": {"lazy": ids[3]}, "d": {"4": ids[2], "16": ids[1]}, "base_lr": {"0.5": ids[7]}, "batch": {"full": ids[9]},
    }  # fmt: skip
    assert differing_in_one(store.results, network(store.results, ids[9]), "neurons") == {"batch": {"none": ids[0]}}
    assert list(found["d"]) == ["4", "16"]
    assert differing_in_one(store.results, cell, "neurons", ["d"]) == {"d": found["d"]}
    assert beside_in_one(store.results, cell["cell_id"], "neurons") == found
    assert beside_in_one(store.results, cell["cell_id"], "neurons", ["d"]) == {"d": found["d"]}
    assert beside_in_one(store.results, "nowhere", "neurons") == {}


def test_a_damaged_file_is_told(pictured, tmp_path):
    results = str(shutil.copytree(pictured, tmp_path / "copy"))
    cell_id = id_of(results, "psvrt", "1")
    ((path,),) = fetch(results, f"SELECT weights_file FROM internal.weights WHERE cell_id = '{cell_id}'")
    Store(results).files.write(path, b"PAR1")
    with pytest.raises(ResultsError, match="cannot be read: torn or flipped bits"):
        pictures_of(results, cell_id)
    done = CliRunner().invoke(app, ["A1", "--results", results, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0 and "cannot be read" in done.stdout  # the other panels are drawn


def test_colours_are_symmetric_about_zero_and_shared_by_the_panels_of_a_network():
    quarter = np.array([[-4.0, 4.0], [0.0, 2.0]])
    first, second = images(weights_chart({"one": some([quarter, quarter / 2])}))
    assert first.shape[0] == first.shape[1] >= SHARPNESS * SIDE
    half = len(first) // 2
    hexes = [["#" + bytes(one[i, j]).hex() for i in (0, half) for j in (0, half)] for one in (first, second)]
    low, low_half, zero, high_half, high = DIVERGING
    assert hexes[0] == [low, high, zero, high_half] and hexes[1][:3] == [low_half, high_half, zero]
    legends = specs(weights_chart({"one": some([quarter, quarter]), "two": some([quarter / 8, quarter / 8])}), "point")
    assert sorted(one["encoding"]["color"]["scale"]["domain"][-1] for one, _ in legends) == [0.5, 4.0]


def test_one_large_weight_does_not_pale_the_others():
    w = np.ones((2, 40, 40))
    w[0, 0, 0] = 100.0
    ((legend, _),) = specs(weights_chart({"one": some(w)}), "point")
    assert legend["encoding"]["color"]["scale"]["domain"][-1] == 1.0
    assert "≥" in legend["encoding"]["color"]["legend"]["labelExpr"]


def test_examples_in_grey_from_the_least_value_to_the_largest_or_in_colours():
    grey = images(examples_chart(some(np.ones((2, 2, 2)), examples=np.array([[[-1.0, 0.0]], [[0.0, 1.0]]])), WORDS))
    assert [sorted(set(one.ravel())) for one in grey] == [[0, 128], [128, 255]]
    colours = np.zeros((2, 2, 4, 3))
    colours[0, :, :, 1] = 1.0
    first, second = images(examples_chart(some(np.ones((2, 2, 2)), examples=colours), WORDS))
    assert (first == [0, 255, 0]).all() and (second == 0).all()
    ((_, rows),) = specs(examples_chart(some(np.ones((2, 2, 2))), WORDS), "text")
    assert [row["label"] for row in rows or _inherited(examples_chart(some(np.ones((2, 2, 2))), WORDS))] == ["same", "different"]
    of_numbers = examples_chart(some(np.ones((2, 2, 2))), ("above 0", "0 or below"))
    assert [row["label"] for row in _inherited(of_numbers)] == ["above 0", "0 or below"]


def test_no_examples_is_said():
    with pytest.raises(ValueError, match="no example inputs"):
        examples_chart(some(np.ones((2, 2, 2)), examples=np.empty((0, 2, 2))), WORDS)


@pytest.mark.parametrize("shape", [(6,), (2, 64), (4, 5, 3), (2, 3, 4, 2), (1, 5000)])
def test_weights_of_any_shape_are_drawn(shape):
    chart = whole(weights_chart({"one": some(np.random.default_rng(0).standard_normal((2, *shape)))}))
    first, _ = images(chart)
    assert first.ndim == 3 and max(first.shape) < 4 * MOST_PIXELS


def test_neurons_of_one_sign_alone_are_drawn():
    for readout in ((1.0, 2.0), (-1.0, -2.0), ()):
        weights = np.ones((len(readout), 3, 3))
        assert len(images(whole(weights_chart({"one": some(weights, readout)}))) if readout else []) == len(readout)


@pytest.mark.parametrize("name", ["3a", "3d", "3g", "A1"])
def test_a_figure_is_drawn_and_weighs_little(pictured, tmp_path, name):
    done = CliRunner().invoke(app, [name, "--results", pictured, "--sweep", "pictured", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert (tmp_path / f"pictured-{name}.svg").read_text().count("<image") == (16 if name == "A1" else 2)
    assert (tmp_path / f"pictured-{name}.png").stat().st_size > 1000
    found = FIGURES[name].draw(pictured, None)
    assert isinstance(found, Drawn) and len(json.dumps(found.chart.to_dict())) < 150_000
    assert len(fetch(pictured, found.sql.split(";")[0])) == 1


def test_a1_shows_rich_beside_lazy_and_the_scatter(pictured):
    found = FIGURES["A1"].draw(pictured, None)
    assert set(found.frame["panel"]) == set("abcdef")
    sizes = found.frame[found.frame["kind"] == "weights"].groupby("panel")["value"].std()
    assert sizes["a"] > 10 * sizes["b"] and sizes["c"] > 10 * sizes["d"]
    assert found.frame.query("panel == 'e'")["alignment"].notna().all()
    assert found.caption.startswith("PSVRT: L = 16, patches = 2") and "Mean alignment +0.50" in found.caption
    colours = [one["encoding"]["color"]["field"] for one, _ in specs(found.chart, "point")]
    assert sorted(colours) == ["side"] * 2 + ["weight"] * 4


def test_a1_says_what_to_run_for_what_is_not_there(tmp_path):
    results = pictured_store(tmp_path, only=[("psvrt", "1")])
    found = FIGURES["A1"].draw(results, None)
    assert isinstance(found, Drawn) and "no lazy one beside it" in found.caption
    text = json.dumps(found.chart.to_dict())
    assert "Pentomino: no such networks yet" in text and "figa1 --results" in text
    assert "fig3h_g1 layer=relu4_3 L=32 gamma=1,lazy seed=0 save=curves,neurons" in text


def test_a1_takes_the_papers_layer_and_a_lazy_network_of_the_same(tmp_path):
    """Rich networks of several layers; lazy ones of another L come first by themselves, but differ in more than gamma."""
    store = Store(str(tmp_path))
    layers = ("id", "relu1_1", "relu4_3", "relu5_3")
    common = {"task": "cifar100", "d": None, "seed": 0, "neurons": 4, "alignment_pos": 0.5, "alignment_neg": -0.5}
    rows = [row(i, layer=layer, L=64, readout_ratio=1.0 + i, **common) for i, layer in enumerate(layers)]
    lazy = {"gamma": 1e-5, "gamma_label": "lazy", **common}
    rows += [row(10 + i, layer=layer, L=64, readout_ratio=2.5 + i, **lazy) for i, layer in enumerate(layers)]
    rows += [row(20, layer="relu4_3", L=32, readout_ratio=9.0, **lazy)]
    store.commit("p", rows, OWN_KEYS)
    caption = FIGURES["A1"].draw(store.results, None).caption
    assert caption.count("L = 64, layer = relu4_3") == 2
    assert "|mean a-| / |mean a+| = 3.00" in caption and "|mean a-| / |mean a+| = 4.50" in caption


def test_a1_shows_a_lazy_network_alone_where_there_is_no_rich_one(tmp_path):
    results = pictured_store(tmp_path, only=[("cifar100", "lazy")])
    found = FIGURES["A1"].draw(results, None)
    assert isinstance(found, Drawn) and set(found.frame["panel"]) == {"f"}


@pytest.mark.parametrize("name", ["3a", "3d", "3g", "A1"])
def test_a_store_without_images_says_what_to_run(measured, name):
    found = FIGURES[name].draw(measured, None)
    assert isinstance(found, Missing) and "save: [weights]" in found.needs
    assert FIGURES[name].commands(measured)
    assert all(command.split()[3] in grids() for command in FIGURES[name].commands(measured))


def lines(chart):
    """Ends of the borders of patches, (left, right, top, bottom) on the screen."""
    ((_, rows),) = specs(chart, "rule")
    return {tuple(row[key] for key in ("left", "right", "top", "bottom")) for row in rows}


@pytest.mark.parametrize(("patches", "size"), [(2, 7), (6, 5)])
def test_borders_of_patches_are_marks_that_no_scaling_drops(patches, size):
    """The images have none: a line of one pixel of a PNG vanishes where a browser shrinks it."""
    chart = weights_chart({"one": some(np.ones((2, patches * size, patches * size)), rulings=size)})
    for image in images(chart):
        assert (image == image[0, 0]).all()
    tops = {row["top"] for row in _inherited(chart)}
    at = [round(SIDE * i / patches) for i in range(1, patches)]
    wanted = {(x, x, top, top + SIDE) for x in at for top in tops} | {(0, SIDE, top + y, top + y) for y in at for top in tops}
    assert lines(chart) == wanted
    assert not specs(weights_chart({"one": some(np.ones((2, 4, 4)))}), "rule")


@pytest.mark.parametrize(
    ("shape", "said"),
    [((14, 14), True), ((2, 64), True), ((2, 25088), False), ((2, 300), False), ((6,), False), ((4, 5, 3), True)],
)
def test_weights_are_images_by_their_shape(shape, said):
    assert some(np.ones((2, *shape))).weights_are_images is said


def seeds_store(folder, n=3):
    """Rich and lazy networks of PSVRT and Pentomino of n seeds, with weights; the path of the file of each."""
    store, rows, paths = Store(str(folder)), [], {}
    for task in ("psvrt", "pentomino"):
        for label, gamma in (("1", 1.0), ("lazy", 1e-5)):
            for seed in range(n):
                keys = {"task": task, "L": 16, "d": None, "gamma": gamma, "gamma_label": label, "seed": seed}
                cell = row(len(rows), patches=2, patch_size=7, blur=0.5, **keys)
                paths[task, label, seed] = cell["weights_file"] = store.write_weights(
                    cell["cell_id"], pictures(task, gamma, seed)
                )
                rows.append(cell)
    store.commit("seeds", rows, OWN_KEYS)
    return store, paths


def test_a_lost_file_makes_way_for_the_next_network_and_is_told(tmp_path):
    store, paths = seeds_store(tmp_path)
    torn, gone = paths["psvrt", "1", 0], paths["psvrt", "lazy", 1]
    store.files.write(torn, b"PAR1")
    store.files.delete(gone)
    found = FIGURES["3a"].draw(store.results, None)
    # 3a takes the richest: of the seeds the next one.
    assert isinstance(found, Drawn) and "seed = 1; left out: " in found.caption
    assert f"{torn} cannot be read" in found.caption
    ((again,),) = fetch(store.results, found.sql)
    assert again == f"{1:020x}"
    found = FIGURES["A1"].draw(store.results, None)
    assert set(found.frame["panel"]) == set("abcd")
    first = found.caption.split("Pentomino:")[0]
    assert "seed = 2" in first and f"{torn} cannot be read" in first and f"{gone} are gone; run the sweep again" in first
    assert "left out" not in found.caption.split("Pentomino:")[1]


def test_lost_rivals_leave_a_rich_network_alone_and_lost_panels_leave_the_others(tmp_path):
    store, paths = seeds_store(tmp_path, n=1)
    store.files.delete(paths["psvrt", "lazy", 0])
    found = FIGURES["A1"].draw(store.results, None)
    assert set(found.frame["panel"]) == set("acd") and "no lazy one beside it" in found.caption
    store.files.delete(paths["psvrt", "1", 0])
    done = CliRunner().invoke(app, ["A1", "--results", store.results, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert f"{paths['psvrt', '1', 0]} are gone" in done.output.replace("\n", " ")
    found = FIGURES["A1"].draw(store.results, None)
    assert set(found.frame["panel"]) == set("cd") and "the weights cannot be read" in json.dumps(found.chart.to_dict())
    assert isinstance(FIGURES["3d"].draw(store.results, None), Drawn)
    done = CliRunner().invoke(app, ["3a", "--results", store.results, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and "are gone; run the sweep again" in done.stderr.replace("\n", " ")


def test_a_caption_of_examples_names_the_keys_of_their_task(tmp_path):
    store, _ = seeds_store(tmp_path, n=1)
    assert "L = 16, patches = 2, patch_size = 7, blur = 0.5" in FIGURES["3d"].draw(store.results, None).caption


def test_the_task_of_a_selection_where_it_is_one(pictured):
    assert task_in(pictured, Selection()) is None
    assert task_in(pictured, Selection().only({"task": "psvrt"})) == "psvrt"
    frame = pd.DataFrame({"L": [2, 4], "patches": 2, "ok": 1, "diverged": 0, "failed": 0})
    text = str(census_chart(frame, "L", "patches", "psvrt").to_dict())
    assert "training patterns L" in text and "patches a side" in text
