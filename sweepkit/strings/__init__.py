"""Templates of strings: what they are, named families, and the kernel of a wide transformer on them [Boix23]."""
