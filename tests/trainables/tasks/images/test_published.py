"""MNIST and CIFAR-10 from files of the user's: made files in the real formats; the split, the id, memory; what is refused."""

import pickle
import shutil
import tarfile
from io import StringIO

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from rich.console import Console

from tests.made_images import make_cifar10, make_mnist
from trainables.cell import cell_of
from trainables.engines import ENGINES, descent_engine
from trainables.features import folders
from trainables.features.digests import file_digest
from trainables.features.images import found
from trainables.features.images.files import Place, digest_and_size
from trainables.metrics import metric_groups
from trainables.tasks import CIFAR10, MNIST, Digits
from trainables.tasks.base import TaskError
from trainables.trainers.run import PackRun

RNG = np.random.default_rng
CONSOLE = Console(file=StringIO(), width=200)
RAW = "MNIST/raw"


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setattr(found, "reachable", lambda url: False)
    monkeypatch.delenv(folders.DATA_DIR, raising=False)
    found._fetched.cache_clear()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with small files of both sets, and the tables made of them: a test that spoils something takes a copy."""
    folder = tmp_path_factory.mktemp("published")
    make_mnist(folder / RAW)
    make_cifar10(folder)
    return folder


@pytest.fixture
def copied(whole, tmp_path):
    for sub in (RAW, "cifar-10-batches-py"):
        shutil.copytree(whole / sub, tmp_path / sub)
    return tmp_path


def publish(monkeypatch, task, folder):
    """Let the files in this folder be those that are published."""
    files = []
    for file in task.image_set.files:
        path = folder / task.image_set.folders[0] / file.name
        md5, size = digest_and_size(Place(str(path)), file)
        files.append(file._replace(md5=md5, n_bytes=size, n_images=file.n_images and size // task.image_set.n_pixels))
    monkeypatch.setattr(task, "image_set", task.image_set._replace(files=tuple(files)))


def rows(x):
    return {one.tobytes() for one in x}


def of_mnist(folder, part):
    images = np.frombuffer((folder / RAW / f"{part}-images-idx3-ubyte").read_bytes(), np.uint8, offset=16).reshape(-1, 784)
    return images, np.frombuffer((folder / RAW / f"{part}-labels-idx1-ubyte").read_bytes(), np.uint8, offset=8)


def of_cifar(folder, part):
    names = ["test_batch"] if part == "t10k" else [f"data_batch_{k}" for k in range(1, 6)]
    entries = [pickle.loads((folder / "cifar-10-batches-py" / name).read_bytes()) for name in names]
    images = np.concatenate([entry["data"] for entry in entries]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return images.reshape(len(images), -1), np.concatenate([entry["labels"] for entry in entries])


EACH = pytest.mark.parametrize(("task", "raw", "n_test"), [(MNIST, of_mnist, 30), (CIFAR10, of_cifar, 30)])


@EACH
def test_training_and_test_are_the_files_own(whole, task, raw, n_test):
    made_task = task(P=100, data_dir=str(whole))
    symbols = made_task.draw_symbols(RNG(0))
    for part, draw, n in (("train", made_task.train_examples, 100), ("t10k", made_task.test_examples, n_test)):
        images, labels = raw(whole, part)
        assert len(images) == n
        x, y = draw(RNG(1), symbols, n)
        assert x.dtype == np.float32 and x.min() >= 0 and x.max() == 1
        pairs = {
            (image.tobytes(), label) for image, label in zip((images / np.float32(255)).astype(np.float32), labels, strict=True)
        }
        assert {(image.tobytes(), label) for image, label in zip(x, y, strict=True)} == pairs
    shown, channels = made_task.as_shown(x), made_task.as_images(x)
    assert shown.shape[1:] == task.image_set.shape and channels.shape[1:] == made_task.image_shape
    np.testing.assert_array_equal(np.moveaxis(channels, 1, -1).reshape(shown.shape), shown)


@EACH
def test_a_seed_draws_its_training_set_and_all_have_one_test(whole, task, raw, n_test):
    made_task = task(P=40, data_dir=str(whole))
    first, second = (made_task.draw_symbols(RNG(k)) for k in range(2))
    seen = [rows(made_task.train_examples(RNG(1), symbols, 40)[0]) for symbols in (first, second)]
    assert [len(one) for one in seen] == [40, 40] and seen[0] != seen[1]
    tests = [rows(made_task.test_examples(RNG(1), symbols, n_test)[0]) for symbols in (first, second)]
    assert tests[0] == tests[1] and len(tests[0]) == n_test and not (tests[0] & seen[0])
    coded = task(P=40, code=2.0, shuffle=0.5, alpha=3, data_dir=str(whole))
    x, labels = coded.train_examples(RNG(1), first, 40)
    np.testing.assert_array_equal(x[:, :10], 2 * np.eye(10)[labels])
    taken, same = coded.train_rows(RNG(1), first, 40)
    np.testing.assert_array_equal(coded.table().inputs(taken), x)
    np.testing.assert_array_equal(same, labels)
    few, _ = coded.train_set(RNG(1), first, 7)
    np.testing.assert_array_equal(few, x[:7])


@pytest.mark.parametrize("task", [MNIST, CIFAR10])
@pytest.mark.parametrize("training", ["adam", "gd"])
def test_a_network_is_trained_and_measured(whole, task, training):
    keys = {"base_lr": 0.0003, "batch": 16} if training == "adam" else {"base_lr": 0.01}
    cells = [
        cell_of(task(P=60, data_dir=str(whole), code=1.0), network="mlp", depth=1, width=32, training=training, steps=200,
                eval_every=100, test_size=30, seed=seed, **keys)
        for seed in range(2)
    ]  # fmt: skip
    run = PackRun(cells, descent_engine("stacked").trainer(cells))
    run.advance(np.inf)
    values, failures = run.measured(0, metric_groups()["richness"].members)
    assert not failures and 0 < values["d_lr"] < 1 and values["d_lr_rank"] == 9
    assert all(result.summary()["final_train_acc"] > 0.9 for result in run.results())  # patterns under noise: 1.00 is seen


def test_what_networks_see_is_the_same_by_rows_and_by_numbers(monkeypatch):
    """Packages' images, too: the same batches, bit for bit, whether their numbers are held or the rows of a table."""
    cells = [
        cell_of(Digits(P=50, code=1.0), network="mlp", depth=1, width=4, steps=10, base_lr=0.1, batch=8, eval_every=10, seed=s)
        for s in (0, 1, 0)
    ]
    batches = descent_engine("stacked").trainer(cells).stacks[0].batches
    x, y = batches.seen.train_set()
    for at, numbers in ((batches.x, x), (batches.y, y)):
        assert torch.equal(at.at(torch.arange(100)), numbers.flatten(0, 1))
    assert batches.x.table.data_ptr() == Digits(P=3).table().rows.ctypes.data  # no copy, and one for all networks


def test_two_sets_in_one_pack_keep_their_images(whole, copied):
    make_mnist(copied / "other", seed=1)
    cells = [
        cell_of(MNIST(P=50, data_dir=str(folder)), network="mlp", depth=1, width=4, steps=10, base_lr=0.1, batch=8, eval_every=10,
                seed=0)
        for folder in (whole, copied / "other")
    ]  # fmt: skip
    batches = descent_engine("stacked").trainer(cells).stacks[0].batches
    assert torch.equal(batches.x.at(torch.arange(100)), batches.seen.train_set()[0].flatten(0, 1))


def test_memory_counts_the_table_once_and_no_numbers_of_training_sets(whole):
    def memory(n, **keys):
        task = MNIST(P=100, data_dir=str(whole))
        task._found = found.Found(**{**vars(task._found), "most": (60_000, 10_000)})
        cells = [cell_of(task, network="mlp", depth=1, width=8, base_lr=0.1, seed=seed, **keys) for seed in range(n)]
        return ENGINES["stacked"].memory(cells)

    table = 70_000 * 784
    assert memory(1) > table and memory(9) - memory(1) < table  # 9 x 60,000 x 784 floats were 1.7 GB
    assert memory(1, training="gd") > memory(1)


# Where the files lie.


def test_compressed_files_in_the_folder_itself_are_the_same_data(whole, tmp_path):
    make_mnist(tmp_path / "packed", packed=True)
    packed, plain = (MNIST(P=50, data_dir=str(folder)) for folder in (tmp_path / "packed", whole))
    assert packed.source == plain.source
    packed.prepare(CONSOLE)
    np.testing.assert_array_equal(packed.table().rows, plain.table().rows)
    assert packed.preparations() == []


def archived(folder, monkeypatch):
    """The folder of CIFAR-10 as the archive that is published, alone."""
    publish(monkeypatch, CIFAR10, folder)
    archive = folder / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(folder / "cifar-10-batches-py", "cifar-10-batches-py")
    shutil.rmtree(folder / "cifar-10-batches-py")
    monkeypatch.setattr(CIFAR10, "image_set", CIFAR10.image_set._replace(archive_md5=file_digest(archive, "md5")))
    return archive


def test_an_archive_need_not_be_unpacked(whole, copied, monkeypatch):
    plain = CIFAR10(P=50, data_dir=str(whole)).table().rows
    archive = archived(copied, monkeypatch)
    task = CIFAR10(P=50, data_dir=str(copied))
    assert task.source == "cifar10"
    np.testing.assert_array_equal(task.table().rows, plain)
    monkeypatch.setattr(CIFAR10, "image_set", CIFAR10.image_set._replace(archive_md5="0" * 32))
    with pytest.raises(ValidationError, match=r"lacks cifar-10-batches-py/data_batch_1.*is there, but it is damaged: its md5 is"):
        CIFAR10(P=50, data_dir=str(copied))
    assert archive.is_file()


def test_pickles_as_numpy_1_wrote_them_are_read(copied, whole):
    for file in (copied / "cifar-10-batches-py").iterdir():
        file.write_bytes(file.read_bytes().replace(b"cnumpy._core.", b"cnumpy.core."))
    np.testing.assert_array_equal(CIFAR10(P=5, data_dir=str(copied)).table().rows, CIFAR10(P=5, data_dir=str(whole)).table().rows)


@pytest.mark.parametrize("task", [MNIST, CIFAR10])
def test_content_enters_the_id_and_the_place_does_not(whole, copied, task, monkeypatch):
    def cell(folder):
        return cell_of(task(P=50, data_dir=str(folder)), network="mlp", width=4, seed=0)

    assert cell(whole).cell_id == cell(copied).cell_id and "data_dir" not in dict(cell(whole).keys())
    assert task(P=50, data_dir=str(whole)).source.startswith("images-")
    publish(monkeypatch, task, whole)
    assert task(P=50, data_dir=str(whole)).source == task.name


def test_a_worker_needs_no_environment(whole, monkeypatch, tmp_path):
    monkeypatch.setenv(folders.DATA_DIR, str(whole))
    sent = pickle.dumps(cell_of(MNIST(P=50), network="mlp", width=4, seed=0))
    monkeypatch.delenv(folders.DATA_DIR)
    monkeypatch.chdir(tmp_path)
    task = pickle.loads(sent).task
    assert len(task.train_examples(RNG(0), task.draw_symbols(RNG(0)), 3)[0]) == 3


# Refusals and their messages.


@pytest.mark.parametrize(("task", "words"), [
    (MNIST, ("MNIST/raw/train-images-idx3-ubyte", "ossci-datasets.s3.amazonaws.com cannot", "features.fetch {} mnist")),
    (CIFAR10, ("cifar-10-batches-py/data_batch_1", "www.cs.toronto.edu cannot", "features.fetch {} cifar10", "-python.tar.gz")),
])  # fmt: skip
def test_missing_data_are_told_with_the_way_to_get_them(tmp_path, task, words):
    with pytest.raises(TaskError) as refused:
        task.obtain({"P": 8, "data_dir": str(tmp_path)})
    for word in (f"{tmp_path} (the grid's data_dir) lacks", folders.DATA_DIR, *words):
        assert word.format(tmp_path) in str(refused.value)
    assert "\n" not in str(refused.value) and "weights" not in str(refused.value) and "vgg16" not in str(refused.value)
    with pytest.raises(ValidationError, match="lacks"):
        task(P=8, data_dir=str(tmp_path))


@pytest.mark.parametrize(
    ("task", "name"), [(MNIST, f"{RAW}/t10k-labels-idx1-ubyte"), (CIFAR10, "cifar-10-batches-py/test_batch")]
)
def test_published_files_that_are_damaged_are_refused(copied, monkeypatch, task, name):
    publish(monkeypatch, task, copied)
    with (copied / name).open("r+b") as file:
        file.seek(20)
        file.write(b"x")
    with pytest.raises(ValidationError, match=rf"{name} has the size of {task.image_set.title}'s own file, but its md5 is"):
        task(P=5, data_dir=str(copied))


def test_a_torn_compressed_file_is_refused_when_it_is_looked_at(tmp_path):
    make_mnist(tmp_path / "data", packed=True)
    file = tmp_path / "data" / "train-images-idx3-ubyte.gz"
    file.write_bytes(file.read_bytes()[:-1000])
    with pytest.raises(ValidationError, match=r"train-images-idx3-ubyte\.gz is torn"):
        MNIST(P=5, data_dir=str(tmp_path / "data"))


@pytest.mark.parametrize(("name", "spoil", "said"), [
    ("train-images-idx3-ubyte", lambda b: b[:-5], "no file of images of 28 x 28 as MNIST has"),
    ("t10k-images-idx3-ubyte", lambda b: b[:1700], "no file of images of 28 x 28 as MNIST has"),
    ("t10k-labels-idx1-ubyte", lambda b: b[:8], "no file of labels as MNIST has"),
    ("train-labels-idx1-ubyte", lambda b: b"x" + b[1:], "no file of labels as MNIST has"),
    ("train-labels-idx1-ubyte", lambda b: b[:4] + b"\0\0\0\x02" + b[8:10], "each of its 100 images needs a label from 0 to 9"),
    ("train-labels-idx1-ubyte", lambda b: b[:-1] + b"\x0a", "each of its 100 images needs a label from 0 to 9"),
])  # fmt: skip
def test_files_that_are_not_mnists_are_refused_before_training(copied, name, spoil, said):
    file = copied / RAW / name
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(TaskError, match=f"{name}.*{said}"):
        MNIST(P=2, data_dir=str(copied)).prepare(CONSOLE)


def test_pickles_that_are_not_cifars_are_refused(copied):
    file = copied / "cifar-10-batches-py" / "data_batch_3"
    file.write_bytes(pickle.dumps(print))
    with pytest.raises(TaskError, match=r"data_batch_3 is no file of CIFAR-10.*asks for builtins\.print"):
        CIFAR10(P=2, data_dir=str(copied)).prepare(CONSOLE)


def test_more_examples_than_there_are_is_refused(whole, copied, monkeypatch):
    assert MNIST(P=100, data_dir=str(whole)).n_train == 100
    with pytest.raises(ValidationError, match="the files of MNIST hold 100 training images, so P is at most 100"):
        MNIST(P=101, data_dir=str(whole))
    # A pickle is larger than its images, so their number is known once they are read.
    entry = pickle.loads((copied / "cifar-10-batches-py" / "data_batch_1").read_bytes()) | {"names": "x" * 5000}
    (copied / "cifar-10-batches-py" / "data_batch_1").write_bytes(pickle.dumps(entry))
    task = CIFAR10(P=101, data_dir=str(copied))
    with pytest.raises(TaskError, match="task cifar10: the files of CIFAR-10 hold 100 training images, so P is at most 100"):
        task.prepare(CONSOLE)
