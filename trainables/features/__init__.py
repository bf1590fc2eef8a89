"""Inputs that are read or computed once and kept on disk: images, and what a network makes of them."""
