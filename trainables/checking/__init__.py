"""What a user's tasks, networks and metrics return, looked at before anything trains.

The generators here are fresh ones, so no result depends on whether a part was checked. `network` and `metric` import torch,
`task` does not.
"""
