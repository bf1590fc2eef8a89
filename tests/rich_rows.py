"""Columns of rows of networks whose grid saved richness, with spectra that follow a rule; nothing is trained."""

from typing import Any

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
