"""Charts as they are shown and saved: on a screen, in a notebook, in a file, by either library."""
