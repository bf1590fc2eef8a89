"""`stacked`: any network that learns by descent, many at once."""
