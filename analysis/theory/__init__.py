"""Theory to set beside measurements, one module a regime, each opening with its notation."""
