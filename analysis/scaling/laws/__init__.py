"""Measurements behind laws of training: exponents that no threshold gives."""
