"""Networks whose last layer alone is trained, by solving a linear system."""
