"""Parts that a trainer needs to run on a card: its faults, its proof, staged numbers and recorded steps."""
