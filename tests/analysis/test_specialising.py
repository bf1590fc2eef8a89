"""Neurons that specialise: what the bound asks for, figures and claims on stores where they follow known laws."""

import numpy as np
import pytest
from sweepkit.studies.rubin25.overlaps import by_chance
from sweepkit.studies.rubin25.theory.gaussian_process import lazy_alignment, less_lazy
from sweepkit.studies.rubin25.theory.large_deviation import aligned, n_specialised
from sweepkit.studies.rubin25.theory.parity import specialised as one_neuron
from sweepkit.studies.rubin25.theory.three_layers import gp_sp, sp_mag

from analysis.claims.check import check
from analysis.claims.entries import Claim
from analysis.claims.kinds import KINDS
from analysis.claims.verdict import NotMeasured
from analysis.figures.registry import FIGURES, Drawn, Missing
from sweepkit.store.store import Store
from tests.store_rows import row

WIDTHS = (16, 32, 64, 128, 256)
ALIGNED = {N: 0.6 - 0.02 * k for k, N in enumerate(WIDTHS)}
SD = 0.05
"""Standard deviation of the logarithm of a count, over seeds."""
KEYS = {"task": "he3", "network": "erf2", "scaling": "standard", "kappa": 0.1, "chains": 4, "L": None, "gamma": None, "P": 800,
        "gamma_label": None, "steps": 200, "test_size": 512, "dtype": "float32", "best_test_acc": None, "d": 16,
        "curves": 0}  # fmt: skip


def asked(alignment, N):
    """Neurons that the bound asks for at d = 16, P = 800, kappa = 0.1, less the lazy share."""
    return n_specialised(less_lazy(alignment, lazy_alignment(800, N, 16, 0.1)), N, 16)


def committed(tmp_path, rows):
    store = Store(str(tmp_path / "results"))
    store.prepare()
    store.commit("p", [row(i, **(KEYS | keys)) for i, keys in enumerate(rows)])
    return store.results


@pytest.fixture
def two_layers(tmp_path):
    """Networks with 0.9 of the neurons that the bound asks for."""
    rng, rows = np.random.default_rng(0), []
    for N, alignment in ALIGNED.items():
        for seed in range(4):
            count = 0.9 * asked(alignment, N) * np.exp(SD * rng.standard_normal())
            rows.append({"width": N, "seed": seed, "alignment_f": alignment, "n_specialised_1": count, "mixed": seed > 0})
    return committed(tmp_path, rows)


def drawn(results, name):
    found = FIGURES[name].draw(results, None)
    assert isinstance(found, Drawn), found
    found.chart.to_dict()
    return found


def test_without_alignment_the_bound_asks_for_the_priors_tail():
    # As alpha goes to 0 so does t, and the tilt with it: N P(|c| > 3 sd) = 64 x 0.0027 is left.
    assert n_specialised(1e-9, 64, 16) == pytest.approx(
        64 * 0.0026998, rel=0.007
    )  # a step of the grid, 0.002 prior sd, times the hazard 3.3


def test_the_bound_asks_for_the_second_peak():
    """Below the far peak is little but the prior's own tail: where the cut lies matters little."""
    found = aligned(1.0, 20, 80)
    assert n_specialised(1.0, 20, 80) == pytest.approx(n_specialised(1.0, 20, 80, beyond=4.0), abs=2 * 20 * 0.0027)
    assert 1 < n_specialised(1.0, 20, 80) < 4  # sqrt(N/d) = 1/2 up to a constant of order one
    assert np.trapezoid(found.density, found.overlap) == pytest.approx(1)


def test_outliers_stand_beside_the_bound(two_layers):
    found = drawn(two_layers, "Outliers")
    assert found.frame["width"].tolist() == list(WIDTHS)
    np.testing.assert_allclose(np.log(found.frame["mean"] / found.frame["bound"]), np.log(0.9), atol=4 * SD / 2)
    assert "20 networks, 5 of which did not mix, 4 seeds per point" in found.caption
    slope = np.polyfit(np.log(WIDTHS), np.log([asked(a, N) for N, a in ALIGNED.items()]), 1)[0]
    assert f"the bound's {slope:.2f}" in found.caption


def test_another_d_is_shown_at_the_samples_that_it_has(tmp_path):
    """neurons_he3 has more samples at larger d; networks of another ridge, at many P, do not enter."""
    rows = [
        {"d": d, "P": p, "width": N, "seed": seed, "alignment_f": 0.5, "n_specialised_1": 3.0 + seed, "mixed": True}
        for d, p, widths in ((16, 800, WIDTHS), (24, 1200, WIDTHS[:4]), (24, 600, WIDTHS[:1]))
        for N in widths for seed in range(2)
    ]  # fmt: skip
    searched = [row for row in rows if row["d"] == 16]  # at N = d, of which there is no curve over N
    rows += [row | {"kappa": 1.0, "P": p, "d": row["width"]} for row in searched for p in (64, 128, 256, 512, 1024)]
    frame = drawn(committed(tmp_path, rows), "Outliers").frame
    assert frame.groupby("d")["P"].unique().map(list).to_dict() == {16: [800], 24: [1200]}
    assert frame.groupby("d")["width"].nunique().to_dict() == {16: 5, 24: 4}


def test_the_claim_counts_them_against_the_bound(two_layers):
    of = {"task": "he3", "network": "erf2", "d": 16}
    measured = KINDS["specialised_beside_bound"](two_layers, of=of)
    assert measured.interval.low < 0.9 < measured.interval.high and measured.interval.n == 3, "seeds are what is independent"
    assert measured.interval.high - measured.interval.low < 4 * SD  # three means of five: t 4.3 x 2 x SD / sqrt(15)
    assert "15 networks, 5 more left out that did not mix" in measured.what
    few = KINDS["specialised_beside_bound"](two_layers, of=of | {"width": [16, 32]})
    assert isinstance(few, NotMeasured) and "fewer than 3 widths" in few.why


def test_three_layers_show_where_neurons_specialise(tmp_path):
    rows = [
        {"network": "erf3", "d": 10, "width": 64, "width1": n1, "seed": seed, "alignment_f": 0.4, "mixed": True,
         "n_specialised_1": n1 ** (1 / 3) + 0.01 * seed, "n_specialised_2": 0.2 + 0.01 * seed}
        for n1 in (8, 64, 512) for seed in range(3)
    ]  # fmt: skip
    found = drawn(committed(tmp_path, rows), "Layers")
    first = found.frame[found.frame["layer"] == "layer 1"]
    assert first["mean"].tolist() == pytest.approx([2.01, 4.01, 8.01])
    assert first["pattern"].tolist() == ["Sp.-Mag.", "Sp.-Mag.", "GP-Sp."]  # they cost the same near N1 = 110 at this alignment
    assert first["M1"].tolist() == pytest.approx([sp_mag(0.4, 10, n1, 64).M1 for n1 in (8, 64, 512)])
    assert "9 networks, 3 seeds per point" in found.caption
    assert f"{gp_sp(0.4, 10, 64).M2:.2g} (GP-Sp.) at N1 = 512" in found.caption


def test_the_claim_counts_the_first_layer_against_its_energy(tmp_path):
    """Twice as many as the energies ask for, and chance beside them; a seed that did not mix has ten times as many."""
    rng, aligned, widths = np.random.default_rng(0), 0.4, (16, 32, 64)
    said = {n1: sp_mag(aligned, 10, n1, 64).M1 for n1 in widths}
    rows = [
        {"network": "erf3", "d": 10, "width": 64, "width1": n1, "seed": seed, "alignment_f": aligned, "mixed": seed < 4,
         "n_specialised_1": by_chance(n1) + 2 * said[n1] * np.exp(SD * rng.standard_normal()) * (10 if seed == 4 else 1)}
        for n1 in widths for seed in range(5)
    ]  # fmt: skip
    of = {"task": "he3", "network": "erf3", "d": 10, "width": 64}
    of["width1"] = {"at_most": 64}
    measured = KINDS["layer_beside_energy"](committed(tmp_path, rows), of=of, layer=1)
    assert measured.interval.low < 2 < measured.interval.high and measured.interval.n == 4
    assert measured.interval.high - measured.interval.low < 2 * 4 * SD  # four means of three: 3.2 x 2 x 2 SD / sqrt(12)
    assert "12 networks, 3 more left out that did not mix" in measured.what
    few = KINDS["layer_beside_energy"](committed(tmp_path / "few", rows[:10]), of=of, layer=1)
    assert isinstance(few, NotMeasured) and "fewer than 3 first widths" in few.why


def test_the_claim_counts_the_second_layer_at_one_first_width(tmp_path):
    """Half as many as GP-Sp. asks for; what counts is the alignment of these networks, not of others."""
    rows = [
        {"network": "erf3", "d": 10, "width": 64, "width1": n1, "seed": seed, "alignment_f": aligned, "mixed": True,
         "n_specialised_2": by_chance(64) + share * gp_sp(aligned, 10, 64).M2 * (1 + 0.01 * seed)}
        for n1, aligned, share in ((256, 0.3, 0.5), (512, 0.5, 2)) for seed in range(3)
    ]  # fmt: skip
    of = {"task": "he3", "network": "erf3", "d": 10, "width": 64, "width1": 256}
    found = KINDS["layer_beside_energy"](committed(tmp_path, rows), of=of, layer=2)
    assert found.interval.value == pytest.approx(0.505) and found.interval.n == 3


def test_networks_that_did_not_mix_decide_nothing(tmp_path):
    """Twelve networks that contradict a claim did not mix, six that agree did: all together would contradict it."""
    expected = {"at_most": 3.3}
    claim = Claim.model_validate(
        {"id": "made", "topic": "Sample complexity", "source": "made", "says": "made", "because": "made", "expected": expected,
         "grid": "layers_he3",
         "measure": {"kind": "mean", "measure": "n_specialised_1", "of": {"task": "he3", "network": "erf3"}}}
    )  # fmt: skip
    rows = [
        {"network": "erf3", "d": 10, "width": 64, "width1": 256, "seed": seed, "alignment_f": 0.4, "mixed": seed < 6,
         "n_specialised_1": (0.7 if seed < 6 else 9.0) + 0.01 * seed}
        for seed in range(18)
    ]  # fmt: skip
    [found] = check(committed(tmp_path / "some", rows), [claim])
    assert found.verdict == "confirmed" and "6 networks, 12 more left out that did not mix" in found.measured.what
    [none] = check(committed(tmp_path / "none", rows[6:]), [claim])
    assert none.verdict == "open" and "0 networks, 12 more left out that did not mix" in none.why
    [all_of_them] = check(committed(tmp_path / "all", [row | {"mixed": True} for row in rows]), [claim])
    assert all_of_them.verdict == "contradicted"


def test_networks_without_a_logarithm_are_told(tmp_path):
    rows = [{"width": N, "seed": s, "alignment_f": 0.5, "n_specialised_1": float(s) * N**0.5, "mixed": True}
            for N in (16, 32, 64) for s in range(3)]  # fmt: skip
    of = {"task": "he3", "network": "erf2"}
    found = KINDS["slope"](committed(tmp_path, rows), measure="n_specialised_1", over="width", log=True, of=of)
    assert found.interval.value == pytest.approx(0.5) and "3 without a positive value left out" in found.what


def test_the_threshold_of_what_falls(tmp_path):
    rng = np.random.default_rng(4)
    rows = [
        {"d": d, "width": d, "P": p, "seed": s, "mixed": True,
         "test_mse": 1 - 0.1 * np.log(p / d) + 0.005 * rng.standard_normal()}
        for d in (16, 32, 64) for p in (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192) for s in range(3)
    ]  # fmt: skip
    law = {"level": 0.6, "measure": "test_mse", "over": "P", "of": {"task": "he3", "network": "erf2"}}
    found = KINDS["threshold_exponent"](committed(tmp_path, rows), **law, as_powers={"width": 1})
    # Three thresholds of sd 0.005 / sqrt(3) / 0.1 = 0.03 in log P over 1.4 in log d
    assert found.interval.value == pytest.approx(1, abs=0.1)


def test_one_width_is_no_figure(tmp_path):
    rows = [{"width": 16, "seed": s, "alignment_f": 0.5, "n_specialised_1": 2.0, "mixed": True} for s in range(3)]
    results = committed(tmp_path, rows)
    assert isinstance(FIGURES["Outliers"].draw(results, None), Missing)
    assert isinstance(FIGURES["Layers"].draw(results, None), Missing)


def cnn_rows(power):
    """Alignment crosses 1/2 at P = 5 d^power where N = sqrt(d); other widths, which must not enter, elsewhere."""
    rng = np.random.default_rng(1)
    for d in (16, 36, 64, 100):
        for width in (round(d**0.5), 3):
            for p in (8, 16, 32, 64, 128, 256, 512, 1024):
                for seed in range(3):
                    value = (
                        0.5
                        + 0.1 * np.log(p / (5 * d**power * (1 if width == round(d**0.5) else d)))
                        + 0.01 * rng.standard_normal()
                    )
                    keys = {"task": "linear", "network": "cnn", "d": d, "patch": round(d**0.5), "width": width, "P": p}
                    yield keys | {"seed": seed, "alignment_f": value, "mixed": True}


def test_keys_that_grow_as_a_power_are_one_law(tmp_path):
    results = committed(tmp_path, cnn_rows(0.75))
    law = {"level": 0.5, "measure": "alignment_f", "over": "P", "of": {"task": "linear", "network": "cnn"}}
    found = KINDS["threshold_exponent"](results, **law, as_powers={"width": 0.5, "patch": 0.5})
    # Four thresholds of sd 0.01 / sqrt(3) / 0.1 = 0.06 in log P over 1.8 in log d
    assert found.interval.value == pytest.approx(0.75, abs=0.15) and found.interval.low < 0.75 < found.interval.high
    assert "width = d^0.5" in found.what and "alignment_f 0.5" in found.what
    none = KINDS["threshold_exponent"](results, **law, as_powers={"width": 2})
    assert isinstance(none, NotMeasured) and none.why == "no networks with width = d^2"


def test_two_scalings_need_samples_in_a_ratio(tmp_path):
    rng = np.random.default_rng(2)
    rows = [
        {"scaling": scaling, "width": 16, "P": p, "seed": seed, "mixed": True,
         "alignment_f": 0.1 + 0.1 * np.log(p / at) + 0.005 * rng.standard_normal()}
        for scaling, at in (("standard", 200), ("mean_field", 600))
        for p in (64, 128, 256, 512, 1024, 2048) for seed in range(4)
    ]  # fmt: skip
    found = KINDS["threshold_ratio"](
        committed(tmp_path, rows), level=0.1, over="P", measure="alignment_f", of={"task": "he3", "network": "erf2"},
        a={"scaling": "mean_field"}, b={"scaling": "standard"},
    )  # fmt: skip
    assert found.interval.low < 3 < found.interval.high < 4


@pytest.fixture
def on_parity(tmp_path):
    """Magnitudes 5% above those of one neuron, P = 32 sqrt(N d)."""
    rng = np.random.default_rng(3)
    rows = [
        {"task": "parity2", "network": "relu2", "loss": "cross_entropy", "kappa": 1.0, "width": N, "seed": seed, "mixed": True,
         "P": round(32 * (16 * N) ** 0.5), "alignment_f": 2.3,
         "magnitude_1": 1.05 * one_neuron(16, N, round(32 * (16 * N) ** 0.5)).magnitude * np.exp(0.01 * rng.standard_normal())}
        for N in WIDTHS for seed in range(4)
    ]  # fmt: skip
    return committed(tmp_path, rows)


def test_magnitudes_stand_beside_one_neuron(on_parity):
    found = drawn(on_parity, "Magnitude")
    assert found.frame["width"].tolist() == list(WIDTHS)
    np.testing.assert_allclose(np.log(found.frame["mean"] / found.frame["theory"]), np.log(1.05), atol=4 * 0.01 / 2)
    assert (
        "loss = cross_entropy" in found.caption
        and "20 networks" in found.caption
        and "one neuron's theory 0.210" in found.caption
    )


def test_claims_tell_the_law_of_parity_from_one_neurons(on_parity):
    of = {"task": "parity2", "network": "relu2", "loss": "cross_entropy", "d": 16}
    beside = KINDS["magnitude_beside_one_neuron"](on_parity, of=of)
    assert beside.interval.low < 0 < beside.interval.high < 0.01  # t 2.1 x 0.01 / sqrt(20) / 0.98, the spread of log N
    law = KINDS["slope"](on_parity, measure="magnitude_1", over="width", log=True, growing={"P": 0.5}, of=of)
    assert law.interval.high < 0.22  # and so below 1/4
    alone = KINDS["slope"](on_parity, measure="magnitude_1", over="width", log=True, of=of)
    assert isinstance(alone, NotMeasured)  # at one P there is one width


def test_a_search_for_samples_is_no_part_of_the_law(on_parity):
    of = {"task": "parity2", "network": "relu2", "loss": "cross_entropy", "d": 16}
    arguments = {"measure": "magnitude_1", "over": "width", "log": True, "growing": {"P": 0.5}, "of": of}
    beside, law = KINDS["magnitude_beside_one_neuron"](on_parity, of=of), KINDS["slope"](on_parity, **arguments)
    store = Store(on_parity)
    searched = [  # the search of parity, of networks that differ in P alone: neurons that chance takes beyond 3
        row(1000 + i, **(KEYS | {"task": "parity2", "network": "relu2", "loss": "cross_entropy", "kappa": 1.0, "width": N, "P": p,
                                 "mixed": True, "seed": 9, "alignment_f": 0.1, "magnitude_1": 3.2 / 16**0.5}))
        for i, (N, p) in enumerate((N, p) for N in WIDTHS for p in (64, 90, 128, 181, 256))
    ]  # fmt: skip
    store.commit("q", searched)
    assert KINDS["magnitude_beside_one_neuron"](on_parity, of=of).interval == beside.interval
    assert KINDS["slope"](on_parity, **arguments).interval == law.interval
    assert drawn(on_parity, "Magnitude").frame["width"].tolist() == list(WIDTHS)
