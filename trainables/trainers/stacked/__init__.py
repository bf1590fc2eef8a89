"""Training of any network that descends a gradient, many at once."""
