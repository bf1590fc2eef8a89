"""The fault campaign: real sweeps on this machine, one fault each, then the same command again and a comparison with the
undisturbed run. `python -m tests.campaign --help`."""
