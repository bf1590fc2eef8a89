"""Parts that trainers of several engines share: the loop over steps, networks in scaled changes, scores, and in `card` what
training on a GPU needs."""
