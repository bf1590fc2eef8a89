"""Charts of single networks: what they saved, what they see, and their training."""
