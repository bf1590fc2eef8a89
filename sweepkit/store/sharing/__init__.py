"""Networks as runs of the trackers that people have: MLflow, Weights & Biases, TensorBoard.

`runs` says what a run is, and makes one of a network; `averages` makes one of the networks that differ in their seed only;
`selecting` reads them from a store. `destination` says what a tracker must be able to do, `to_*.py` hold one tracker each, and
`trackers` names them. `share` carries the runs over.
"""
