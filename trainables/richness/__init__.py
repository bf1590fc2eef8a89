"""How rich a network's features are, from features and outputs alone [Nam26]: numpy arrays in, numbers out.

Throughout, features are (n, p), outputs and targets (n, C), and `share` (n,) are the shares of the inputs in a sample, which add
up to 1: an input that the sample holds often needs to be evaluated once. All sums are in float64.
"""
