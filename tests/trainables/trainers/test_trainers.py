"""One suite for every engine: right against `reference`, and a result that depends on its cell alone."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from trainables.basics import CardUnusable
from trainables.cell import cell_of
from trainables.checking.training import check_training
from trainables.engines import ENGINES, DescentEngine
from trainables.engines.dense.batched import Batched
from trainables.engines.dense.reference import Reference
from trainables.engines.gram.cpu import Gram
from trainables.engines.patches.trainer import Patches
from trainables.engines.stacked.trainer import Stacked
from trainables.kernels.pairs import distinct_pairs
from trainables.tasks import PSVRT, Pentomino, SameDifferent, Task
from trainables.trainers.base import Trainer
from trainables.trainers.card.proof import prove
from trainables.trainers.run import PackRun


def gram_on_gpu(cells) -> Trainer:
    from trainables.engines.gram.cuda import GramCuda  # imports Triton, which is not there without CUDA

    return GramCuda(cells)


def gram_large_on_gpu(cells) -> Trainer:
    from trainables.engines.gram.cuda_large import GramLarge

    return GramLarge(cells)


NEEDS_GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")]


class Tried(NamedTuple):
    """Makes trainers, and the task that they are tried on; None: symbols."""

    make: Callable[..., Trainer]
    task: Task | None = None

    def __call__(self, cells) -> Trainer:
        return self.make(cells)


# 9 pixels and 49 are no multiples of TILE; with 5 patterns a batch of 32 holds most atoms several times, with 400 few twice.
IMAGES = {
    "pentomino": Pentomino(L=6), "psvrt": PSVRT(L=5, patches=3, patch_size=3), "many": PSVRT(L=400, patches=2, patch_size=4),
}  # fmt: skip


def of_engine(engine: DescentEngine) -> list[Any]:
    """The engine on each of its devices: on symbols, and on images; one that trains symbols too is tried on one kind of image."""

    def trains(task: Task) -> bool:
        return engine.trains(cell_of(task, width=8, gamma=1.0, seed=0))

    tasks: dict[str, Task | None] = {engine.name: None} if trains(SameDifferent(L=5, d=16)) else {}
    images = {f"{engine.name}-{name}": task for name, task in IMAGES.items() if trains(task)}
    tasks |= dict(list(images.items())[:1]) if tasks else images
    found = [pytest.param(Tried(engine.trainer, task), id=name) for name, task in tasks.items()]
    if "cuda" in engine.devices and not engine.is_oracle:
        found.append(pytest.param(Tried(partial(engine.trainer, device="cuda")), id=f"{engine.name}-cuda", marks=NEEDS_GPU))
    return found


REGISTERED = [engine for engine in ENGINES.values() if isinstance(engine, DescentEngine)]
TENSORS = pytest.param(Tried(lambda cells: Batched(cells, in_cache=False)), id="batched-as-on-gpu")
LARGE = pytest.param(Tried(gram_large_on_gpu), id="gram-large-cuda", marks=NEEDS_GPU)  # for any L; the engine keeps it to many
STACKED = pytest.param(Tried(lambda cells: Stacked(cells, as_on_gpu=True)), id="stacked-as-on-gpu")
FAST = [TENSORS, STACKED, LARGE, *(param for engine in REGISTERED if not engine.is_oracle for param in of_engine(engine))]
ALL = [*(param for engine in REGISTERED if engine.is_oracle for param in of_engine(engine)), *FAST]
GPU = [  # without the proof, which waits for the device
    pytest.param(lambda cells: Batched(cells, "cuda"), id="batched-cuda", marks=NEEDS_GPU),
    pytest.param(lambda cells: gram_on_gpu(cells), id="gram-cuda", marks=NEEDS_GPU),
    pytest.param(lambda cells: gram_large_on_gpu(cells), id="gram-large-cuda", marks=NEEDS_GPU),
    pytest.param(lambda cells: Stacked(cells, "cuda"), id="stacked-cuda", marks=NEEDS_GPU),
]

# float64 keeps 16 digits; 200 steps of SGD on these sizes lose fewer than 4 of them, so 1e-9 leaves room and hides no error.
EXACT = 1e-9


@pytest.fixture
def make_cell(request, make_cell):
    """Cells of the task that the test's engine is tried on."""
    engine = getattr(request.node, "callspec", None) and request.node.callspec.params.get("engine")
    return partial(make_cell, task=engine.task) if isinstance(engine, Tried) and engine.task else make_cell


def train(engine, cells) -> PackRun:
    run = PackRun(cells, engine(cells))
    run.advance(float("inf"))
    return run


@pytest.mark.parametrize("engine", FAST)
def test_agrees_with_reference_over_200_steps(engine, make_cell):
    gammas = (1.0, 0.1, 3.0, "lazy")
    cells = [make_cell(gamma=g, seed=s, steps=200, eval_every=50) for g in gammas for s in range(2)]
    fast, slow = train(engine, cells), train(Reference, cells)
    np.testing.assert_allclose(fast.curves, slow.curves, rtol=0, atol=EXACT)
    for ours, theirs in zip(fast.results(), slow.results(), strict=True):
        np.testing.assert_allclose(ours.readout, theirs.readout, rtol=0, atol=EXACT)
        np.testing.assert_allclose(ours.alignment, theirs.alignment, rtol=0, atol=EXACT)
        # In the lazy limit the reference takes h - h_0 from numbers 1e5 times larger.
        assert ours.activation_change == pytest.approx(theirs.activation_change, rel=1e-8)


@pytest.mark.parametrize("engine", FAST)
def test_agrees_with_reference_from_truncated_initial_weights(engine, make_cell):
    cells = [make_cell(gamma=g, seed=s, initial="truncated") for g in (0.1, "lazy") for s in range(2)]
    fast, slow = train(engine, cells), train(Reference, cells)
    np.testing.assert_allclose(fast.curves, slow.curves, rtol=0, atol=EXACT)
    normal = train(engine, [make_cell(gamma=0.1)]).curves[:, 0]
    assert np.abs(fast.curves[:, 0] - normal).max() > 1e-6  # other networks, so agreement says something


@pytest.mark.parametrize("engine", ALL)
def test_evaluations_by_decades_and_a_large_last_one(engine, make_cell):
    """More evaluations move no number: at common steps a network has the scores, and at the end the weights, of one that is
    evaluated less. The last one is measured on as many examples as asked, 210, which is no multiple of the
    usual 64."""
    cells = [make_cell(gamma=g, seed=s) for g in (1.0, "lazy") for s in (0, 1)]
    often = [make_cell(gamma=g, seed=s, eval_at="log 3", final_test_size=210) for g in (1.0, "lazy") for s in (0, 1)]
    plain, run = train(engine, cells), train(engine, often)
    assert run.evaluations == (1, 2, 5, 10, 20, 22, 40)
    common = [run.evaluations.index(step) for step in plain.evaluations]
    np.testing.assert_allclose(run.curves[2:, :, common], plain.curves[2:], rtol=0, atol=EXACT)
    steps = np.diff([0, *run.evaluations])
    whole = [plain.evaluations.index(20), run.evaluations.index(20)]
    first_20 = (run.curves[:2, :, : whole[1] + 1] * steps[: whole[1] + 1]).sum(2) / 20
    np.testing.assert_allclose(first_20, plain.curves[:2, :, whole[0]], rtol=0, atol=EXACT)
    last = run.trainer.evaluate(40, 210)
    exact = train(Reference, often).trainer.evaluate(40, 210)
    np.testing.assert_allclose(last, exact, rtol=0, atol=EXACT)
    for c, (few, result) in enumerate(zip(plain.results(), run.results(), strict=True)):
        np.testing.assert_allclose(result.readout, few.readout, rtol=0, atol=EXACT)
        np.testing.assert_allclose(list(result.last.values()), last[:, c], rtol=0, atol=0)
        assert result.summary()["final_test_acc"] == last[0, c]
        assert few.summary()["final_test_acc"] == few.test_acc[-1]


@pytest.mark.parametrize("engine", ALL)
@pytest.mark.parametrize("fixed", [True, False])
def test_a_task_with_fixed_tests_shows_them_at_every_evaluation(engine, make_cell, monkeypatch, fixed):
    cells = [make_cell(gamma=g, seed=s) for g in (1.0, "lazy") for s in (0, 1)]
    monkeypatch.setattr(type(cells[0].task), "has_fixed_tests", fixed)
    trainer = engine(cells)
    trainer.train(0, 20)
    assert np.array_equal(*(trainer.evaluate(step, 64) for step in (20, 40))) == fixed
    assert np.array_equal(*(trainer.measures(step).activation_change for step in (20, 40))) == fixed


@pytest.mark.parametrize("engine", ALL)
def test_hidden_weights_are_those_that_the_measures_see(engine, make_cell):
    """Of any cell and any neurons in any order: what reference has, whose alignments and readouts belong to them."""
    cells = [make_cell(gamma=g, seed=s) for g in (1.0, "lazy") for s in range(2)]
    ours, theirs = train(engine, cells), train(Reference, cells)
    for c, neurons in ((0, [3]), (1, [31, 0, 7]), (3, [5, 4])):
        w, exact = (run.trainer.hidden_weights(c, np.array(neurons)) for run in (ours, theirs))
        assert w.shape == (len(neurons), cells[c].task.input_dim)
        np.testing.assert_allclose(w, exact, rtol=0, atol=EXACT)
        if not cells[c].task.has_two_halves:
            continue
        halves = w.reshape(len(neurons), 2, -1)
        cosine = (halves[:, 0] * halves[:, 1]).sum(1) / np.prod(np.linalg.norm(halves, axis=2), axis=1)
        np.testing.assert_allclose(cosine, ours.results()[c].alignment[neurons], rtol=0, atol=EXACT)


@pytest.mark.parametrize("engine", FAST)
def test_networks_that_share_their_data_differ_by_their_weights_alone(engine, make_cell):
    """In a pack, each is what reference makes of it alone."""
    seeds = [make_cell(seed=s, data_seed=7, gamma=g) for s in range(2) for g in (1.0, 0.1)]
    run = train(engine, seeds)
    for c, cell in enumerate(seeds):
        np.testing.assert_allclose(run.curves[:, c], train(Reference, [cell]).curves[:, 0], rtol=0, atol=EXACT)
    assert np.abs(run.curves[:, 0] - run.curves[:, 2]).max() > 1e-6


def test_batched_agrees_with_reference_under_noise(make_cell):
    cells = [make_cell(sigma2=s2, gamma=g) for s2 in (0.0, 0.5, 2.0) for g in (1.0, 0.1, "lazy")]
    np.testing.assert_allclose(train(Batched, cells).curves, train(Reference, cells).curves, rtol=0, atol=EXACT)


@pytest.mark.parametrize("engine", FAST)
@pytest.mark.parametrize("gamma", [1.0, 0.05, "lazy"])
def test_float32_keeps_its_digits_at_every_gamma(engine, make_cell, gamma):
    single, double = (train(engine, [make_cell(gamma=gamma, steps=200, eval_every=50, dtype=t)]) for t in ("float32", "float64"))
    # 200 roundings of relative size 6e-8 add up to 1e-5 at worst; the loss itself is of order 1.
    np.testing.assert_allclose(single.curves[0], double.curves[0], rtol=0, atol=2e-5)
    # One test example of 64 may lie so near the boundary that rounding moves it.
    np.testing.assert_allclose(single.curves[2], double.curves[2], rtol=0, atol=1 / 64 + 1e-12)


@pytest.mark.parametrize("engine", ALL)
def test_it_keeps_the_promises_of_training(engine, make_cell):
    """Again, alone, in another order and interrupted, beside networks of other gamma."""
    cells = [make_cell(gamma=g, seed=s) for g in (1.0, 0.3, "lazy") for s in (1, 2)]
    assert check_training([make_cell(gamma=0.3, seed=7), *cells], engine) == []


@pytest.mark.parametrize("engine", ALL)
def test_state_is_a_copy(engine, make_cell):
    cells = [make_cell()]
    run = PackRun(cells, engine(cells))
    run._train(10)
    state = run.state()
    kept = {k: v.copy() for k, v in state["trainer"].items()}
    run._train(10)
    for k, v in kept.items():
        np.testing.assert_array_equal(state["trainer"][k], v)


@pytest.mark.parametrize("engine", ALL)
def test_divergence_ends_its_cell_alone(engine, make_cell):
    wild = make_cell(gamma=1.0, base_lr=1e160, steps=40)
    calm = [make_cell(gamma=1.0, seed=s) for s in (1, 2)]
    run = train(engine, [calm[0], wild, calm[1]])
    results = run.results()
    assert [r.status for r in results] == ["ok", "diverged", "ok"]
    assert results[1].reason.startswith("loss became NaN or infinite at step ")
    assert 2 <= run.diverged_at[1] <= 20
    assert len(results[1].step) == 0
    assert results[1].summary()["best_test_acc"] is None
    undisturbed = train(engine, calm).curves
    np.testing.assert_allclose(run.curves[:, [0, 2]], undisturbed, rtol=0, atol=EXACT)


@pytest.mark.parametrize("engine", FAST)
@pytest.mark.parametrize("base_lr", [1e2, 1e6, 1e30])
def test_engines_see_divergence_at_the_same_step_in_float32(engine, make_cell, base_lr):
    cells = [make_cell(base_lr=base_lr, dtype="float32")]
    ours, reference = (train(e, cells).diverged_at[0] for e in (engine, Reference))
    # Where no pixel is negative a large rate may kill every neuron instead, and the loss stays where it is.
    assert reference > 0 or (engine.task is not None and base_lr < 1e30)
    assert (ours > 0) == (reference > 0)
    assert abs(ours - reference) <= 1  # where float32 overflows may depend on the order of a sum


@pytest.mark.parametrize("engine", ALL)
def test_a_pack_that_diverged_whole_is_done(engine, make_cell):
    run = train(engine, [make_cell(base_lr=1e160, steps=10_000)])
    assert run.done
    assert run.step < 10_000


@pytest.mark.parametrize("engine", ALL)
def test_time_slices_change_nothing(engine, make_cell):
    cells = [make_cell(gamma=g) for g in (1.0, "lazy")]
    sliced = PackRun(cells, engine(cells))
    while not sliced.done:
        sliced.advance(0.0)
    np.testing.assert_array_equal(sliced.curves, train(engine, cells).curves)


@pytest.mark.parametrize(("L", "d", "width"), [(2, 3, 1), (5, 8, 300), (9, 4, 512), (150, 6, 20)])
def test_gram_pads_to_no_effect(make_cell, L, d, width):
    """Symbols come in fours and neurons in chunks inside: neither shows, nor more symbols than a batch holds."""
    cells = [make_cell(L=L, d=d, width=width, gamma=g, steps=40, eval_every=20) for g in (1.0, "lazy")]
    ours, theirs = train(Gram, cells), train(Reference, cells)
    np.testing.assert_allclose(ours.curves, theirs.curves, rtol=0, atol=EXACT)
    for a, b in zip(ours.results(), theirs.results(), strict=True):
        np.testing.assert_allclose(a.alignment, b.alignment, rtol=0, atol=EXACT)


def test_distinct_pairs_hold_the_whole_batch():
    rng = np.random.default_rng(0)
    for n_symbols, batch in ((2, 1), (3, 16), (40, 128), (5000, 64)):
        u, v = rng.integers(0, n_symbols, (2, 20, batch))
        pairs, n_pairs, rows, n_rows = distinct_pairs(np.sort(u * n_symbols + v, axis=1), n_symbols)
        for t in range(20):
            found = [(i, j) for i, j, n in pairs[t, : n_pairs[t]] for _ in range(n)]
            assert sorted(found) == sorted(zip(u[t], v[t], strict=True))
            for s, drawn in enumerate((u, v)):
                assert sorted(rows[t, s, : n_rows[t, s]]) == sorted(set(drawn[t]))


@pytest.mark.parametrize("engine", GPU)
def test_no_wait_for_the_device_within_the_step_loop(engine, make_cell):
    cells = [make_cell(gamma=g, seed=s) for g in (1.0, "lazy") for s in (0, 1)]
    ours, twin = engine(cells), engine(cells)
    with warnings.catch_warnings():  # PyTorch calls the mode a prototype
        warnings.filterwarnings("ignore", "Synchronization debug mode")
        torch.cuda.set_sync_debug_mode("error")
    try:
        curves = ours.take(0, 34)  # whole blocks and a part of one
    finally:
        torch.cuda.set_sync_debug_mode("default")
    np.testing.assert_array_equal(curves.cpu().numpy(), twin.train(0, 34))


def test_float32_products_are_not_tf32():
    """It would keep 3 digits; no engine may turn it on, nor may PyTorch's default change unseen."""
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.backends.cuda.matmul.allow_tf32


def test_gram_refuses_what_it_cannot_train(make_cell):
    with pytest.raises(ValueError, match="noiseless same_different"):
        Gram([make_cell(sigma2=0.1)])


def test_engines_keep_the_interface():
    for engine in (Reference, Batched, Gram, Stacked):
        assert {name for name in vars(Trainer) if not name.startswith("_")} <= set(dir(engine))


def test_rich_learns_and_lazy_does_not(make_cell):
    """The point of it all, in one second: from 8 symbols a rich network generalises to new ones."""
    cells = [make_cell(L=8, d=32, width=256, gamma=g, steps=1500, eval_every=500, batch=128, test_size=1024, dtype="float32")
             for g in (1.0, "lazy")]  # fmt: skip
    rich, lazy = (r.summary()["best_test_acc"] for r in train(Gram, cells).results())
    assert rich > 0.93  # Eq. 3 says 0.998 after the paper's 25,000 steps
    assert lazy < 0.75


def test_truncated_initial_weights_make_networks_richer(make_cell):
    """[Tong25]'s code at d = 64, m = 1024, L = 4, gamma = 0.1: best accuracy .811, and .768 from normal weights."""
    cells = [
        make_cell(L=4, d=64, width=1024, gamma=0.1, initial=law, seed=s, steps=6000, eval_every=1000, batch=128, test_size=1024,
                  dtype="float32")
        for law in ("normal", "truncated") for s in range(8)
    ]  # fmt: skip
    accuracy = [[r.summary()["best_test_acc"] for r in train(Gram, own).results()] for own in (cells[:8], cells[8:])]
    # 6000 steps give .053; the eight pairs of a seed have a standard error of .007, and the gain at 25,000 steps is .04.
    assert np.subtract(*reversed(accuracy)).mean() > 0.02


def test_activation_change_depends_on_d_only_without_the_prefactor(make_cell):
    """[Tong25 Fig. F1]: with 1/sqrt(d) the curves for all d coincide; without it the change falls with d."""

    def change(d, prefactor):
        # Small gamma: early in training the change is the learning rule's own, before the loss saturates.
        cells = [
            make_cell(L=16, d=d, width=512, gamma=0.01, prefactor=prefactor, steps=200, eval_every=200, seed=s) for s in range(4)
        ]
        return np.mean([r.activation_change for r in train(Gram, cells).results()])

    with_it, without = ([change(d, prefactor) for d in (32, 128)] for prefactor in ("sqrt_d", "none"))
    assert with_it[1] / with_it[0] == pytest.approx(1, abs=0.25)  # four seeds, finite d; it is 0.97
    assert without[1] / without[0] == pytest.approx(0.5, abs=0.15)  # sqrt(32/128); it is 0.49


def as_on_card(cells) -> Batched:
    return Batched(cells, in_cache=False)


@pytest.mark.parametrize("gamma", [1.0, 100.0, 0.3, "lazy"])
def test_a_card_is_checked_before_it_trains(gamma, make_cell):
    """A right tensor program passes; one whose steps are of another length, or that takes none, does not."""
    cells = [make_cell(gamma=g, seed=s, dtype="float32", width=256, batch=128) for s, g in enumerate((1.0, gamma))]
    prove(cells, as_on_card, Batched)
    for factor in (1.5, 0.0, -1.0):

        def wrong(own, factor=factor) -> Batched:
            made = as_on_card(own)
            if own[0].seed == cells[-1].seed:
                made.nets.lr *= factor
            return made

        with pytest.raises(CardUnusable, match="computes other losses on this GPU than on the CPU"):
            prove(cells, wrong, Batched)


def test_a_network_that_diverges_at_once_is_no_fault_of_the_card(make_cell):
    prove([make_cell(base_lr=1e30, dtype="float32")], as_on_card, Batched)


@pytest.mark.parametrize("base_lr", [3.0, 5.0, 20.0])
def test_a_network_that_amplifies_roundings_is_no_fault_of_the_card(base_lr, make_cell):
    """Two right engines differ by any factor there."""
    cells = [make_cell(L=16, d=32, width=512, batch=128, base_lr=base_lr, seed=s, dtype="float32") for s in (0, 1)]
    prove(cells, as_on_card, Gram)


@pytest.mark.parametrize("engine", [Batched, Gram])
def test_what_is_left_of_a_diverged_network_is_no_result(engine, make_cell):
    """Alone it stops where it was seen to diverge, in a pack it trains on: its measures at the end would differ."""
    wild, calm = make_cell(base_lr=1e160), make_cell()
    for cells in ([wild], [wild, calm]):
        found = train(engine, cells).results()[0].summary()
        assert [found[k] for k in ("readout_ratio", "alignment_pos", "alignment_neg", "activation_change")] == [None] * 4


def test_a_task_derived_from_same_different_keeps_its_own_labels(make_cell):
    class Flipped(SameDifferent):
        def train_examples(self, rng, symbols, n):
            x, y = super().train_examples(rng, symbols, n)
            return x, ~y

    assert not ENGINES["gram"].trains(cell_of(Flipped(L=3, d=4), width=8, gamma=1.0, base_lr=0.1, seed=0))
    assert ENGINES["gram"].trains(make_cell())


def test_inputs_may_be_views_of_any_kind(make_cell):
    class Mirrored(SameDifferent):
        def train_examples(self, rng, symbols, n):
            x, y = super().train_examples(rng, symbols, n)
            return x[:, ::-1], y[::-1][::-1]

    cell = make_cell().model_copy(update={"task": Mirrored(L=5, d=16)})
    np.testing.assert_allclose(train(Batched, [cell]).curves, train(Reference, [cell]).curves, rtol=0, atol=EXACT)


@pytest.mark.parametrize(("patches", "patch_size", "width", "batch"), [(2, 2, 1, 8), (7, 2, 300, 128), (3, 5, 512, 33)])
def test_patches_pads_to_no_effect(make_cell, patches, patch_size, width, batch):
    """Pixels come in fours and neurons in chunks inside: neither shows, nor places that a batch leaves empty."""
    task = PSVRT(L=4, patches=patches, patch_size=patch_size)
    cells = [make_cell(task=task, width=width, batch=batch, gamma=g) for g in (1.0, "lazy")]
    np.testing.assert_allclose(train(Patches, cells).curves, train(Reference, cells).curves, rtol=0, atol=EXACT)


def test_patches_refuses_a_task_that_makes_its_own_images(make_cell):
    class Upside(PSVRT):
        name = "upside"

        def train_examples(self, rng, symbols, n):
            x, same = super().train_examples(rng, symbols, n)
            return x[:, ::-1], same

    cell = make_cell(task=Upside(L=4))
    assert not ENGINES["patches"].trains(cell) and not ENGINES["patches"].trains(make_cell())
    with pytest.raises(ValueError, match="two patches"):
        Patches([cell])
