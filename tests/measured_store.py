"""A store of synthetic same-different networks whose accuracies follow known laws, for tests of what reads measurements."""

from pathlib import Path
from typing import Any

import numpy as np
from sweepkit.studies.tong25.theory.rich import test_accuracy as eq3

from sweepkit.store.store import Store
from tests.store_rows import row

SEEDS = 6
SPREAD = 0.004
"""Standard deviation over seeds."""
LAZY_EXPONENT = 1.5
SETTING = {"width": 1024, "steps": 25000, "batch": 128, "eval_every": 1000, "test_size": 1024, "base_lr": 0.1, "dtype": "float32"}


def lazy_threshold(d: int) -> float:
    """L at which the lazy networks of this store have accuracy 0.85."""
    return float(0.4 * d**LAZY_EXPONENT)


def lazy_accuracy(n_symbols: float, d: int) -> float:
    """Rises from 1/2 to 1 over log L."""
    steepness = 1.5
    at_level = np.log(0.7 / 0.3)  # 0.85 = 1/2 + 0.7/2
    return float(0.5 + 0.5 / (1 + np.exp(-steepness * np.log(n_symbols / lazy_threshold(d)) - at_level)))


def measured_rows() -> list[dict[str, Any]]:
    """Rich (Eq. 3, no d), lazy (threshold ~ d^1.5), noisy, and activation changes ~ gamma."""
    rng = np.random.default_rng(0)
    found: list[dict[str, Any]] = []

    def add(accuracy: float, **keys: Any) -> None:
        for seed in range(SEEDS):
            value = float(np.clip(accuracy + SPREAD * rng.standard_normal(), 0, 1))
            whole = {"sigma2": 0.0, "prefactor": "sqrt_d", **SETTING, **keys}
            measures = {"best_test_acc": value, "final_test_acc": value - 0.01, "readout_ratio": 1.5, "alignment_pos": 0.95,
                        "alignment_neg": -0.95, "activation_change": 0.5 * whole["gamma"] * (1 + 0.01 * seed)}  # fmt: skip
            found.append(row(len(found), seed=seed, **(whole | measures)))

    for d in (64, 128, 256):
        for n_symbols in (2, 3, 4, 5, 8):
            add(float(eq3(n_symbols)), L=n_symbols, d=d, gamma=1.0, gamma_label="1")
    for d in (16, 32, 64):
        for n_symbols in (8, 16, 32, 64, 128, 256, 512):
            add(lazy_accuracy(n_symbols, d), L=n_symbols, d=d, gamma=1e-5 / np.sqrt(d), gamma_label="lazy")
    for sigma2, accuracy in ((1.0, 0.98), (4.0, 0.78)):
        for n_symbols in (16, 256):
            add(accuracy, L=n_symbols, d=64, gamma=1.0, gamma_label="1", sigma2=sigma2)
    for gamma in (1e-4, 1e-3, 1e-2):
        add(0.6, L=16, d=128, gamma=gamma, gamma_label=f"{gamma:.6g}")
    return found


def measured_store(folder: Path, is_rich: bool = False) -> str:
    """The rows as a store of one sweep, `measured`; returns its directory. Planned beside them: one network that never ran.

    `is_rich`: the lazy networks and those at gamma = 1, of 8 symbols in 64 dimensions, have saved their richness."""
    store = Store(str(folder / "results"))
    store.prepare()
    rows = measured_rows()
    diverged = row(10**6, "diverged", **SETTING, L=3, d=64, sigma2=0.0, prefactor="sqrt_d", best_test_acc=None)
    neurons = {"neuron_readout": [1.0, -1.5, 0.5], "neuron_alignment": [0.9, -0.9, 0.8]}
    rows[0] |= neurons  # L = 2
    rows[SEEDS] |= neurons  # L = 3
    declared = []
    if is_rich:
        from tests.rich_rows import RICH, rich

        declared = RICH
        for label, lead in (("1", 0.9), ("lazy", 0.3)):
            for cell in rows:
                if (cell["L"], cell["d"], cell["gamma_label"], cell["sigma2"]) == (8, 64, label, 0):
                    cell |= rich(lead)
    store.commit("measured", [*rows, diverged], declared)
    store.write_plan("measured", [*(r["cell_id"] for r in rows), diverged["cell_id"], "never-run"], whole=True)
    return store.results
