"""How far sweeps are, and the pages that have something to show of them."""
