"""The steps at which a network in training is evaluated, and the examples on which its richness is measured."""

import re

EVEN = "even"
"""The value of `eval_at` that adds no evaluations to those every `eval_every` steps."""
PROBED = 1024
"""Examples of a probe set, for metrics of richness and batch norm in evaluation: the first ones of a fixed training set, all if
there are fewer."""

_LOG = re.compile(r"log ([1-9][0-9]{0,3})")


def per_decade(eval_at: str) -> int:
    """Evaluations per decade of steps that `eval_at` adds: n of `log n`, 0 of `even`. ValueError for another text."""
    if eval_at == EVEN:
        return 0
    if not (found := _LOG.fullmatch(eval_at)):
        raise ValueError(f"{eval_at!r} is neither {EVEN!r} nor `log n`, n from 1 to 9999 evaluations per decade of steps")
    return int(found[1])


def evaluations(steps: int, eval_every: int, eval_at: str = EVEN) -> tuple[int, ...]:
    """The steps after which a network is evaluated, in order: the multiples of `eval_every`, and with `eval_at` = `log n` also
    10^(k/n) for k = 0, 1, ..., rounded. `steps` is a multiple of `eval_every`, and so the last."""
    even = range(eval_every, steps + 1, eval_every)
    n, added, k = per_decade(eval_at), set[int](), 0
    while n and (step := int(10 ** (k / n) + 0.5)) <= steps:
        added.add(step)
        k += 1
    return tuple(sorted(added.union(even)) if added else even)
