"""Quantitative statements of the papers and of this project, which the files in `statements` list: each is measured in the store
and given a verdict."""
