"""Theory for networks on same-different: rich ones, lazy ones, and the Markov process of one hidden neuron [Tong25]."""

from . import of_lazy, of_markov, of_same_different

EXPECTED = of_same_different.expected
THEORIES = (*of_same_different.THEORIES, *of_lazy.THEORIES, *of_markov.THEORIES)
