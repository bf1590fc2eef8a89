"""SQL that users type, run within limits."""
