"""The figures of anyone's own sweep, and the options of the command line that each takes; quick to import."""

CURVE, MAP, THRESHOLD, RESCALED, COMPARE = "curve", "map", "threshold", "rescaled", "compare"
_AXES = {"x", "y", "by", "where"}
OWN = {
    CURVE: {*_AXES, "panels", "centre", "log-x", "log-y", "seeds", "no-theory", "no-residuals", "no-intervals", "library"},
    MAP: {*_AXES, "centre"},
    THRESHOLD: {*_AXES, "panels", "of", "at"},
    RESCALED: {*_AXES, "of", "at", "exponent"},
    COMPARE: {*_AXES, "of", "at", "arms", "ratio"},
}
"""Options by figure, without their two hyphens."""
