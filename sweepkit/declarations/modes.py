"""The modes that task `modes` may have, and the metrics along training of the share of each that is learnt."""

MOST_MODES = 4
MODES = tuple(f"curve_mode_{k}" for k in range(1, MOST_MODES + 1))
"""The metric of each mode, the strongest first."""
