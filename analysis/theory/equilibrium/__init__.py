"""Theory of networks sampled at equilibrium: when their neurons specialise, and how many samples that takes."""
