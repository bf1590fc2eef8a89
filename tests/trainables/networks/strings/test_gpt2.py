"""GPT-2 against one in plain PyTorch, from scratch and from a folder of made weights."""

import json

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from tests.made_gpt2 import TINY, Plain, after_tokens, made_gpt2, plain_of
from trainables.basics import TaskError
from trainables.cell import cell_of
from trainables.engines import descent_engine
from trainables.features.folders import DATA_DIR
from trainables.features.weights import pretrained
from trainables.features.weights.headers import shapes_in
from trainables.streams import stream, stream_owner
from trainables.tasks import SymbolicTemplate, Template
from trainables.trainers.run import PackRun

RUN = {"network": "gpt2", "steps": 10, "eval_every": 5, "batch": 0, "test_size": 16, "dtype": "float64"}
REAL = Template(template="aba/abb", P=12, test_alphabet=20)
SYMBOLIC = SymbolicTemplate(template="abXa:a/abXb:b", P=12, test_alphabet=20)


def cell(task=REAL, seed=0, **keys):
    return cell_of(task, seed=seed, **{**RUN, **TINY, **keys})


@pytest.fixture(autouse=True)
def no_folder_of_this_user(monkeypatch, tmp_path):
    monkeypatch.setenv(DATA_DIR, str(tmp_path / "none"))


def drawn(of):
    initial = of.network.init(stream(stream_owner(of), "weights"), of)
    return {name: torch.from_numpy(np.asarray(value, np.float64)) for name, value in initial.items()}


def expected(plain, theta, x, task):
    last = after_tokens(plain, theta, x)[:, -1]
    return last @ theta["E"].T if task.labels_are_tokens else last @ theta["readout"][:, 0] + theta["bias"][0]


def strings(of, n=7):
    return torch.from_numpy(of.task.test_examples(np.random.default_rng(0), np.zeros(0), n)[0])


@pytest.mark.parametrize("task", [REAL, SYMBOLIC], ids=lambda task: task.name)
def test_outputs_are_those_of_the_plain_network(task):
    of, rng = cell(task), np.random.default_rng(1)
    theta = {name: value + 0.3 * torch.from_numpy(rng.standard_normal(value.shape)) for name, value in drawn(of).items()}
    x = strings(of)
    found = of.network.apply(theta, x, of)
    torch.testing.assert_close(found, expected(plain_of(theta), theta, x, task), rtol=1e-10, atol=1e-10)
    plain = {name: value * 0 if name in ("a1", "a2", "b1", "b2") else value for name, value in theta.items()}
    assert (found - of.network.apply(plain, x, of)).abs().max() > 1e-3


def test_a_token_sees_none_after_it():
    of = cell(depth=3)
    theta, x = drawn(of), strings(of)
    h = theta["E"][x] + theta["pos"]
    one = of.network._layer(theta, 1, h, last=False)
    h[:, -1] += 1
    other = of.network._layer(theta, 1, h, last=False)
    assert torch.equal(one[:, :-1], other[:, :-1]) and not torch.equal(one[:, -1], other[:, -1])


def test_initial_weights_from_scratch():
    theta = drawn(cell(embedding=160, head_dim=80, depth=8))
    for name in ("E", "q1", "k8", "v1", "w1_8", "readout"):
        assert theta[name].std() == pytest.approx(0.02, rel=0.15), name  # 160 numbers of the readout: 6% standard error
    for name in ("out1", "w2_8"):
        assert theta[name].std() == pytest.approx(0.02 / 4, rel=0.05), name  # sqrt(2 * 8) = 4
    assert all(not value.any() for name, value in theta.items() if name.startswith(("bias", "shift", "a1", "b1")))
    assert all((value == 1).all() for name, value in theta.items() if name.startswith("gain"))


@pytest.mark.parametrize("task", [REAL, SYMBOLIC], ids=lambda task: task.name)
def test_counts_are_those_of_the_parameters(task):
    of = cell(task, depth=3)
    assert of.network.n_parameters(of) == sum(value.numel() for value in drawn(of).values())


def test_the_default_is_the_small_one():
    of = cell_of(REAL, seed=0, network="gpt2")
    words = 50257 - of.task.n_tokens + 1024 - of.task.input_dim
    in_all = of.network.n_parameters(of) + (words * 768) - (768 + 1) - 2 * 12 * 12  # without our readout and identities
    assert in_all == 124_439_808  # as published


# --- given weights ---


@pytest.mark.parametrize(
    ("name", "prefix"), [("pytorch_model.bin", ""), ("pytorch_model.bin", "transformer."), ("model.safetensors", "")]
)
@pytest.mark.parametrize("task", [REAL, SYMBOLIC], ids=lambda task: task.name)
def test_given_weights_compute_what_the_plain_network_does(tmp_path, task, name, prefix):
    if name == "model.safetensors":
        pytest.importorskip("safetensors")
    plain = made_gpt2(tmp_path, name, prefix)
    of = cell(task, pretrained=True, weights_dir=str(tmp_path))
    theta = drawn(of)
    rows = (theta["E"][:, None] == plain.wte.weight).all(-1)
    assert (rows.sum(1) == 1).all() and rows.any(0).sum() == task.n_tokens  # different words
    assert not torch.equal(drawn(cell(task, 1, pretrained=True, weights_dir=str(tmp_path)))["E"], theta["E"])
    x = strings(of)
    torch.testing.assert_close(of.network.apply(theta, x, of), expected(plain, theta, x, task), rtol=1e-10, atol=1e-10)


def test_the_id_knows_the_weights_and_not_their_place(tmp_path):
    for folder, seed in (("one", 0), ("same", 0), ("other", 1)):
        made_gpt2(tmp_path / folder, seed=seed)
    one, same, other = (cell(pretrained=True, weights_dir=str(tmp_path / name)) for name in ("one", "same", "other"))
    assert one.cell_id == same.cell_id and len({one.cell_id, other.cell_id, cell().cell_id}) == 3
    assert one.columns()["pretrained"] is True and "weights_dir" not in one.columns()
    assert cell(weights_dir="anywhere").cell_id == cell().cell_id


def test_the_origin_of_given_weights_is_their_size(tmp_path):
    made_gpt2(tmp_path)
    of = cell(pretrained=True, weights_dir=str(tmp_path))
    assert of.network.origin == "gpt2-2-2-16-64" and of.version == f"gpt2-2-2-16-64+{of.network.source}, 3"
    assert cell().version == "3"


def test_a_folder_of_all_sizes_is_searched_by_name(tmp_path, monkeypatch):
    made_gpt2(tmp_path / "gpt2")
    assert cell(pretrained=True, weights_dir=str(tmp_path)).network.source
    monkeypatch.setenv(DATA_DIR, str(tmp_path))
    assert cell(pretrained=True).network.source
    with pytest.raises(ValidationError, match=r"gpt2-medium \(SWEEP_DATA_DIR\) lacks config.json"):
        cell(pretrained=True, depth=24, heads=16, head_dim=64, embedding=1024, width=4096)


@pytest.fixture
def refused(tmp_path):
    """Why given weights in the folder are refused when a cell is made."""

    def refused(**keys):
        with pytest.raises(ValidationError) as error:
            cell(pretrained=True, weights_dir=str(tmp_path), **keys)
        return str(error.value)

    return refused


def test_what_is_missing_or_wrong_is_told(tmp_path, refused):
    assert "lacks config.json; put there what Hugging Face holds of such a network" in refused()
    (tmp_path / "config.json").write_text("{}")
    assert "lacks model.safetensors and pytorch_model.bin; put there" in refused()
    made_gpt2(tmp_path)
    assert "describes a network of depth 2, heads 2, embedding 16, width 64; the grid says depth 3" in refused(depth=3)
    assert "wants heads times head_dim to be the embedding" in refused(head_dim=5)
    assert "has 512 tokens, and the weights hold vectors of 300" in refused(task=Template(template="aba/abb", P=312))
    long = "a" * 17 + "b" * 16
    assert "strings of 33 tokens, and the weights hold positions of 32" in refused(
        task=Template(template=f"{long}/{long[::-1]}", P=12, test_alphabet=20)
    )
    (tmp_path / "config.json").write_text(json.dumps({"n_layer": "two"}))
    assert "is no configuration of a GPT-2 (ValueError: " in refused()


@pytest.mark.parametrize(
    ("entry", "value", "said"),
    [
        ("activation_function", "relu", "is relu, and network gpt2 has gelu_new"),
        ("scale_attn_weights", False, "is False, and network gpt2 has True"),
        ("scale_attn_by_inverse_layer_idx", True, "is True, and network gpt2 has False"),
    ],
)
def test_a_configuration_of_other_attention_is_refused(tmp_path, refused, entry, value, said):
    made_gpt2(tmp_path, **{entry: value})
    assert f"{entry} {said}" in refused()


def test_an_untied_readout_is_refused_where_it_would_be_tied(tmp_path, refused):
    made_gpt2(tmp_path, tie_word_embeddings=False)
    assert "tie_word_embeddings is False, and task symbolic_template reads out tokens by their own" in refused(task=SYMBOLIC)
    assert cell(REAL, pretrained=True, weights_dir=str(tmp_path)).network.source  # has a readout of its own
    made_gpt2(tmp_path, reorder_and_upcast_attn=True)
    assert cell(SYMBOLIC, pretrained=True, weights_dir=str(tmp_path)).network.source


def test_a_missing_package_is_named(tmp_path, monkeypatch, refused):
    made_gpt2(tmp_path)
    (tmp_path / "pytorch_model.bin").rename(tmp_path / "model.safetensors")
    monkeypatch.setattr(pretrained, "find_spec", lambda name: None)
    assert "model.safetensors is read by a package that is not installed: python -m pip install " in refused()


KINDS = ("pytorch_model.bin", "old pytorch_model.bin", "model.safetensors")
"""Files of weights: torch's archives, torch's files before them, and safetensors."""


@pytest.fixture(params=KINDS)
def write(request, tmp_path):
    """Writes tensors by name into a folder of a made network, and gives the file."""
    *old, name = request.param.split()
    if name == "model.safetensors":
        pytest.importorskip("safetensors")
    made_gpt2(tmp_path, name)

    def write(tensors):
        file = tmp_path / name
        if name == "model.safetensors":
            from safetensors.torch import save_file

            save_file(tensors, file)
        else:
            torch.save(tensors, file, _use_new_zipfile_serialization=not old)
        return file

    return write


def test_unusable_weights_are_told_before_anything_starts(tmp_path, refused, write):
    tensors = Plain().published()
    file = write({f"transformer.{name}": value for name, value in tensors.items()} | {"lm_head.weight": torch.zeros(300, 16)})
    assert cell(pretrained=True, weights_dir=str(tmp_path)).network.source
    whole = file.read_bytes()
    write({name: value for name, value in tensors.items() if name != "ln_f.bias"})
    assert f"{file} is not what config.json beside it says: ln_f.bias is missing, and must be (16,)" in refused()
    write(tensors | {"h.1.mlp.c_fc.weight": torch.zeros(64, 16)})
    assert "h.1.mlp.c_fc.weight has shape (64, 16), and must be (16, 64)" in refused()
    for n in (4, len(whole) // 20, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:n])
        assert f"{file} cannot be read as weights: " in refused(), n
    for content in (b"", b"none", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"):
        file.write_bytes(content)
        assert f"{file} cannot be read as weights: " in refused()
    assert "it is a pointer of Git LFS; fetch the file itself, by git lfs pull; replace it" in refused()


def test_shapes_are_those_that_torch_reads(tmp_path, write):
    tensors = Plain().published() | {
        "mask": torch.ones(1, 1, 4, 4, dtype=torch.uint8),
        "half": torch.zeros(3, dtype=torch.float16),
    }
    file = write(tensors)
    assert shapes_in(file) == {name: tuple(value.shape) for name, value in tensors.items()}


def test_planning_makes_no_objects_but_tensors(tmp_path, refused):
    made_gpt2(tmp_path)
    for held in ({"a": np.zeros(3)}, [torch.zeros(3)], {"a": torch.nn.Linear(2, 2)}):
        torch.save(held, tmp_path / "pytorch_model.bin")
        assert "cannot be read as weights: it holds " in refused()


def test_all_weights_are_shown_to_be_of_their_shape_when_they_are_read(tmp_path):
    """Between planning and training a file may change."""
    made_gpt2(tmp_path)
    of = cell(pretrained=True, weights_dir=str(tmp_path))
    assert pretrained.shapes_of(of.network._shape, 300, 32) == {
        name: tuple(value.shape) for name, value in Plain().published().items()
    }
    (tmp_path / "pytorch_model.bin").write_bytes(b"none")
    pretrained.tensors.cache_clear()
    with pytest.raises(TaskError, match=r"pytorch_model.bin cannot be read as weights: "):
        drawn(of)


# --- training ---


def trained(cells):
    run = PackRun(cells, descent_engine("stacked").trainer(cells))
    while not run.done:
        run.advance(1e9)
    return run


@pytest.mark.parametrize("task", [REAL, SYMBOLIC], ids=lambda task: task.name)
def test_packs_train_as_the_plain_network_by_itself(tmp_path, task):
    """Given weights, identities on and off, in one pack; each against Adam on the plain network."""
    made_gpt2(tmp_path)
    flags = [(False, False), (True, True)]
    keys = {"pretrained": True, "weights_dir": str(tmp_path), "identity_rate": 1.0}
    cells = [cell(task, identity_qk=qk, identity_vo=vo, **keys) for qk, vo in flags]
    losses = trained(cells).curves[0]
    for of, found in zip(cells, losses, strict=True):
        theta = {name: value.requires_grad_() for name, value in drawn(of).items()}
        plain = plain_of({name: value.detach() for name, value in theta.items()})
        weights = [value for name, value in plain.named_parameters() if name != "wte.weight"]
        for value in weights:
            value.requires_grad_()
        own = [theta["E"]] if task.labels_are_tokens else [theta["E"], theta["readout"], theta["bias"]]
        own += [theta[f"{name}{layer}"] for name in "ab" for layer in (1, 2)] if of.network.identity_qk else []
        optimiser = torch.optim.Adam([*weights, *own], lr=1e-3)
        x, y = map(torch.from_numpy, task.train_examples(stream(stream_owner(of), "batches"), np.zeros(0), 12))
        of_loss = torch.nn.functional.cross_entropy if task.labels_are_tokens else torch.nn.functional.mse_loss
        taken = []
        for _ in range(10):
            loss = of_loss(expected(plain, theta, x, task), y if task.labels_are_tokens else y.double())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            taken.append(loss.item())
        np.testing.assert_allclose(found, [np.mean(taken[:5]), np.mean(taken[5:])], rtol=1e-6)
    assert len(set(losses[:, -1])) == 2
