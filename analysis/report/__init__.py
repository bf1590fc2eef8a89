"""One HTML file of everything that a store says beside the theory."""
