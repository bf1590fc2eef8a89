"""Tasks, networks and trainings put together: which keys name a cell, which stand outside its id, and how they are declared."""

from typing import ClassVar

import numpy as np
import pytest
from pydantic import ValidationError

from sweepkit.declarations.keys import KEYS
from sweepkit.declarations.metrics import METRICS
from trainables.cell import cell_of, lazy_gamma
from trainables.engines import ENGINES
from trainables.networks import all_networks
from trainables.parts import declared, kind_of
from trainables.tasks import (
    CIFAR100,
    PSVRT,
    Hermite3,
    Linear,
    Parity2,
    Pentomino,
    SameDifferent,
    SymbolicTemplate,
    Task,
    Template,
    Text,
    TokenPairs,
    task_class,
    task_names,
)  # fmt: skip
from trainables.training import all_trainings

TRAINED = {"width": 64, "gamma": 0.5, "base_lr": 0.1, "seed": 3}
SAMPLED = {"width": 6, "kappa": 0.5, "seed": 3}


def test_a_teacher_may_be_learnt_by_descent():
    """The same task is sampled by default; no engine for the paper's labelled streams takes it."""
    cell = cell_of(Hermite3(d=6, P=20), training="sgd", network="relu2", **TRAINED)
    sampled = cell_of(Hermite3(d=6, P=20), network="relu2", **SAMPLED)
    assert (cell.keys()["network"], cell.keys()["training"]) == ("relu2", "sgd")
    assert "training" not in sampled.keys() and sampled.keys()["network"] == "relu2"  # noqa: SIM118
    assert (cell.loss, cell.network.prefactor, cell.epsilon) == ("mse", "none", 0.5)
    assert cell.task.n_train == 20 and cell.network.family != sampled.network.family
    assert not any(ENGINES[name].trains(cell) for name in ("reference", "batched", "gram", "patches", "langevin"))
    assert [name for name, engine in ENGINES.items() if engine.trains(sampled)] == ["langevin"]


@pytest.mark.parametrize(
    ("task", "keys", "default", "other"),
    [
        (SameDifferent(L=4, d=4), TRAINED, {"momentum": 0.0}, {"momentum": 0.9}),
        (SameDifferent(L=4, d=4), TRAINED, {"weight_decay": 0.0}, {"weight_decay": 1e-3}),
        (SameDifferent(L=4, d=4), TRAINED, {"loss": "cross_entropy"}, {"loss": "mse"}),
        (SameDifferent(L=4, d=4), TRAINED, {"network": "relu2", "training": "sgd"}, None),
        (PSVRT(L=4), TRAINED, {"prefactor": "none"}, {"prefactor": "sqrt_d"}),
        (SameDifferent(L=4, d=4), TRAINED, {"initial": "normal"}, {"initial": "truncated"}),
        (Hermite3(d=4, P=8), SAMPLED | {"network": "erf2"}, {"loss": "mse"}, None),
        (Hermite3(d=4, P=8), SAMPLED | {"network": "erf2"}, {"training": "langevin"}, None),
        (Hermite3(d=4, P=8), TRAINED | {"network": "relu2", "training": "sgd"}, {"loss": "mse"}, None),
        (Parity2(d=4, P=8), TRAINED | {"network": "relu2", "training": "sgd"}, {"loss": "cross_entropy"}, None),
    ],
)
def test_a_key_at_its_default_names_no_other_cell(task, keys, default, other):
    left_out, written = cell_of(task, **keys), cell_of(task, **keys, **default)
    assert left_out == written and left_out.cell_id == written.cell_id
    if task.name != "parity2":  # whose loss has been part of its ids from the start
        assert not default.keys() & left_out.keys().keys()
    if other is not None:
        assert cell_of(task, **keys, **other).cell_id != left_out.cell_id
        assert cell_of(task, **keys, **other).keys() == left_out.keys() | other


def test_labels_that_are_no_labels_have_no_cross_entropy():
    for keys in (SAMPLED | {"network": "erf2"}, TRAINED | {"network": "relu2", "training": "sgd"}):
        with pytest.raises(ValidationError, match="cross_entropy needs labels"):
            cell_of(Hermite3(d=4, P=8), loss="cross_entropy", **keys)


BY_DESCENT = {
    "momentum": 0.0, "weight_decay": 0.0, "eval_at": "even", "final_test_size": None, "lr_schedule": "constant",
    "per_step": "batch",
}  # fmt: skip
USUAL = BY_DESCENT | {"network": "relu2", "training": "sgd", "loss": "cross_entropy"}
TEACHERS = BY_DESCENT | {"loss": "mse", "prefactor": "none"}
CHAINS = {"training": "langevin", "explored": "last", "loss": "mse"}
INITIAL = {"initial": "normal"}
BY_SGD = TRAINED | {"network": "relu2", "training": "sgd"}
BY_RIDGE = {"training": "ridge", "seed": 3}
RIDGE = {"ridge": 1e-4, "test_size": 100, "beta": 4.0, "position": 1.0, "activation": "cos"}
ADAM = {"beta1": 0.9, "beta2": 0.999, "adam_epsilon": 1e-8, "base_lr": 1e-3, "eval_at": "even", "final_test_size": None}
STRINGS = {"steps": 1000, "eval_every": 5, "test_size": 100, "batch": 1024, "per_step": "epoch", "dtype": "float32"}
TRANSFORMER = {
    "network": "transformer", "width": 256, "depth": 2, "embedding": 128, "heads": 16, "head_dim": 64, "identity_qk": False,
    "identity_vo": False, "identity_rate": 1.0, "attention_init": "gaussian", "mimetic_alpha": 0.7, "mimetic_beta": 0.7,
    "read_from": "cls", "logits": "standard", "training": "adam", "lr_schedule": "constant",
}  # fmt: skip
OF_TRANSFORMER = ("network", "attention_init", "mimetic_alpha", "mimetic_beta", "read_from", "logits")
GPT2 = {name: value for name, value in TRANSFORMER.items() if name not in OF_TRANSFORMER} | {
    "width": 3072, "depth": 12, "embedding": 768, "heads": 12, "pretrained": False, "weights_dir": "",
}  # fmt: skip
TEXT = GPT2 | ADAM | {
    "network": "gpt2", "loss": "cross_entropy", "data_dir": "", "tokenizer_dir": "", "base_lr": 3e-4, "steps": 25000,
    "eval_every": 100, "test_size": 240, "batch": 8, "per_step": "batch", "dtype": "float32",
}  # fmt: skip
FEATURES = {"width": 2048, "embedding": 256, "heads": 64, "head_dim": 32}
OUTSIDE = [
    (SameDifferent(L=4, d=4), TRAINED, USUAL | INITIAL),  # its prefactor enters the id
    (PSVRT(L=4), TRAINED, USUAL | INITIAL | {"prefactor": "none"}),
    (Pentomino(L=4), TRAINED, USUAL | INITIAL | {"prefactor": "none"}),
    (CIFAR100.model_construct(L=4, layer="id", data_dir=""), TRAINED, USUAL | INITIAL | {"prefactor": "sqrt_d", "data_dir": ""}),
    (Hermite3(d=4, P=8), SAMPLED | {"network": "erf2"}, CHAINS),
    (Hermite3(d=4, P=8), SAMPLED | {"network": "relu2"}, CHAINS),
    (Hermite3(d=4, P=8), SAMPLED | {"network": "linear2"}, CHAINS),
    (Hermite3(d=4, P=8), SAMPLED | {"network": "erf3", "width1": 4}, CHAINS),
    (Linear(d=4, P=8, patch=2), SAMPLED | {"network": "cnn"}, CHAINS),
    (TokenPairs(d=4, context=3, P=8), SAMPLED | {"network": "attention"}, CHAINS),
    (Parity2(d=4, P=8), SAMPLED | {"network": "relu2"}, {"training": "langevin", "explored": "last"}),  # its loss enters the id
    (Template(template="aba/abb", P=8), BY_RIDGE | {"network": "kernel"}, RIDGE),
    (Template(template="aba/abb", P=8), BY_RIDGE | {"network": "features"}, RIDGE | FEATURES),
    (Template(template="aba/abb", P=8), {"seed": 3}, TRANSFORMER | ADAM | STRINGS | {"loss": "mse"}),
    (SymbolicTemplate(template="copy", P=8), {"seed": 3}, TRANSFORMER | ADAM | STRINGS | {"loss": "cross_entropy"}),
    (Template(template="aba/abb", P=8), {"network": "gpt2", "seed": 3}, GPT2 | ADAM | STRINGS | {"loss": "mse"}),
    (Text.model_construct(corpus="made", context=1024, data_dir="", tokenizer_dir=""), {"seed": 3}, TEXT),
    (Hermite3(d=4, P=8), BY_SGD, TEACHERS | INITIAL),
    (Linear(d=4, P=8), BY_SGD, TEACHERS | INITIAL),
    (Parity2(d=4, P=8), BY_SGD, INITIAL | {k: v for k, v in TEACHERS.items() if k != "loss"}),
]
"""All values that stand outside the ids of cells of these parts. What is stored under an id has these: were one changed, the
results would be taken for networks with the new value. A key that is added gets a row here and keeps its default for ever."""


@pytest.mark.parametrize(("task", "keys", "outside"), OUTSIDE)
def test_defaults_outside_the_id_are_those_of_stored_results(task, keys, outside):
    cell = cell_of(task, **keys)
    outside = {"data_seed": None} | outside
    values = {"network": cell.network.name, "training": cell.training.name}
    for part in cell.parts:
        values |= {name: getattr(part, name) for name in type(part).model_fields}
    assert {name: value for name, value in values.items() if name not in cell.keys()} == outside  # noqa: SIM118


@pytest.mark.parametrize(
    ("task", "keys", "cell_id"),
    [
        (SameDifferent(L=8, d=16), TRAINED, "d6b4307317e4e623b018"),
        (SameDifferent(L=8, d=16, sigma2=0.5), TRAINED | {"prefactor": "none"}, "2c759638886da3d78677"),
        (PSVRT(L=12), TRAINED, "15c6b1810a20863e654d"),
        (Pentomino(L=8), TRAINED, "f16432ce01db6f8477fa"),
        (Hermite3(d=6, P=20), SAMPLED | {"network": "erf2"}, "d65f13cdddd1d649f03c"),
        (Linear(d=6, P=20, patch=2), SAMPLED | {"network": "cnn", "scaling": "mean_field"}, "069da2b9bd3cf5d9f014"),
        (Hermite3(d=6, P=20), SAMPLED | {"network": "erf3", "width1": 4}, "26aae69e31f64f3bf21c"),
        (Parity2(d=6, P=20), SAMPLED | {"network": "relu2"}, "a0003de218d4098d4714"),
        (Parity2(d=6, P=20), SAMPLED | {"network": "relu2", "loss": "cross_entropy"}, "71459bdda226d7c8d8ae"),
    ],
)
def test_ids_are_those_of_the_first_stored_results(task, keys, cell_id):
    """A change of ids orphans what users have stored: they date from when network and training were no keys yet."""
    assert cell_of(task, **keys).cell_id == cell_id


def parts():
    return [*map(task_class, task_names()), *all_networks(), *all_trainings()]


def test_every_key_has_a_kind_and_one_name_has_one_kind():
    kinds = {}
    for part in parts():
        for name, key in declared(part).items():
            of_field = kind_of(part.model_fields[name].annotation)
            assert of_field == key.kind, (part.name, name)  # None where no column can hold it
            assert key.part == part.role and key.title, (part.name, name)
            assert kinds.setdefault(name, key.kind) == key.kind, (part.name, name)
    assert {"L", "P", "width", "gamma", "momentum", "kappa", "layer"} <= kinds.keys()
    assert not kinds.keys() & {"task", "network", "training", "seed"}  # those of the cell itself
    assert {name: KEYS[name].kind for name in kinds.keys() & KEYS.keys()}.items() <= kinds.items()


def test_each_network_is_trained_by_a_training_of_its_family():
    families = {training.family for training in all_trainings()}
    assert {network.family for network in all_networks()} == families == {"descent", "sampling", "ridge"}


SGD_METRICS = {"best_test_acc", "final_test_acc", "best_test_error", "final_train_acc", "final_train_loss", "readout_ratio",
               "alignment_pos", "alignment_neg", "activation_change", "final_test_auc", "final_test_acc_best_threshold",
               "final_test_acc_same", "final_test_acc_different", "alignment_correlation", "half_norm_ratio"}  # fmt: skip
CHAIN_METRICS = {"alignment_f", "n_specialised_1", "magnitude_1"}
ACCURACIES, ERRORS = {"final_test_acc", "final_train_acc"}, {"test_mse", "train_mse"}


@pytest.mark.parametrize(
    ("task", "keys", "names"),
    [
        (SameDifferent(L=4, d=4), TRAINED, SGD_METRICS),
        (PSVRT(L=4), TRAINED, SGD_METRICS),
        (Hermite3(d=4, P=8), SAMPLED | {"network": "erf2"}, CHAIN_METRICS | ERRORS),
        (Hermite3(d=4, P=8), SAMPLED | {"network": "erf3", "width1": 4},
         CHAIN_METRICS | ERRORS | {"n_specialised_2", "magnitude_2"}),
        (Parity2(d=4, P=8), SAMPLED | {"network": "relu2"}, CHAIN_METRICS | ERRORS | ACCURACIES),
        (Parity2(d=4, P=8), SAMPLED | {"network": "relu2", "loss": "cross_entropy"},
         CHAIN_METRICS | ACCURACIES | {"final_train_loss"}),
    ],
)  # fmt: skip
def test_parts_say_which_metrics_a_network_has(task, keys, names):
    """Of those that tell what it learnt; how it was sampled or trained is told beside."""
    beside = {"alignment_f_se", "r_hat", "ess", "mixed", "unmixed", "acceptance", "seconds"}
    cell = cell_of(task, **keys)
    had = {m.name for m in METRICS.values() if m.had_by(cell.traits()) and m.per == "network"}
    assert had - beside == names


class Own(Task):
    """A task of a user's own as such files were written at first."""

    name: ClassVar[str] = "own"
    default_base_lr: ClassVar[float] = 0.25

    d: int

    @property
    def input_dim(self) -> int:
        return self.d

    @property
    def richness_scale(self) -> float:
        return 3.0

    def draw_symbols(self, rng):
        return np.zeros(0)

    def train_examples(self, rng, symbols, n):
        x = rng.standard_normal((n, self.d)).astype(np.float32)
        return x, x[:, 0] > 0

    test_examples = train_examples


class OwnImages(PSVRT):
    """Derived from a task of the package, whose own default it overrides."""

    name: ClassVar[str] = "own_images"
    default_base_lr: ClassVar[float] = 0.75
    richness_scale: ClassVar[float] = 3.0


class Derived(Own):
    """It inherits what the task above it says, and says a part of it anew."""

    name: ClassVar[str] = "derived"
    default_base_lr: ClassVar[float] = 0.5


@pytest.mark.parametrize(("task", "base_lr"), [(Own(d=4), 0.25), (OwnImages(L=4), 0.75), (Derived(d=4), 0.5)])
def test_tasks_that_users_wrote_at_first_keep_their_rate_and_scale(task, base_lr):
    cell = cell_of(task, width=8, gamma=0.5, seed=0)
    assert task.default_of("base_lr") == base_lr == cell.descent.base_lr
    assert cell.epsilon == 0.5 * 3.0
    assert cell.learning_rate == pytest.approx(1.5**2 * base_lr)
    assert lazy_gamma(task) == pytest.approx(1e-5 / 3)
    assert cell_of(task, width=8, gamma=lazy_gamma(task), seed=0).gamma_label == "lazy"
    assert "prefactor" not in cell.keys()  # noqa: SIM118
    assert cell_of(task, width=8, gamma=0.5, seed=0, prefactor="none").epsilon == 0.5
    assert (task.default_of("network"), task.default_of("training"), task.default_of("loss")) == ("relu2", "sgd", "cross_entropy")


def test_what_a_task_gives_no_default_must_be_given():
    with pytest.raises(KeyError):
        Hermite3.default_of("network")
    with pytest.raises(KeyError):
        Own.default_of("width")
    with pytest.raises(ValidationError, match="kappa"):
        cell_of(Hermite3(d=4, P=8), network="erf2", width=4, seed=0)


class Classes(Own):
    targets: ClassVar[str] = "classes"
    n_outputs: ClassVar[int] = 3
    n_train: ClassVar[int] = 20


class Sequences(Own):
    inputs: ClassVar[str] = "tokens"
    n_tokens: ClassVar[int] = 5
    n_train: ClassVar[int] = 20


class Vectors(Own):
    targets: ClassVar[str] = "real"
    n_outputs: ClassVar[int] = 2


class DeepByDefault(Own):
    defaults: ClassVar[dict[str, object]] = {"network": "mlp"}


@pytest.mark.parametrize(
    ("task", "keys", "words"),
    [
        (Classes(d=4), TRAINED, "network relu2 has one output, and task own wants 3; take mlp"),
        (Vectors(d=4), TRAINED, "network relu2 has one output, and task own wants 2"),
        (Sequences(d=4), TRAINED, "network relu2 does not take tokens inputs"),
        (Sequences(d=4), {"network": "mlp", "width": 4, "seed": 0}, "network mlp does not take tokens inputs"),
        (Sequences(d=4), {"network": "residual", "width": 4, "seed": 0}, "network residual does not take tokens inputs"),
        (Classes(d=4), SAMPLED | {"network": "erf2", "training": "langevin"}, "network erf2 has one output"),
        (Sequences(d=4), SAMPLED | {"network": "erf2", "training": "langevin"}, "network erf2 does not take tokens inputs"),
        (Hermite3(d=4, P=0), TRAINED | {"network": "relu2", "training": "sgd"}, "task he3 has P = 0"),
        (Hermite3(d=4, P=0), TRAINED | {"network": "relu2", "training": "adam"}, "task he3 has P = 0"),
    ],
)
def test_parts_that_do_not_fit_are_refused(task, keys, words):
    with pytest.raises(ValidationError, match=words):
        cell_of(task, **keys)


def test_rows_name_the_network_where_readers_would_take_them_for_another():
    """A row without a network is of relu2, whatever the task's default is."""
    deep = cell_of(DeepByDefault(d=4), width=4, seed=0)
    assert "network" not in deep.keys() and deep.columns()["network"] == "mlp"  # noqa: SIM118
    wide = cell_of(DeepByDefault(d=4), network="relu2", width=4, gamma=1.0, seed=0)
    assert wide.keys()["network"] == wide.columns()["network"] == "relu2"
    assert "network" not in cell_of(SameDifferent(L=4, d=4), **TRAINED).columns()


@pytest.mark.parametrize("part", [*map(task_class, task_names()), *all_networks(), *all_trainings()], ids=lambda part: part.name)
def test_a_key_that_parts_share_has_its_title_from_the_ground_floor_alone(part):
    assert [name for name, field in part.model_fields.items() if name in KEYS and field.title] == []
