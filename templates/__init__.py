"""Templates of strings: what they are, named families, the kernel of a wide transformer on them [Boix23]. Knows numpy alone."""
