"""The figures of the paper, drawn from whatever the store holds; `registry.FIGURES` lists them."""
