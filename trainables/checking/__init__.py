"""Checks of a user's tasks, networks, optimisers and metrics, made before anything trains.

The checks use random generators of their own, so no result depends on whether a part was checked. All of them but `task` import
torch.
"""
