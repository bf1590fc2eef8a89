"""`resident`: dense networks whose weights stay in the cache, one network after the other."""
