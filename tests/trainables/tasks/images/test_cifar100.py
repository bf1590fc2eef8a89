"""CIFAR-100 [Tong25 S4.3, App. G.5]: real reader, real network, made data; what is kept on disk; what is refused."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from rich.console import Console

from tests.made_images import make_images, make_weights
from trainables.cell import cell_of, lazy_gamma
from trainables.engines.dense.batched import Batched
from trainables.engines.dense.reference import Reference
from trainables.features import folders
from trainables.features.digests import file_digest
from trainables.features.images import found, made, sets
from trainables.features.images.layers import PIXELS, row_length
from trainables.features.images.vgg import DEVIATION, MEAN, activations, network
from trainables.kernels.halves import gather_halves
from trainables.tasks import CIFAR100
from trainables.tasks.base import TaskError
from trainables.trainers.run import PackRun

RNG = np.random.default_rng
IMAGES = sets.CIFAR100.folders[0]
LAYER = "relu2_1"


def look(folder, with_weights):
    return found.look(folder, CIFAR100.image_set, with_weights)


def publish(monkeypatch, **published):
    """Let these digests or sizes, by the file's name, be those of the published files."""
    files = [file._replace(**{k: v[file.name] for k, v in published.items()}) for file in sets.CIFAR100.files]
    monkeypatch.setattr(CIFAR100, "image_set", sets.CIFAR100._replace(files=tuple(files)))


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No test may download, and none sees what the process before it held."""
    monkeypatch.setattr(found, "reachable", lambda url: False)
    monkeypatch.delenv(folders.DATA_DIR, raising=False)
    found._fetched.cache_clear()
    made._held.clear()


@pytest.fixture
def console():
    return Console(file=StringIO(), width=200)


@pytest.fixture
def copied(cifar_folder, tmp_path):
    """A folder with the same images and weights, and nothing made of them yet."""
    folder = tmp_path / "data"
    shutil.copytree(cifar_folder / IMAGES, folder / IMAGES)
    os.link(cifar_folder / "vgg16-made.pth", folder / "vgg16-made.pth")
    return folder


def raw(folder):
    """Images (N, 3, 32, 32) and labels of both files, straight from the pickles."""
    entries = [pickle.loads((folder / IMAGES / name).read_bytes()) for name in ("train", "test")]
    images = np.concatenate([entry["data"] for entry in entries]).reshape(-1, 3, 32, 32)
    return images, np.concatenate([entry["fine_labels"] for entry in entries])


def make_cell(folder, **settings):
    task = CIFAR100(L=settings.pop("L", 90), layer=settings.pop("layer", "id"), data_dir=str(folder))
    defaults = {"width": 16, "gamma": 0.3, "base_lr": 0.5, "steps": 40, "eval_every": 20, "test_size": 64, "batch": 16, "seed": 0}
    settings = defaults | settings
    if settings["gamma"] == "lazy":
        settings["gamma"] = lazy_gamma(task)
    return cell_of(task, **settings)


def train(engine, cells):
    run = PackRun(cells, engine(cells))
    run.advance(float("inf"))
    return run


def test_sizes_are_those_of_torchvisions_network(cifar_folder):
    from torchvision.models import vgg16

    x = torch.empty(1, 3, 32, 32, device="meta")
    with torch.device("meta"):
        features = vgg16().features
    block, number = 1, 0
    for module in features:
        x = module(x)
        if isinstance(module, torch.nn.MaxPool2d):
            block, number = block + 1, 0
        if isinstance(module, torch.nn.ReLU):
            number += 1
            assert row_length(f"relu{block}_{number}") == x.numel()
    last = network("relu5_3", cifar_folder / "vgg16-made.pth")
    assert len(last) == 30 and isinstance(last[-1], torch.nn.ReLU)
    assert row_length("id") == PIXELS == 3 * 32 * 32


def test_all_images_of_both_files_in_the_order_of_their_classes(cifar_folder):
    images, labels = raw(cifar_folder)
    ours = made.rows(look(str(cifar_folder), False), "id")
    assert ours.counts == (4,) * 100 and ours.rows.dtype == np.uint8
    in_order = images[np.argsort(labels, kind="stable")]
    np.testing.assert_array_equal(ours.rows.reshape(-1, 32, 32, 3), in_order.transpose(0, 2, 3, 1))


def test_pairs_are_of_training_classes_in_training_and_of_the_others_in_the_test(cifar_folder):
    task = CIFAR100(L=30, layer="id", data_dir=str(cifar_folder))
    classes = task.draw_symbols(RNG(0))
    assert sorted(classes) == list(range(100))
    for some in (classes[:30], classes[30:]):
        images, same = task.draw_images(RNG(1), some, 20_000)
        of_class = images // 4  # each class has four images, one after the other
        assert set(of_class.ravel()) == set(some)
        np.testing.assert_array_equal(of_class[:, 0] == of_class[:, 1], same)
        assert (images[:, 0] != images[:, 1]).all()
        assert same.mean() == pytest.approx(0.5, abs=0.018)  # five standard errors of 1/(2 sqrt(20000))
        # Uniform: of each class 4 x 3 pairs in order, drawn some 28 or 12 times each; counts are Poisson's to five deviations.
        counts = np.unique(images[same] @ [1000, 1], return_counts=True)[1]
        expected = same.sum() / (12 * len(some))
        assert len(counts) <= 12 * len(some) and counts.max() < expected + 5 * np.sqrt(expected)


def test_inputs_are_activations_of_both_images_over_sqrt_d(cifar_folder):
    """Half precision keeps 11 digits: it moves a number by at most 2^-11 of itself, or by half the step below 2^-14, 2^-25."""
    task = CIFAR100(L=10, layer=LAYER, data_dir=str(cifar_folder))
    classes = task.draw_symbols(RNG(0))
    x, same = task.train_examples(RNG(1), classes, 20)
    images, again = task.draw_images(RNG(1), classes[:10], 20)
    np.testing.assert_array_equal(same, again)
    assert x.shape == (20, task.input_dim) and x.dtype == np.float32 and task.norm_dim == task.input_dim

    pixels = made.rows(look(str(cifar_folder), False), "id").rows[images.ravel()].reshape(-1, 32, 32, 3) / 255
    standardised = torch.from_numpy((pixels - MEAN) / DEVIATION).permute(0, 3, 1, 2).float()
    with torch.inference_mode():
        exact = network(LAYER, cifar_folder / "vgg16-made.pth")(standardised).flatten(1).numpy()
    assert exact.max() > 1
    error = np.abs(x.reshape(40, -1) * np.sqrt(task.input_dim) - exact)
    # Beside the rounding: sums of 27 to 576 products in float32, of order 1, in another order.
    assert (error <= exact * 2**-11 + 2**-25 + 1e-5).all()


def test_halves_are_widened_exactly():
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    table = halves[np.isfinite(halves)].reshape(-1, 64)
    rows = RNG(0).integers(len(table), size=3000)
    out = np.empty((3000, 64), np.float32)
    gather_halves(table.view(np.uint16), rows, np.float32(0.25), out)
    np.testing.assert_array_equal(out, table[rows].astype(np.float32) / 4)


def test_what_is_shown_are_the_photographs_of_the_training_pairs(cifar_folder):
    shown = {}
    for layer in ("id", LAYER):
        task = CIFAR100(L=10, layer=layer, data_dir=str(cifar_folder))
        shown[layer], same = task.shown_examples(RNG(1), task.draw_symbols(RNG(0)), 5)
        assert shown[layer].shape == (5, 32, 64, 3) and 0 <= shown[layer].min() < shown[layer].max() <= 1
    np.testing.assert_array_equal(*shown.values())
    x, labels = CIFAR100(L=10, layer="id", data_dir=str(cifar_folder)).train_examples(RNG(1), task.draw_symbols(RNG(0)), 5)
    np.testing.assert_array_equal(same, labels)
    halves = x.reshape(5, 2, 32, 32, 3) * np.sqrt(2 * PIXELS)
    np.testing.assert_allclose(np.concatenate([halves[:, 0], halves[:, 1]], axis=2), shown["id"], atol=1e-6)
    images = CIFAR100(L=10, layer="id", data_dir=str(cifar_folder)).as_images(x)  # (5, 6, 32, 32), the second one's green is 4
    np.testing.assert_array_equal(images[:, 4] * np.sqrt(2 * PIXELS), halves[:, 1, :, :, 1])
    assert task.image_shape is None


def test_a_network_learns_to_compare_classes_it_never_saw(cifar_folder):
    """Classes are 48 squares, lit or not: after 300 steps pairs of the ten unseen classes are told apart."""
    cells = [make_cell(cifar_folder, width=64, batch=64, steps=300, eval_every=50, test_size=256, seed=s) for s in range(2)]
    best = [r.summary()["best_test_acc"] for r in train(Batched, cells).results()]
    # At chance one evaluation of 256 has a standard error of 0.031: the best of six stays below 0.6. They reach 0.95 and more;
    # other processors round otherwise, which moves when they learn by some steps.
    assert min(best) > 0.8, best


@pytest.mark.parametrize("layer", ["id", LAYER])
def test_batched_agrees_with_reference(cifar_folder, layer):
    cells = [make_cell(cifar_folder, layer=layer, gamma=g, dtype="float64", steps=20, eval_every=10) for g in (0.3, "lazy")]
    ours, theirs = train(Batched, cells), train(Reference, cells)
    # float64; in the lazy limit the reference loses the factor 1e5 of the 16 digits.
    np.testing.assert_allclose(ours.curves, theirs.curves, rtol=0, atol=1e-8)
    for a, b in zip(ours.results(), theirs.results(), strict=True):
        np.testing.assert_allclose(a.alignment, b.alignment, rtol=0, atol=1e-8)


def test_killed_and_resumed_in_another_process(cifar_folder):
    cells = [make_cell(cifar_folder, layer=LAYER, gamma=g) for g in (0.3, "lazy")]
    whole = train(Batched, cells)
    first = PackRun(cells, Batched(cells))
    first._train(10)
    first._train(7)
    made._held.clear()
    again = pickle.loads(pickle.dumps(cells))
    second = PackRun(again, Batched(again))
    second.load(first.state())
    second.advance(float("inf"))
    np.testing.assert_allclose(second.curves, whole.curves, rtol=0, atol=1e-6)  # float32: steps are cut elsewhere


def test_a_worker_needs_neither_the_environment_nor_the_current_folder(cifar_folder, monkeypatch, tmp_path):
    monkeypatch.chdir(cifar_folder.parent)
    monkeypatch.setenv(folders.DATA_DIR, cifar_folder.name)
    cell = make_cell("", layer="id")
    sent = pickle.dumps(cell)
    monkeypatch.delenv(folders.DATA_DIR)
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(sent)
    assert again == cell and again.cell_id == cell.cell_id
    assert len(again.task.train_examples(RNG(0), again.task.draw_symbols(RNG(0)), 3)[0]) == 3


# What is kept on disk.


def cut(array, description):
    os.truncate(array, array.stat().st_size - 1000)


def overwrite(array, description):
    with array.open("r+b") as file:
        file.seek(array.stat().st_size // 2)
        file.write(bytes(range(256)) * 2**10)


def describe_otherwise(array, description):
    said = json.loads(description.read_text())
    description.write_text(json.dumps(said | {"made_from": said["made_from"] | {"images": "images-of-another"}}))


def describe_without(description, key, **instead):
    said = json.loads(description.read_text())
    del said[key]
    description.write_text(json.dumps(said | instead))


SPOILT = [
    ("id", cut, "torn"),
    ("id", overwrite, "check sum differs"),
    ("id", lambda array, description: description.unlink(), "not finished"),
    ("id", lambda array, description: description.write_text("{"), "is torn ("),
    ("id", describe_otherwise, "made from something else"),
    ("id", lambda array, description: describe_without(description, "counts"), "lacks the counts"),
    ("id", lambda array, description: describe_without(description, "counts", counts=["4"] * 100), "lacks the counts"),
    ("id", lambda array, description: describe_without(description, "check"), "check sum differs"),
    ("relu1_1", overwrite, "check sum differs"),  # 52 MB, of which blocks are looked at
]


@pytest.mark.parametrize(("layer", "spoil", "said"), SPOILT)
def test_what_is_torn_or_foreign_is_noticed_and_made_anew(copied, console, layer, spoil, said):
    data = look(str(copied), True)
    right = np.array(made.rows(data, layer, console).rows)
    (array,) = (copied / "features").glob("*pixels.npy" if layer == "id" else "*relu1_1*.npy")
    spoil(array, array.with_suffix(".json"))
    made._held.clear()
    assert [p.file for p in made.to_make(data, layer)] == [array]
    np.testing.assert_array_equal(made.rows(data, layer, console).rows, right)
    assert f"{array} is not used" in console.file.getvalue() and said in console.file.getvalue()
    assert made.to_make(data, layer) == []


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory.\nmore"), RuntimeError("CUDA out of memory.")])
def test_a_card_without_room_is_told_in_a_line(cifar_folder, console, monkeypatch, error):
    def full(net, x):
        raise error

    monkeypatch.setattr("trainables.features.images.vgg._rows", full)
    with pytest.raises(TaskError, match=r"relu1_1 of VGG-16 cannot be computed on c\w+: CUDA out of memory\.; make") as told:
        list(activations(np.zeros((1, PIXELS), np.uint8), "relu1_1", cifar_folder / "vgg16-made.pth", console))
    assert "\n" not in str(told.value)


# What makes a cell another one.


def test_content_enters_the_id_and_places_do_not(cifar_folder, copied, tmp_path):
    here, there = (make_cell(folder, layer=LAYER) for folder in (cifar_folder, copied))
    assert here.cell_id == there.cell_id and here.keys() == there.keys()
    assert "data_dir" not in dict(here.keys())
    make_weights(tmp_path / "other.pth", seed=1)
    (copied / "vgg16-made.pth").unlink()
    (tmp_path / "other.pth").rename(copied / "vgg16-made.pth")
    other = make_cell(copied, layer=LAYER)
    assert other.cell_id != here.cell_id
    assert make_cell(copied).cell_id == make_cell(cifar_folder).cell_id  # pixels do not ask for weights
    names = {made.wanted(look(str(folder), True), LAYER).name for folder in (cifar_folder, copied)}
    assert len(names) == 2 and all(LAYER in name and "vgg16-" in name for name in names)
    shutil.rmtree(copied / IMAGES)
    make_images(copied, seed=1)
    assert make_cell(copied).cell_id != make_cell(cifar_folder).cell_id


def test_the_official_files_have_readable_names(copied, monkeypatch):
    own = {name: file_digest(copied / IMAGES / name, "md5") for name in ("train", "test")}
    publish(monkeypatch, md5=own)
    (copied / "vgg16-made.pth").rename(copied / found.WEIGHTS)
    sha = file_digest(copied / found.WEIGHTS)
    with pytest.raises(ValueError, match=f"is torn or another file: its sha256 starts with {sha[:8]}"):
        look(str(copied), True)
    monkeypatch.setattr(found, "WEIGHTS", f"vgg16-{sha[:8]}.pth")
    monkeypatch.setattr(found, "WEIGHTS_SHA256", sha[:8])
    (copied / "vgg16-397923af.pth").rename(copied / found.WEIGHTS)
    assert look(str(copied), True).name == f"cifar100+vgg16-{sha[:8]}"
    assert CIFAR100(L=8, layer="id", data_dir=str(copied)).source == "cifar100"


# Refusals and their messages.


def test_missing_data_are_told_with_the_way_to_get_them(tmp_path, monkeypatch):
    with pytest.raises(TaskError) as refused:
        CIFAR100.obtain({"L": 8, "data_dir": str(tmp_path)})
    for words in (
        f"{tmp_path} (the grid's data_dir) lacks cifar-100-python/train, cifar-100-python/test, vgg16-",
        "www.cs.toronto.edu and download.pytorch.org cannot be reached from here",
        f"python -m trainables.features.fetch {tmp_path}",
        sets.CIFAR100.urls[0],
        found.WEIGHTS_URL,
        folders.DATA_DIR,
    ):
        assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    monkeypatch.setenv(folders.DATA_DIR, str(tmp_path / "elsewhere"))
    with pytest.raises(ValidationError, match=r"elsewhere \(SWEEP_DATA_DIR\) lacks.*--no-weights"):
        CIFAR100(L=8, layer="id")
    monkeypatch.delenv(folders.DATA_DIR)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ValidationError, match=r"cache/sweep-orchestrator/data \(the default place\) lacks"):
        CIFAR100(L=8)


def test_only_what_is_missing_is_asked_for(copied):
    (copied / "vgg16-made.pth").unlink()
    CIFAR100.obtain({"layer": "id", "data_dir": str(copied)})
    with pytest.raises(TaskError, match=r"lacks vgg16-397923af.pth; not downloaded, because download.pytorch.org cannot"):
        CIFAR100.obtain({"data_dir": str(copied)})


def test_to_make_a_task_asks_no_server(copied, monkeypatch):
    """Rows of a store are made into tasks by every sweep: what they need may lie on another machine."""

    def ask(*args, **settings):
        raise AssertionError("downloads are for planning alone")

    monkeypatch.setattr(found, "reachable", ask)
    monkeypatch.setattr(found.subprocess, "run", ask)
    (copied / "vgg16-made.pth").unlink()
    with pytest.raises(ValidationError, match=r"lacks vgg16-397923af.pth\. Name a folder"):
        CIFAR100(L=8, data_dir=str(copied))


def test_images_that_lack_a_file_are_never_downloaded_over(copied, monkeypatch):
    from trainables.features import fetch

    def ask(*args, **settings):
        raise AssertionError("not to be downloaded")

    monkeypatch.setattr(found, "reachable", ask)
    monkeypatch.setattr("torchvision.datasets.CIFAR100.__init__", ask)
    (copied / IMAGES / "train").unlink()
    before = (copied / IMAGES / "test").read_bytes()
    with pytest.raises(TaskError, match=r"lacks .*train.*would replace the images.*; or put .*train") as told:
        CIFAR100.obtain({"layer": "id", "data_dir": str(copied)})
    assert sets.CIFAR100.urls[0] not in str(told.value) and "fetch" not in str(told.value)
    monkeypatch.setattr(sys, "argv", ["fetch", str(copied)])
    with pytest.raises(SystemExit, match=r"lacks .*train.*; not downloaded.*put the missing files"):
        fetch.main()
    assert (copied / IMAGES / "test").read_bytes() == before


def test_official_images_that_are_damaged_are_refused(copied, monkeypatch):
    """A data set of one's own has another size."""
    sizes = {name: (copied / IMAGES / name).stat().st_size for name in ("train", "test")}
    assert look(str(copied), False).name.startswith("images-")
    publish(monkeypatch, n_bytes=sizes)
    with pytest.raises(ValidationError, match=r"cifar-100-python/train has the size of CIFAR-100's own file, but .* download it"):
        CIFAR100(L=8, layer="id", data_dir=str(copied))


def test_one_download_is_tried_where_the_servers_answer(tmp_path, cifar_folder, monkeypatch):
    commands = []

    def run(command, **settings):
        commands.append(command)
        shutil.copytree(cifar_folder / IMAGES, tmp_path / IMAGES)
        return subprocess.CompletedProcess(command, 1)  # the weights could not be had

    monkeypatch.setattr(found, "reachable", lambda url: True)
    monkeypatch.setattr(found.subprocess, "run", run)
    for _ in range(2):
        with pytest.raises(TaskError, match=r"lacks vgg16-397923af.pth; the download failed"):
            CIFAR100.obtain({"data_dir": str(tmp_path)})
    assert commands == [[sys.executable, "-m", "trainables.features.fetch", str(tmp_path)]]
    assert CIFAR100(L=8, layer="id", data_dir=str(tmp_path))


def test_a_server_that_hangs_is_not_waited_for(monkeypatch):
    monkeypatch.undo()
    waiting = threading.Event()

    def hang(*args, **settings):
        waiting.wait()
        raise OSError("no answer")

    monkeypatch.setattr("urllib.request.urlopen", hang)
    monkeypatch.setattr(found, "ANSWER_S", 0.1)
    assert not found.reachable(sets.CIFAR100.urls[0])
    waiting.set()


def test_the_fetch_command_uses_torchvisions_downloads(tmp_path, monkeypatch, cifar_folder, capsys):
    from trainables.features import fetch

    def download(self):
        shutil.copytree(cifar_folder / IMAGES, Path(self.root, IMAGES))
        Path(self.root, self.filename).touch()

    def to_file(url, dst, hash_prefix):
        assert (url, hash_prefix) == (found.WEIGHTS_URL, "397923af")
        raise RuntimeError('invalid hash value (expected "397923af", got "00000000")')

    monkeypatch.setattr("torchvision.datasets.CIFAR100.download", download)
    monkeypatch.setattr("torchvision.datasets.CIFAR100._check_integrity", lambda self: True)
    monkeypatch.setattr("torchvision.datasets.CIFAR100._load_meta", lambda self: None)
    monkeypatch.setattr("torch.hub.download_url_to_file", to_file)
    monkeypatch.setattr(sys, "argv", ["fetch", str(tmp_path / "new")])
    with pytest.raises(SystemExit, match="invalid hash value"):
        fetch.main()
    assert found.missing(tmp_path / "new", sets.CIFAR100) == []
    assert not (tmp_path / "new" / "cifar-100-python.tar.gz").exists()
    assert "downloading CIFAR-100 (169 MB)" in capsys.readouterr().err


def test_weights_that_nobody_wants_are_not_downloaded(tmp_path, monkeypatch):
    """Not even if the images could not be had."""
    from trainables.features import fetch

    monkeypatch.setattr("torchvision.datasets.CIFAR100.__init__", lambda self, root, download: None)
    monkeypatch.setattr("torch.hub.download_url_to_file", lambda *args, **settings: pytest.fail("528 MB that nobody wants"))
    fetch.fetch(tmp_path, sets.CIFAR100, with_weights=False)
    make_weights(tmp_path / "vgg16-made.pth")
    fetch.fetch(tmp_path, sets.CIFAR100, with_weights=True)


def test_urls_and_digests_are_torchvisions():
    from torchvision import datasets
    from torchvision.models import VGG16_Weights

    for ours in (sets.CIFAR100, sets.CIFAR10):
        theirs = getattr(datasets, ours.torchvision)
        assert (theirs.url, theirs.base_folder, theirs.tgz_md5) == (ours.urls[0], ours.folders[0], ours.archive_md5)
        assert [tuple(one) for one in theirs.train_list + theirs.test_list] == [file[:2] for file in ours.files]
    assert [name for name, _ in datasets.MNIST.resources] == [f"{file.name}.gz" for file in sets.MNIST.files]
    assert {url.rsplit("/", 1)[0] + "/" for url in sets.MNIST.urls} <= set(datasets.MNIST.mirrors)
    assert VGG16_Weights.IMAGENET1K_V1.url == found.WEIGHTS_URL
    standard = VGG16_Weights.IMAGENET1K_V1.transforms()
    assert (tuple(standard.mean), tuple(standard.std)) == (MEAN, DEVIATION)


def test_too_few_classes_for_the_test_are_refused(cifar_folder):
    assert CIFAR100(L=98, data_dir=str(cifar_folder))
    with pytest.raises(ValidationError, match=r"needs two that training does not show, so L is at most 98"):
        CIFAR100(L=99, data_dir=str(cifar_folder))


def test_several_weights_are_refused(copied):
    os.link(copied / "vgg16-made.pth", copied / "vgg16-second.pth")
    with pytest.raises(ValidationError, match=r"several files of weights, vgg16-made.pth, vgg16-second.pth"):
        CIFAR100(L=8, data_dir=str(copied))


def test_weights_that_are_not_vgg16s_are_refused(tmp_path):
    file = tmp_path / "vgg16-bad.pth"
    torch.save({"features.0.weight": torch.zeros(64, 3, 5, 5)}, file)
    with pytest.raises(TaskError, match=r"features.0.weight has shape \(64, 3, 5, 5\), and must be \(64, 3, 3, 3\); replace it"):
        network("relu1_1", file)
    torch.save({"features.0.weight": torch.zeros(64, 3, 3, 3)}, file)
    with pytest.raises(TaskError, match=r"features.0.bias is missing, and must be \(64,\)"):
        network("relu1_1", file)
    torch.save([1], file)
    with pytest.raises(TaskError, match="cannot be read as weights: it holds other things"):
        network("relu1_1", file)


def test_weights_in_torchs_older_format_are_read(tmp_path, cifar_folder):
    """torchvision's own file is of that format."""
    make_weights(tmp_path / "vgg16-old.pth", older_format=True)
    old, new = (network("relu1_1", f) for f in (tmp_path / "vgg16-old.pth", cifar_folder / "vgg16-made.pth"))
    torch.testing.assert_close(old[0].weight, new[0].weight, rtol=0, atol=0)


def test_activations_beyond_half_precision_are_refused(copied, tmp_path, console):
    weights = torch.load(copied / "vgg16-made.pth")
    torch.save(weights | {"features.0.bias": torch.full((64,), 1e6)}, tmp_path / "large.pth")
    (tmp_path / "large.pth").rename(copied / "vgg16-made.pth")
    with pytest.raises(TaskError, match="too large for half precision"):
        CIFAR100(L=8, layer="relu1_1", data_dir=str(copied)).prepare(console)
    assert not list((copied / "features").glob("*relu1_1*.npy"))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda entry: b"no pickle", "train is no file of CIFAR-100, or it is torn"),
        (lambda entry: pickle.dumps(entry)[:1000], "train is no file of CIFAR-100, or it is torn"),
        (lambda entry: pickle.dumps(print), "asks for builtins.print, which images do not need"),
        (lambda entry: pickle.dumps({"data": entry["data"]}), "does not hold CIFAR-100's images"),
        (lambda entry: pickle.dumps(entry | {"fine_labels": [100] * 300}), "a fine label from 0 to 99"),
        (lambda entry: pickle.dumps(entry | {"fine_labels": [0] * 300}), "class 1 has 1 images; each of the 100 needs 2"),
    ],
)
def test_images_that_are_not_cifars_are_refused(copied, console, spoil, said):
    file = copied / IMAGES / "train"
    file.write_bytes(spoil(pickle.loads(file.read_bytes())))
    with pytest.raises(TaskError, match=said):
        CIFAR100(L=8, layer="id", data_dir=str(copied)).prepare(console)
