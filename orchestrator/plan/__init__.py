"""Packs, forecasts, and what is announced before the start."""
