"""Quantitative statements of the papers and of this project, which files of claims list: each is measured in the store
and given a verdict."""
