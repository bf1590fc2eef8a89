"""Thresholds against sizes: exponents, bounds, collapse."""
