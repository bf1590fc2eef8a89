"""All theories that can be set beside a measured point. A new theory needs a file `of_NAME.py` beside this one and a line
here."""

from analysis.overlays import of_lazy, of_linear_target, of_markov, of_ridge, of_same_different, of_templates

THEORIES = (
    *of_same_different.THEORIES,
    *of_lazy.THEORIES,
    *of_markov.THEORIES,
    *of_linear_target.THEORIES,
    *of_templates.THEORIES,
    *of_ridge.THEORIES,
)
"""The theories in the order in which legends list them."""
