"""`gram`: noiseless same-different exactly, in the span of the symbols; on the CPU, and in two ways on a GPU."""
