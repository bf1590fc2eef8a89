"""Names that analysis gives to statistics, which it shows beside the keys of networks: no key may have one of them."""

STATISTICS = ("n", "mean", "median", "sd", "low", "high", "diverged")
"""Columns of a frame of points beside its keys: number of seeds, their mean, median and standard deviation, the ends of the 95%
interval, and the number of diverged networks."""
SEEDS = "seeds"
"""A further column of groups, which have no interval yet: the list of values, where they are enough for a bootstrap."""
SHOWN = ("value", "point", "theory", "threshold", "residual")
"""Columns of frames that hold theory, thresholds and residuals."""
