"""Theory for networks at equilibrium: energies of patterns of feature learning, and the large-deviation bound [Rubin25]."""
