"""Inputs that are read or computed once and kept on disk: images, and a network's activations on them."""
