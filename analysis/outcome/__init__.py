"""The outcome of a sweep, which its end shows on the terminal: `python -m analysis.outcome` computes it."""
