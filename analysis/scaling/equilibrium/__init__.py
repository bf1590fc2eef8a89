"""Thresholds and alignment at equilibrium: the bound, overlaps, the map of patterns."""
