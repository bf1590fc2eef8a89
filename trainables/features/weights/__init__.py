"""Weights of trained networks, from files of the user's."""
