"""Tasks on images: photographs, handwritten digits, and images that are drawn."""
