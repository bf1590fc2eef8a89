"""Measurements along training and between measures, on networks whose answers are known by hand."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.lazy_to_rich.kinds import steps_exponent
from sweepkit.studies.power_law.kinds import envelope_exponent
from sweepkit.studies.samples.kinds import samples_exponent

from analysis.claims.check import check, load_claims
from analysis.claims.kinds import KINDS
from analysis.claims.kinds.along import curve_exponent
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.networks.evaluations import HALFWAY, first_within, in_words
from sweepkit.declarations.columns import Metric
from sweepkit.store.store import Store
from tests.store_rows import keys, row

CURVE = Metric("curve_d_lr", "laziness D_LR", "single", low=0, high=1, per="evaluation", on_request=True)
OF = {"task": "modular"}
LATE, EARLY = {"test_acc": {"at_least": 0.9}}, {"train_acc": {"at_least": 1}, "test_acc": {"at_most": 0.1}}


def network(n, d_lr, train, test, **own):
    """A network evaluated at steps 100, 200, 400, ...; no curve of D_LR where it is None."""
    steps = [100 * 2**i for i in range(len(test))]
    curves = {"curve_step": steps, "curve_train_acc": train, "curve_test_acc": test, "curve_train_loss": [0.1] * len(test)}
    whole = {"task": "modular", "L": None, "modulus": 13, "seed": n, **own}
    return row(n, **whole, **curves, **({"curve_d_lr": d_lr} if d_lr else {}))


def stored(folder, *rows, declared=(CURVE,)):
    store = Store(str(folder))
    store.commit("p", list(rows), [*keys(modulus="whole"), *declared])
    return store.results


@pytest.fixture
def grokking(tmp_path):
    """The second network generalises later; the third one never does."""
    return stored(
        tmp_path,
        network(0, [0.9, 0.8, 0.4, 0.2], [0.5, 1, 1, 1], [0, 0.05, 0.5, 1]),
        network(1, [0.9, 0.7, 0.4, 0.3], [1, 1, 1, 1], [0, 0.2, 0.3, 0.95]),
        network(2, [0.9, 0.8, 0.8, 0.8], [1, 1, 1, 1], [0, 0, 0, 0]),
    )


def test_the_first_evaluation_within_bounds():
    frame = pd.DataFrame(
        {"cell_id": list("aaabbb"), "step": [1, 2, 3] * 2, "x": [0, 1, 0, 0, 0, 0], "y": [8.0, 3.0, 2.0, 1.0, 5.0, 7.0]}
    )
    assert first_within(frame, {"x": {"at_least": 1}})["step"].to_dict() == {"a": 2}  # b has none
    assert first_within(frame, {"x": {"at_most": 0}, "y": {"at_most": 5, "at_least": 1.5}})["step"].to_dict() == {"a": 3, "b": 2}
    # a: (8 + 2)/2 = 5; b: (1 + 7)/2 = 4
    assert first_within(frame, {"y": {"at_most": HALFWAY}})["step"].to_dict() == {"a": 2, "b": 1}
    assert first_within(frame, {"y": {"at_least": HALFWAY}})["step"].to_dict() == {"a": 1, "b": 2}
    assert in_words({"x": {"at_least": 1}, "y": {"at_most": HALFWAY}}) == "x ≥ 1 and y ≤ halfway"


def test_a_value_where_bounds_first_hold(grokking):
    found = KINDS["at_first"](grokking, measure="curve_d_lr", when=EARLY, of=OF)
    assert found.interval.value == pytest.approx((0.8 + 0.9 + 0.9) / 3) and found.interval.n == 3
    assert "step 100 (median), with train_acc ≥ 1 and test_acc ≤ 0.1" in found.what and found.what.endswith("3 networks")
    late = KINDS["at_first"](grokking, measure="curve_d_lr", when=LATE, of=OF)
    assert late.interval.value == pytest.approx((0.2 + 0.3) / 2) and late.interval.n == 2
    assert late.what.endswith("3 networks, 1 of them without such evaluations")
    assert late.again.replaced["seed"] == "range(6)"
    fall = KINDS["at_first"](grokking, measure="curve_d_lr", when=LATE, since=EARLY, of=OF)
    assert fall.interval.value == pytest.approx(((0.2 - 0.8) + (0.3 - 0.9)) / 2)
    assert "at step 800 (median)" in fall.what and "minus that at step 150 (median)" in fall.what
    never = KINDS["at_first"](grokking, measure="curve_d_lr", when={"train_acc": {"at_most": 0.1}}, of=OF)
    assert isinstance(never, NotMeasured) and "3 of them without such evaluations" in never.why


def test_steps_are_a_measure_along_training_too(grokking):
    change = {"when": {"step": {"at_least": 300}}, "since": {"step": {"at_least": 1}}}
    found = KINDS["at_first"](grokking, measure="curve_d_lr", of=OF, **change)
    assert found.interval.value == pytest.approx(np.mean([0.4 - 0.9, 0.4 - 0.9, 0.8 - 0.9]))


def test_the_ratio_of_two_steps_is_a_geometric_mean(grokking):
    found = KINDS["steps_ratio"](
        grokking, when={"curve_d_lr": {"at_most": HALFWAY}}, before={"test_acc": {"at_least": 0.5}}, of=OF
    )
    # D_LR is halfway at 400 (0.55) and 400 (0.6), half of the test is right at 400 and 800.
    assert found.interval.value == pytest.approx(np.sqrt(400 / 400 * 400 / 800)) and found.interval.n == 2
    assert "1 of them without such evaluations" in found.what


def test_equal_ratios_are_known_to_the_distance_of_evaluations(tmp_path):
    alike = [network(n, [0.8, 0.2, 0.2], [1, 1, 1], [0, 0, 1]) for n in range(5)]
    found = KINDS["steps_ratio"](
        stored(tmp_path, *alike), when={"curve_d_lr": {"at_most": HALFWAY}}, before={"test_acc": {"at_least": 0.5}}, of=OF
    )
    assert found.interval.low < found.interval.value - 0.05 and found.interval.high > found.interval.value + 0.05


def test_networks_without_such_curves_do_not_stand_before_those_that_have_them(tmp_path):
    curve = ([1, 1], [0, 1])
    rich = [network(n, [0.5 + n / 100, 0.2], *curve) for n in range(2)]
    others = [network(10 + n, None, *curve, seed=n, width=512) for n in range(5)]
    found = KINDS["at_first"](stored(tmp_path, *rich, *others), measure="curve_d_lr", when=EARLY, of=OF)
    assert found.interval.value == pytest.approx(0.505) and found.interval.n == 2


def test_a_store_without_the_curves_or_the_keys_says_so(tmp_path):
    claims = {claim.id: claim for claim in load_claims()}
    results = stored(tmp_path, network(0, None, [1, 1], [0, 1]), declared=())
    (one,) = check(results, [claims["grok-order"]])
    assert one.verdict == "open" and "no network of the store has curve_d_lr" in one.why
    with_curves = stored(tmp_path / "curves", network(0, [0.5, 0.2], [1, 1], [0, 1]))
    found = KINDS["at_first"](with_curves, measure="curve_d_lr", when=EARLY, of={"no_such_key": 1})
    assert isinstance(found, NotMeasured) and "no_such_key" in found.why


@pytest.mark.parametrize(
    ("measure", "name"),
    [
        ("{kind: at_first, measure: final_test_acc, of: {}, when: {test_acc: {at_least: 1}}}", "final_test_acc"),
        ("{kind: at_first, measure: test_acc, of: {}, when: {tran_acc: {at_least: 1}}}", "tran_acc"),
        ("{kind: difference_of_measures, measure: final_test_acc, minus_measure: d, of: {}}", "d"),
    ],
)
def test_a_metric_that_no_such_measurement_has_is_told_when_read(tmp_path, measure, name):
    path = tmp_path / "claims.yaml"
    path.write_text(
        f"claims: [{{id: mine, topic: t, source: s, says: x, measure: {measure}, expected: {{at_least: 1}}, because: y}}]"
    )
    with pytest.raises(ValueError, match=f"claim mine: measure: unknown measure '{name}'; there are"):
        load_claims(path)


def test_the_difference_of_two_measures_is_of_the_same_network(tmp_path):
    one, other = [0.9, 0.8, 0.7, None], [0.5, 0.5, None, 0.1]
    rows = [row(n, seed=n, L=3, best_test_acc=a, final_test_acc=b) for n, (a, b) in enumerate(zip(one, other, strict=True))]
    given = {"measure": "best_test_acc", "minus_measure": "final_test_acc"}
    results = stored(tmp_path, *rows)
    found = KINDS["difference_of_measures"](results, of={"task": "same_different"}, **given)
    assert found.interval.value == pytest.approx((0.4 + 0.3) / 2) and found.interval.n == 2
    assert isinstance(KINDS["difference_of_measures"](results, of={"task": "psvrt"}, **given), NotMeasured)


def turned(folder, middle, last):
    """Accuracies 0.5, `middle` and `last` at three gamma, with seeds 0.01 apart."""
    at = {"0.1": 0.5, "1": middle, "10": last}
    rows = [
        row(10 * i + n, seed=n, L=3, gamma=float(g), gamma_label=g, best_test_acc=acc + 0.01 * n * (i == 1))
        for i, (g, acc) in enumerate(at.items())
        for n in range(3)
    ]
    return KINDS["turn"](stored(folder, *rows), measure="best_test_acc", of={"task": "same_different"}, over="gamma")


def test_a_turn_is_the_product_of_two_changes(tmp_path):
    up = turned(tmp_path / "up", 0.7, 0.9)  # changes of 0.21 and 0.19
    assert up.interval.value == pytest.approx(0.21 * 0.19) and up.interval.low > 0 and up.interval.n == 3
    down = turned(tmp_path / "down", 0.7, 0.6)  # 0.21 and -0.11
    assert down.interval.value == pytest.approx(0.21 * -0.11) and down.interval.high < 0
    # t(2) at 1 - 0.025/2 is 6.2053; the standard error 0.01/sqrt(3)
    half = 6.2053 * 0.01 / np.sqrt(3)
    assert down.interval.low == pytest.approx((0.21 + half) * (-0.11 - half), rel=1e-4)
    assert down.interval.high == pytest.approx((0.21 - half) * (-0.11 + half), rel=1e-4)
    level = turned(tmp_path / "level", 0.7, 0.71)  # 0.21 and 0: nothing is known of its direction
    assert level.interval.low < 0 < level.interval.high


def test_a_turn_needs_three_values(tmp_path):
    rows = [
        row(10 * i + n, seed=n, L=3, gamma=g, gamma_label=f"{g:g}", best_test_acc=0.5)
        for i, g in enumerate((0.1, 1.0))
        for n in (0, 1)
    ]
    found = KINDS["turn"](stored(tmp_path, *rows), measure="best_test_acc", of={"task": "same_different"}, over="gamma")
    assert isinstance(found, NotMeasured) and "networks of 2 gamma, where three are needed" in found.why


def test_a_value_that_rounding_puts_beyond_its_bound_is_measured(tmp_path):
    """An alignment of equal features may be stored as 1 + 2e-16."""
    rows = [row(n, seed=n, L=3, best_test_acc=np.nextafter(1, 2)) for n in range(3)]
    found = KINDS["mean"](stored(tmp_path, *rows), measure="best_test_acc", of={"task": "same_different"})
    assert isinstance(found, Measured) and found.interval.value == 1


def test_the_slope_of_a_curve_on_logarithmic_axes(tmp_path):
    steps = [1, 10, 100, 178, 316, 562, *range(1000, 10_001, 1000)]
    powers = {0: -0.3, 1: -0.4}
    store = Store(str(tmp_path))
    store.prepare()
    rows = []
    for seed, power in powers.items():
        curve = [9.0, 9.0, *(step**power for step in steps[2:])]  # another law before step 100
        rows.append(row(seed, L=3, seed=seed, curves=0, curve_step=steps, curve_train_loss=curve))
    rows.append(row(2, L=3, seed=2, curves=0, curve_step=[1000, 2000], curve_train_loss=[1.0, 1.0]))
    store.commit("p", rows)
    found = curve_exponent(store.results, "train_loss", {"L": 3}, first=100, last=10_000)
    assert found.interval.value == pytest.approx(-0.35) and found.interval.n == 2
    assert "1 of them without such evaluations" in found.what
    assert isinstance(curve_exponent(store.results, "train_loss", {"L": 3}, first=20_000, last=40_000), NotMeasured)


def found_late(folder, at, late=()):
    """Networks of three d and two seeds whose accuracy passes 0.9 after at(d) samples in batches of 32; those of `late` never."""
    rows = []
    for i, d in enumerate((10, 20, 40)):
        for seed in range(2):
            step = round(at(d) / 32)
            steps, reached = [1, step - 1, step, 10 * step], 0.5 if (d, seed) in late else 1.0
            curve = {"curve_step": steps, "curve_test_acc": [0, 0.5, reached, reached], "curve_train_loss": [1.0] * 4}
            rows.append(
                row(10 * i + seed, L=3, seed=seed, d=d, batch=32, base_lr=1 / d, steps=10 * step, eval_every=10 * step, **curve)
            )
    return stored(folder, *rows)


def test_the_exponent_of_samples_until_bounds_hold(tmp_path):
    of = {"task": "same_different", "L": 3}
    results = found_late(tmp_path / "all", lambda d: 3200 * (d / 10) ** 2)
    found = samples_exponent(results, when=LATE, of=of, zipped=["base_lr"])
    # Between two evaluations: step 99.5 for 100, which is 399.5 for 400.
    assert found.interval.value == pytest.approx(2, abs=0.01) and found.interval.n == 6
    assert "3.18e+03 at 10" in found.what and found.what.endswith("6 networks")
    late = found_late(tmp_path / "late", lambda d: 3200 * (d / 10) ** 2, late=[(20, 1)])
    lost = samples_exponent(late, when=LATE, of=of, zipped=["base_lr"])
    assert isinstance(lost, NotMeasured) and "never holds: 1 of 2 at d = 20" in lost.why
    few = samples_exponent(
        found_late(tmp_path / "end", lambda d: 3200.0 * d, late=[(40, 0)]), when=LATE, of=of, zipped=["base_lr"]
    )
    assert isinstance(few, NotMeasured) and "never holds: 1 of 2 at d = 40" in few.why  # two d are left
    none = samples_exponent(results, when=LATE, of={"task": "psvrt"}, zipped=["base_lr"])
    assert isinstance(none, NotMeasured)


def envelopes(tmp_path, sizes=(4, 8, 16, 32, 64), seeds=(0, 1), without=()):
    """Errors t^-1/2 + 1/N, by seed and width."""
    steps = np.unique(np.geomspace(1, 10_000, 120).round().astype(int)).tolist()
    store = Store(str(tmp_path))
    store.prepare()
    rows = []
    for seed in seeds:
        for n in sizes:
            if (seed, n) not in without:
                curve = [float(step**-0.5 + 1 / n) for step in steps]
                rows.append(row(1000 * seed + n, L=3, seed=seed, width=n, curves=0, curve_step=steps, curve_train_loss=curve))
    store.commit("p", rows)
    return store.results


def test_the_exponent_of_the_lower_envelope_over_sizes(tmp_path):
    store = envelopes(tmp_path, without={(1, 64)})
    given = {"measure": "train_loss", "of": {"L": 3}, "over": "width", "first": 300, "last": 20_000}
    error, size = envelope_exponent(store, **given), envelope_exponent(store, **given, of_size=True)
    # The least of sqrt(N/C) + 1/N is 3 (4 C)^(-1/3) at N = (4 C)^(1/3); doubled sizes miss it by a percent.
    assert error.interval.value == pytest.approx(-1 / 3, abs=0.01) and error.interval.n == 1, "the seed without a size counts"
    assert size.interval.value == pytest.approx(1 / 3, abs=0.02)
    assert isinstance(envelope_exponent(store, **{**given, "last": 10**7}), NotMeasured)


def test_the_exponent_of_a_step_and_of_a_ratio_of_steps(tmp_path):
    """Test errors fall at step 100 L^2, training losses at 50 L^2 or, with seed 1, at 50 L^1."""
    store = Store(str(tmp_path))
    store.prepare()
    rows, every = [], [1, *(50 * n for n in range(1, 65))]
    for seed, power in ((0, 2), (1, 1), (2, 2)):
        for n, L in enumerate((2, 4)):
            falls = {"curve_test_mse": 100 * L**2, "curve_train_loss": 50 * L**power}
            curves = {name: [0.5 if step < at else 0.1 for step in every] for name, at in falls.items()}
            if seed == 2 and L == 4:
                curves["curve_test_mse"] = [0.5] * len(every)
            rows.append(row(10 * seed + n, L=L, seed=seed, curves=0, curve_step=every, **curves))
    store.commit("p", rows)
    test, train = {"eval_test_mse": {"at_most": 0.1}}, {"train_loss": {"at_most": 0.1}}
    of = {"task": "same_different"}
    alone = steps_exponent(store.results, test, of, "L")
    assert isinstance(alone, Measured) and alone.interval.value == pytest.approx(2)
    ratio = steps_exponent(store.results, test, of, "L", before=train)
    assert isinstance(ratio, Measured) and "1 networks left out" in ratio.what and "over that at which train_loss" in ratio.what
    # Ratios are 2, 4 and 2 at L = 2, then 2 and 8: logarithms to base 2 of 4/3 and 2 on average.
    assert ratio.interval.value == pytest.approx(2 - 4 / 3)
    none = steps_exponent(store.results, {"eval_test_mse": {"at_most": 0.01}}, of, "L")
    assert isinstance(none, NotMeasured)
