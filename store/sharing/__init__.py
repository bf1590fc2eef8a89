"""Networks as runs of the trackers that people have: MLflow, Weights & Biases, TensorBoard.

`runs` makes a run of each network, or of the networks that differ in their seed only. `destination` says what a tracker must be
able to do, and `to_*.py` hold one tracker each. `share` carries the runs over.
"""
