"""Sets of images: found, read, and kept as tables of pixels or of the activations of VGG-16."""
