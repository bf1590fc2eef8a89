"""Theory to set beside measurements, a room for each subject; every module begins with its notation."""
