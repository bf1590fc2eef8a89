"""Text that people write in files: YAML with its lines, and texts whose line ends do not count."""
