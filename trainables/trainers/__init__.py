"""Trainers take the steps of a pack. `reference` is the tests' oracle; `batched` trains the paper's network on any labels, `gram`
and `patches` train it exactly on special inputs, and `stacked` trains any network that descends a gradient. `card` holds what
training on a GPU needs."""
