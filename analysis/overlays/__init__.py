"""Theory beside measured points: which theory speaks of which networks, and what it says there."""
