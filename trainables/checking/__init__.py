"""Checks of a user's tasks, networks and metrics, made before anything trains.

The checks use random generators of their own, so no result depends on whether a part was checked. `network` and `metric` import
torch, `task` does not.
"""
