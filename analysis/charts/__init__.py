"""Charts that the app and the figures share."""
