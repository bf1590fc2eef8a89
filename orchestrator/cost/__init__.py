"""Costs of training: the cost model, the rates of this machine, and their measurement."""
