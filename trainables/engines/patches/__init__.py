"""`patches`: exact training on images that are empty except for two patches."""
