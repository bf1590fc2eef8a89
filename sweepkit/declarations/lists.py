"""The lists that a grid can save of a network, in addition to the numbers of its row."""

LISTS = ("curves", "neurons", "weights")
"""Values at each evaluation; values of each hidden neuron; pictures of hidden weights and of examples."""
