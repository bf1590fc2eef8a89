"""Networks that read strings of tokens."""
