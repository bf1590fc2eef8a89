"""Posteriors as the sampler sees them: numbers u to move, and their energy U(u)."""
