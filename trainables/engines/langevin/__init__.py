"""`langevin`: samples of the Bayesian posterior that Langevin training tends to [Rubin25 Sec. 2]."""
