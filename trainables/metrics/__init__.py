"""The metrics that a grid may ask for by `save:`. Adding one: a file of its own here, and its name in the lines below."""

from trainables.metrics import balance, error_terms, identities, modes, outputs, richness, sharpness
from trainables.metrics.base import (
    Group,
    Probe,
    Requested,
    metric,
    metric_groups,
    register,
    register_group,
    requested_metric,
    requested_names,
)

for _metric in (
    *richness.METRICS, *richness.CURVE, identities.identity_qk_mean, identities.identity_vo_mean, balance.balance_drift,
    outputs.output, *sharpness.METRICS, *modes.METRICS, *error_terms.METRICS,
):  # fmt: skip
    register(_metric)
for _group in (*richness.GROUPS, sharpness.GROUP, modes.GROUP, error_terms.GROUP):
    register_group(_group)

__all__ = [
    "Group", "Probe", "Requested", "metric", "metric_groups", "register", "register_group", "requested_metric", "requested_names",
]  # fmt: skip
