"""What keeps a results directory in order: check, compact, export, and a summary of what it holds."""
