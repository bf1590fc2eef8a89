"""Data that lie on disk, as tasks and networks take them: images and their features, tokens of texts, weights of networks."""
