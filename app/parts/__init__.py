"""Parts of pages: what several of them show, and what one of them leaves out of its own module."""
