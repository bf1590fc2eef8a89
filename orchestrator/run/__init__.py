"""A running sweep: driver, workers, progress, interrupts, summary."""
