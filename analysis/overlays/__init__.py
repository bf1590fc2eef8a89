"""Theory beside measured points: the networks that each theory applies to, and its values for them."""
