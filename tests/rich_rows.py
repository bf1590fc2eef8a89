"""Columns of rows of networks whose grid saved richness, with spectra that follow a rule; nothing is trained."""

from pathlib import Path
from typing import Any

from sweepkit.store.store import Store
from tests.store_rows import row
from trainables.metrics.richness import CURVE, METRICS

RICH = [one.metric for one in (*METRICS, *CURVE)]
"""Their declarations, for `Store.commit`."""
K = 12
"""Eigenfunctions of each network."""


def rich(lead: float, classes: int = 0, curves: int = 3) -> dict[str, Any]:
    """The first C eigenfunctions (2 for one output) hold the share `lead` of the output, each as much, and half as much of the
    target; the others share the rest evenly. Eigenvalues fall as 10^(1-k)."""
    first = classes or 2
    shares = [lead / first] * first + [(1 - lead) / (K - first)] * (K - first)
    found: dict[str, Any] = {
        "d_lr": 1 - lead, "d_eff_rho": 3.0, "pi_hat_C": lead, "pi_target_C": lead / 2, "rho": [10.0**-k for k in range(K)],
        "utilisation": shares, "quality": [share / 2 for share in shares],
        "curve_d_lr": [None, *(1 - lead * i / curves for i in range(1, curves))], "curve_d_eff": [4.0] * curves,
    }  # fmt: skip
    found |= {"d_lr_rank": classes - 1.0, "nc1": 0.5} if classes else {}
    return found | {"measured": list(found)}


def rich_store(folder: Path) -> str:
    """Its directory. Sweep `rich` has two seeds at gamma = 1, lazy and 0.1; sweep `plain` a network that saved no richness, and
    `last` one that saved it at the end of training only, and whose features have not changed, but for rounding."""
    store = Store(str(folder / "results"))
    of_rich = [
        row(10 * i + seed, L=3, gamma=gamma, gamma_label=label, seed=seed, final_test_acc=right, **rich(lead - 0.1 * seed))
        for i, (gamma, label, lead, right) in enumerate([(1.0, "1", 0.9, 0.95), (1e-6, "lazy", 0.3, 0.6), (0.1, "0.1", 0.6, 0.8)])
        for seed in range(2)
    ]  # fmt: skip
    alone = {name: value for name, value in rich(0.5).items() if not name.startswith("curve_")}
    last = row(31, L=5, s_init=1 + 2e-16, **alone | {"measured": ["d_lr", "rho"]})
    store.commit("rich", [*of_rich, row(30, L=4), last], RICH)
    for sweep, cells in (("rich", of_rich), ("plain", [row(30)]), ("last", [last])):
        store.write_plan(sweep, [cell["cell_id"] for cell in cells], whole=True)
    return store.results
