"""Theory to set beside measurements: one module per regime; each begins with its notation."""
