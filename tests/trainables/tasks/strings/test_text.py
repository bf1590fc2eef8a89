"""Texts in folders: their tokens, strings and next tokens, losses and perplexities, and what is said if something is missing."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from rich.console import Console
from torch.nn.functional import cross_entropy

from sweepkit.console.words import pydantic_reason
from tests.made_gpt2 import TINY, after_tokens, made_gpt2, plain_of
from tests.made_texts import made_text, made_tokenizer
from trainables.basics import TaskError
from trainables.cell import cell_of
from trainables.checking.network import check_network
from trainables.checking.task import check_task
from trainables.engines import descent_engine
from trainables.engines.stacked.trainer import Stacked
from trainables.features import texts
from trainables.features.digests import file_digest
from trainables.features.folders import DATA_DIR
from trainables.metrics.base import Probe
from trainables.metrics.identities import identity_qk_mean, identity_vo_mean
from trainables.streams import stream, stream_owner
from trainables.tasks import Text
from trainables.trainers.run import PackRun

pytest.importorskip("tokenizers")


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """A text `small`, and a tokenizer where GPT-2's would be."""
    monkeypatch.setenv(DATA_DIR, str(tmp_path))
    made_tokenizer(tmp_path / "gpt2")
    made_text(tmp_path / "small")


def cell(seed=0, context=8, **keys):
    run = {"steps": 20, "eval_every": 10, "batch": 4, "test_size": 6, "dtype": "float64"}
    return cell_of(Text(corpus="small", context=context), seed=seed, **{**run, **TINY, **keys})


def by_hand(text):
    """Tokens by greedy merges in their order, line by line: bytes are numbered as their letters are sorted."""
    from tokenizers.pre_tokenizers import ByteLevel

    letters = sorted(ByteLevel.alphabet())
    merged = ["th", "the", "Ġthe", "at", "Ġc", "Ġcat"]
    words = {word: number for number, word in enumerate([*letters, *merged])}
    pairs = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("a", "t"), ("Ġ", "c"), ("Ġc", "at")]
    found = []
    for line in text.splitlines(keepends=True):
        pieces = list(line.replace(" ", "Ġ").replace("\n", "Ċ"))
        for pair in pairs:
            k = 0
            while k < len(pieces) - 1:
                if (pieces[k], pieces[k + 1]) == pair:
                    pieces[k : k + 2] = ["".join(pair)]
                k += 1
        found += [words[piece] for piece in pieces]
    return found


@pytest.mark.parametrize("names", texts.NAMES)
@pytest.mark.parametrize("in_one_file", [False, True])
def test_tokens_are_those_of_the_tokenizer(tmp_path, names, in_one_file):
    written = made_text(tmp_path / "other", names, seed=3)
    made_tokenizer(tmp_path / "words", in_one_file)
    task = Text(corpus="other", tokenizer_dir=str(tmp_path / "words"), context=8)
    tokens = texts.tokens(task._text)
    assert {part: list(of_part) for part, of_part in tokens.items()} == {part: by_hand(text) for part, text in written.items()}
    assert task.n_tokens == task.n_outputs == 262


def test_strings_are_of_the_text_and_targets_follow_them():
    task = Text(corpus="small", context=8)
    x, y = task.train_examples(np.random.default_rng(0), np.zeros(0), 50)
    assert x.shape == y.shape == (50, 8) and (x[:, 1:] == y[:, :-1]).all()
    train = texts.tokens(task._text)["train"]
    windows = {tuple(train[k : k + 9]) for k in range(len(train) - 8)}
    assert {(*string, after[-1]) for string, after in zip(x.tolist(), y.tolist(), strict=True)} <= windows
    for part, examples in (("test", task.test_examples), ("valid", task.validation_examples)):
        tokens = texts.tokens(task._text)[part]
        n = (len(tokens) - 1) // 8
        x, y = examples(np.random.default_rng(1), np.zeros(0), n + 2)
        np.testing.assert_array_equal(x[:n].ravel(), tokens[: 8 * n])
        np.testing.assert_array_equal(y[:n].ravel(), tokens[1 : 8 * n + 1])
        np.testing.assert_array_equal(x[n:], x[:2])  # again from the first


def test_the_task_and_its_network_pass_the_checks():
    Text(corpus="small", context=8).prepare(Console(quiet=True))
    assert check_task(cell().task) == [] and check_network(cell()) == []


def test_tokens_are_made_once_and_announced(tmp_path):
    task = Text(corpus="small", context=8)
    (one,) = task.preparations()
    assert str(one.file).startswith(str(tmp_path / "tokens")) and "at most one a byte" in one.what
    task.prepare(Console(quiet=True))
    assert task.preparations() == [] and one.file.stat().st_size <= one.n_bytes + 200


def test_the_id_knows_the_text_and_not_its_place(tmp_path):
    here = cell()
    made_text(tmp_path / "there" / "small")
    there = cell_of(Text(corpus="small", context=8, data_dir=str(tmp_path / "there")), seed=0, network="gpt2")
    assert there.task.source == here.task.source and there.version == here.version
    assert here.version == f"text-small+{here.task.source}, 3"  # another text is no other release of this one
    made_text(tmp_path / "small", seed=1)
    assert cell().cell_id != here.cell_id


# --- training ---


def trained(cells, **keys):
    run = PackRun(cells, Stacked(cells, **keys))
    while not run.done:
        run.advance(1e9)
    return run


def test_losses_are_those_of_next_tokens(tmp_path):
    """The plain network: mean cross entropy over all tokens of a batch, Adam; scores on all strings of test and validation."""
    made_gpt2(tmp_path / "gpt2")
    assert cell().descent.base_lr == 3e-4
    of = cell(pretrained=True, identity_qk=True, base_lr=0.02)
    run, owner = trained([of]), stream_owner(of)
    initial = of.network.init(stream(owner, "weights"), of)
    theta = {name: torch.from_numpy(np.asarray(value, np.float64)) for name, value in initial.items()}
    assert not {"readout", "bias"} & theta.keys()
    plain = plain_of(theta)
    free = [value for name, value in plain.named_parameters() if name != "wte.weight"] + [theta[n] for n in ("E", "a1", "a2")]
    optimiser = torch.optim.Adam([value.requires_grad_() for value in free], lr=0.02)

    def told(x, y):
        """Loss, and share of right answers."""
        f, y = (after_tokens(plain, theta, torch.from_numpy(x)) @ theta["E"].T).flatten(0, 1), torch.from_numpy(y).ravel()
        return cross_entropy(f, y), (f.argmax(1) == y).double().mean().item()

    taken = []
    for block in range(2):
        x, y = of.task.train_examples(stream(owner, "batches", block), np.zeros(0), 40)
        for k in range(10):
            loss, right = told(x[4 * k : 4 * k + 4], y[4 * k : 4 * k + 4])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            taken.append((loss.item(), right))
    np.testing.assert_allclose(run.curves[:2, 0].T, [np.mean(taken[:10], 0), np.mean(taken[10:], 0)], rtol=1e-6)
    (result,) = run.results()
    _, right = told(*of.task.test_examples(None, None, 6))
    loss, _ = told(*of.task.validation_examples(None, None, 6))
    assert result.summary()["final_test_acc"] == pytest.approx(right) and right > 0
    assert result.scores["val_loss"][-1] == pytest.approx(loss.item(), rel=1e-6)


def test_networks_alone_train_as_in_a_pack_and_as_on_a_card():
    cells = [cell(seed=seed, identity_vo=vo) for seed in (0, 1) for vo in (False, True)]
    together, alone = trained(cells), [trained([one]) for one in cells]
    for c, one in enumerate(alone):
        np.testing.assert_allclose(together.curves[:, c], one.curves[:, 0], rtol=1e-9)
    as_on_card = trained(cells, as_on_gpu=True)
    np.testing.assert_allclose(as_on_card.curves, together.curves, rtol=1e-9)


def test_parameters_are_measured_without_outputs_of_all_strings():
    run, seen = trained([cell(identity_qk=True)]), []

    def at(x):
        seen.append(len(x))
        return run.trainer.probed(0)(x)

    probe = Probe(cell(), lambda: cell().task.test_examples(None, None, 6), at, lambda x: None)
    assert identity_qk_mean.measure(probe) > 0 == identity_vo_mean.measure(probe) and seen == [1]


def test_the_engine_that_trains_any_network_is_chosen():
    assert descent_engine("stacked").trains(cell())


# --- what is missing ---


def refused(**keys):
    with pytest.raises(ValidationError) as error:
        Text(**{"corpus": "small", "context": 8, **keys})
    return pydantic_reason(error.value)


def not_prepared(**keys):
    task = Text(**{"corpus": "small", "context": 8, **keys})
    with pytest.raises(TaskError) as error:
        task.prepare(Console(quiet=True))
    return str(error.value)


def test_what_is_missing_or_wrong_is_told(tmp_path, monkeypatch):
    for path in ("/abs", "../small", "", "a b", "a,b", "small\n", "-a"):
        assert "is the name of a folder in data_dir: letters, digits" in refused(corpus=path)
    assert "greater than or equal to 2" in refused(context=1)
    said = refused(corpus="none")
    assert f"{tmp_path}/none (in SWEEP_DATA_DIR) lacks the text: put there wiki.train.tokens, wiki.valid.tokens, " in said
    said = refused(tokenizer_dir=str(tmp_path))
    assert "(tokenizer_dir) lacks the tokenizer: put there what Hugging Face holds of gpt2, tokenizer.json, or vocab.json" in said
    for of, folder in ((None, "small"), ("gpt2", "gpt2")):  # a disk that fails amid a file does not say in which

        def fail(path, of=of):
            if of in (None, path.parent.name):
                raise OSError(5, "Input/output error")
            return file_digest(path)

        with monkeypatch.context() as patched:
            patched.setattr(texts, "file_digest", fail)
            assert f"{tmp_path}/{folder} cannot be read: Input/output error" in refused()
    assert f"{tmp_path}/small/wiki.train.tokens has" in not_prepared(context=2000)
    (tmp_path / "gpt2" / "vocab.json").write_text("{")
    assert "cannot be read as a tokenizer: " in refused()
    made_tokenizer(tmp_path / "gpt2")
    (tmp_path / "small" / "wiki.test.tokens").write_bytes(b"\xff\xff")
    assert "cannot be made tokens of: 'utf-8' codec" in not_prepared()
    monkeypatch.setattr(texts, "find_spec", lambda name: None)
    assert "not installed: python -m pip install tokenizers==" in refused()


def test_networks_that_answer_once_are_refused():
    with pytest.raises(ValidationError, match="transformer answers once an example, and task text asks each token; take gpt2"):
        cell_of(Text(corpus="small", context=8), seed=0, network="transformer")
