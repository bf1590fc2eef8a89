"""Single networks: lists of them, what they saved, their training as far as it has come, and why some failed."""
