"""Quantitative statements of the papers and of this project, which `analysis/claims*.yaml` list: each is measured in the store
and given a verdict."""
