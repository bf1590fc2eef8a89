"""A running sweep: driver, workers, progress, interrupts, summary. The name `orchestrator.run` is the function's."""
