"""A sweep under way: driver, workers, progress, interrupts, summary."""
