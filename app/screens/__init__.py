"""The pages: one module each, with `show(results)`."""
