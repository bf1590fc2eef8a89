"""`reference` and `batched`: the two-layer network by dense products; the first is the tests' oracle."""
