"""`ridge`: last layers of random networks, by one linear system each."""
