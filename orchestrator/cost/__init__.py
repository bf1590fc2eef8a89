"""What training costs: units of work, the rates of this machine, the model."""
