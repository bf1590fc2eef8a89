"""Patterns of feature learning: least energies against their closed forms, exponents against the table of [Rubin25]."""

import numpy as np
import pytest
from sweepkit.studies.rubin25.theory.patterns import NETWORKS, exponents, least, wins


def pattern(network, name):
    return next(p for p in NETWORKS[network] if p.name == name)


TABLE = [
    ("2-layer erf, He_3", "GP", {"N": 1}, 3, {}),
    ("2-layer erf, He_3", "GFL", {"N": 2}, 9 / 4, {"D": 1 / 4}),
    ("2-layer erf, He_3", "specialisation", {"N": 2}, 3 / 2, {"M": 1 / 2}),
    ("2-layer erf, He_3", "specialisation", {"N": 1}, 1, {"M": 0}),
    ("2-layer erf, He_3, mean field", "GP", {"N": 1}, 4, {}),
    ("2-layer erf, He_3, mean field", "GFL", {"N": 1}, 7 / 4, {"D": 3 / 4}),
    ("2-layer erf, He_3, mean field", "specialisation", {"N": 1}, 3 / 2, {"M": 1 / 2}),
    ("3-layer erf, He_3", "GP-GP", {"N1": 1, "N2": 1}, 3, {}),
    ("3-layer erf, He_3", "GP-Sp.", {"N1": 9, "N2": 2}, 3 / 2, {"M2": 1 / 2}),
    ("3-layer erf, He_3", "Sp.-Mag.", {"N1": 1.5, "N2": 1.5}, 4 / 3, {"M1": 1 / 3, "b": 1 / 6}),
    ("CNN, linear", "GP", {"N": 0.5}, 1, {}),
    ("CNN, linear", "GFL", {"N": 0.5}, 3 / 4, {"D": 1 / 4}),
    ("2-layer ReLU, parity", "mu-specialisation", {"N": 2}, 3 / 2, {"mu": 1 / 4}),
    ("softmax attention, cubic", "GP", {"Lc": 1}, 4, {}),
    ("softmax attention, cubic", "specialisation", {"Lc": 1}, 2, {}),
]


@pytest.mark.parametrize(("network", "name", "growth", "energy", "at"), TABLE)
def test_exponents_are_those_of_the_table(network, name, growth, energy, at):
    found = exponents(pattern(network, name), growth)
    assert found.energy == pytest.approx(energy, abs=1e-9)
    assert found.at == pytest.approx(at, abs=1e-9)


def test_least_energies_are_the_closed_forms():
    d, N = 30.0, 900.0
    gfl = least(pattern("2-layer erf, He_3", "GFL"), {"d": d, "N": N})
    assert gfl.at["D"] == pytest.approx((3 * d**3 / N) ** 0.25, rel=1e-5)
    assert gfl.energy == pytest.approx(N * gfl.at["D"] + (d / gfl.at["D"]) ** 3, rel=1e-8)
    special = least(pattern("2-layer erf, He_3", "specialisation"), {"d": d, "N": N})
    assert (special.energy, special.at["M"]) == pytest.approx((2 * np.sqrt(N * d), np.sqrt(N / d)), rel=1e-5)
    three = least(pattern("3-layer erf, He_3", "Sp.-Mag."), {"d": 100.0, "N1": 1e4, "N2": 1e4})
    assert three.energy == pytest.approx(3 * (1e4 * 1e4 * 100) ** (1 / 3), rel=1e-6)  # three equal terms


def test_at_finite_size_the_exponent_is_approached():
    for name, exponent in (("GFL", 9 / 4), ("specialisation", 3 / 2)):
        low, high = (least(pattern("2-layer erf, He_3", name), {"d": d, "N": d**2}).energy for d in (1e4, 1e5))
        assert np.log10(high / low) == pytest.approx(exponent, abs=1e-3)


def test_there_is_no_less_than_one_neuron_nor_more_than_all():
    found = least(pattern("2-layer erf, He_3", "specialisation"), {"d": 100.0, "N": 4.0})
    assert found.at["M"] == pytest.approx(1)
    found = least(pattern("2-layer erf, He_3, mean field", "specialisation"), {"d": 4.0, "N": 100.0})
    assert found.at["M"] == pytest.approx(50)


def test_which_pattern_wins():
    """[Rubin25 App. E.1]: specialisation at N ~ d, lazy learning from N ~ d^5 on; in three layers a narrow first layer."""
    assert wins("2-layer erf, He_3", {"d": 100, "N": 100}) == "specialisation"
    assert wins("2-layer erf, He_3", {"d": 10, "N": 10**7}) == "GP"
    assert wins("3-layer erf, He_3", {"d": 100, "N1": 300, "N2": 10**6}) == "Sp.-Mag."
    assert wins("3-layer erf, He_3", {"d": 100, "N1": 10**9, "N2": 10**6}) == "GP-Sp."
    with pytest.raises(KeyError):
        least(pattern("2-layer erf, He_3", "GFL"), {"d": 10})
