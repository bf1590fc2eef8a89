"""The numbers of `acceptance` and `acceptance_images.yaml` beside the paper's. `make nightly` prints them.

The networks are those of evidence/, or of the store that `ACCEPTANCE_RESULTS` names; other sweeps may share it. Seed 0 is trained
anew and compared with what lies there.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from analysis.outcome.attained import attaining
from sweepkit.store.views import connect, fetch
from trainables.cell import cell_of
from trainables.streams import stream, stream_owner
from trainables.tasks import Pentomino
from trainables.tasks.images.pentomino import drawn_shapes

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1500)]


ROOT = Path(__file__).parents[1]
OF_THE_SWEEP = "from cells join plans using (cell_id) where sweep = 'acceptance' and status = 'ok'"
RATIOS = f"""select readout_ratio {OF_THE_SWEEP} and task = 'same_different' and sigma2 = 0
    and gamma_label = '1' and dtype = 'float32' and d = 512 and L = ?"""
IMAGES = """select gamma_label, seed, best_test_acc from cells join plans using (cell_id)
    where sweep = 'acceptance_images' and status = 'ok' and task = ? and L = ? and patches = ? order by gamma, seed"""
LAZY = f"select seed, dtype, best_test_acc {OF_THE_SWEEP} and gamma_label = 'lazy' and d = 16 and L = ? order by seed"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Seed 0 of both sweeps, trained by the code as it is."""
    results = str(tmp_path_factory.mktemp("acceptance"))
    for sweep in ("acceptance", "acceptance_images"):
        command = [sys.executable, "-m", "orchestrator.sweep", sweep, "seed=0", "--results", results]
        done = subprocess.run(command, cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE)
        assert done.returncode == 0, done.stdout
    return results


@pytest.fixture(scope="module")
def results():
    return os.environ.get("ACCEPTANCE_RESULTS") or str(ROOT / "evidence")


@pytest.fixture
def connection(results):
    with connect(results) as connection:
        yield connection


def test_networks_trained_anew_are_those_of_evidence(results, trained):
    rows = """select distinct cell_id, best_test_acc, readout_ratio, task <> 'same_different' and gamma >= 0.1
        from cells join plans using (cell_id)
        where sweep in ('acceptance', 'acceptance_images') and status = 'ok' and seed = 0"""
    anew, kept = ({row[0]: row[1:] for row in fetch(where, rows)} for where in (trained, results))
    assert len(anew) == 17 + 7 and anew.keys() <= kept.keys()
    for cell_id, (accuracy, ratio, amplifies) in anew.items():
        # Equal to the last digit on one kind of processor. Another one rounds otherwise, which rich networks on images amplify:
        # AMD EPYC beside Intel Xeon gave them up to 0.010 in accuracy, 10 of 1,024 examples, and 2.2% in the ratio; all others
        # 3e-6. Three times that still tells another seed or step size.
        assert accuracy == pytest.approx(kept[cell_id][0], abs=0.03 if amplifies else 0.002)
        assert ratio is kept[cell_id][1] is None or ratio == pytest.approx(kept[cell_id][1], rel=0.07 if amplifies else 1e-4)


def test_rich_accuracy_is_near_eq3(results):
    """By the best of 25 evaluations, as the paper's figure is drawn; the last weights lie up to 0.018 lower (`eq3-L3`)."""
    points = attaining(results, "acceptance").query("d == 256")
    for p in points.itertuples():
        print(f"L = {p.L:2d}: best {p.mean:.4f} ({p.low:.4f} to {p.high:.4f}, n = {p.n}), "
              f"last {p.last:.4f}, Eq. 3 {p.expected:.4f}, difference {p.difference:+.4f}")  # fmt: skip
    assert list(points.L) == list(range(2, 13))
    assert (points.n == 6).all()
    for p in points.itertuples():
        # Six seeds have a standard error of about 0.004 at L = 3; the rest is Eq. 3's own: it takes rho = 1.5 and infinite width.
        assert abs(p.difference) <= (0.02 if p.L == 2 else 0.03), p


@pytest.mark.parametrize(("n_symbols", "ratio", "tolerance"), [(32, 1.56, 0.15), (2, 1.0, 0.1)])
def test_readout_ratio(connection, n_symbols, ratio, tolerance):
    """|mean a-| / |mean a+| after training [Tong25 App. C.4]; the tolerance is the paper's +- and the error of ten runs."""
    rows = connection.execute(RATIOS, [n_symbols]).fetchnumpy()
    found = rows["readout_ratio"]
    error = found.std(ddof=1) / np.sqrt(len(found))
    print(f"L = {n_symbols}: readout ratio {found.mean():.3f}, standard error {error:.3f}, n = {len(found)}")
    assert len(found) == 10
    assert abs(found.mean() - ratio) <= tolerance


@pytest.mark.parametrize("n_symbols", [16, 32])
def test_lazy_float32_agrees_with_float64(connection, n_symbols):
    rows = connection.execute(LAZY, [n_symbols]).fetchall()
    single, double = (np.array([acc for _, t, acc in rows if t == dtype]) for dtype in ("float32", "float64"))
    spread = double.std(ddof=1)
    difference = np.abs(single - double).max()
    print(
        f"L = {n_symbols}: lazy float64 {double.mean():.4f}, seed spread {spread:.4f}, largest float32 - float64 {difference:.4f}"
    )
    assert len(single) == len(double) == 6
    assert double.mean() > 0.52  # above chance, so that agreement means something
    assert difference <= spread


@pytest.mark.parametrize(
    ("task", "n_symbols", "patches", "least"), [("psvrt", 256, 4, 0.05), ("psvrt", 256, 6, 0.15), ("pentomino", 10, 2, 0.15)]
)
def test_rich_networks_compare_images_better_than_lazy_ones(connection, task, n_symbols, patches, least):
    """The bounds were set for 10,000 steps and four seeds. A pair of networks shares symbols, weights and batches."""
    rows = connection.execute(IMAGES, [task, n_symbols, patches]).fetchall()
    rich, lazier = (np.array([accuracy for label, _, accuracy in rows if label == gamma]) for gamma in ("1", "0.01"))
    gain = rich - lazier
    print(
        f"{task}, L = {n_symbols}, {patches} patches: best {rich.mean():.3f} at gamma = 1, {lazier.mean():.3f} at 0.01, "
        f"gain {gain.mean():.3f}, standard error {gain.std(ddof=1) / len(gain) ** 0.5:.3f}"
    )
    assert len(rich) == len(lazier) == 6
    assert gain.mean() >= least


def held_out_sums(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of the two shapes that the network of this seed is tested on: the sum over their rotations."""
    cell = cell_of(Pentomino(L=16), width=512, gamma=0.1, base_lr=0.5, seed=seed)
    forms, first, count = drawn_shapes(cell.task.patch_size, 0.0)
    shapes = cell.task.draw_symbols(stream(stream_owner(cell), "symbols"))[16:]
    one, other = (forms[first[s] : first[s] + count[s]].mean(0) for s in shapes)
    return one, other


def test_pentomino_with_all_shapes_but_two(connection):
    """Networks that compare sums over rotations cannot tell shapes apart whose sums are equal, as of T and W, or of F and its
    mirror image: 17 of the 153 pairs. The first six seeds whose pair differs are those that the bound is for."""
    accuracy = {seed: best for _, seed, best in connection.execute(IMAGES, ["pentomino", 16, 2]).fetchall()}
    alike = {seed for seed in accuracy if np.array_equal(*held_out_sums(seed))}
    for seed, best in accuracy.items():
        print(f"pentomino, L = 16, seed {seed}: best {best:.3f}{', pair with equal sums over rotations' * (seed in alike)}")
    told_apart = [best for seed, best in accuracy.items() if seed not in alike][:6]
    print(
        f"mean {np.mean(told_apart):.3f} of six whose pair differs, {np.mean(list(accuracy.values())):.3f} of all {len(accuracy)}"
    )
    assert len(told_apart) == 6
    assert np.mean(told_apart) >= 0.85
    assert alike and all(accuracy[seed] < 0.6 for seed in alike)  # near chance: the best of ten evaluations lies above 1/2
