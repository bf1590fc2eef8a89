"""What tasks, networks and metrics return, looked at before anything trains: shapes, values, and draws that can be repeated.

The generators here are fresh ones, so no result depends on whether a part was checked.
"""

import inspect
import numbers
import random
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from trainables.cell import Cell
from trainables.metrics import Probe, Requested
from trainables.tasks import Task
from trainables.tasks.base import Array, Inputs, Targets

if TYPE_CHECKING:
    from torch import Tensor

N = 64
"""Examples of a draw, where the task has no training set of a size of its own."""
N_LABELS = 512
"""Examples that are drawn where the first ones all have one label."""
N_ROWS = 3
"""Examples that are given to a network alone, to see whether its output for them depends on the others."""
DRAWS = 8
"""Perturbations of the weights that are tried before a gradient is taken for zero: a few ReLU neurons may be dead in one."""
SHOWN = 6
"""Different labels that a message tells of at most."""


class Finding(NamedTuple):
    """What is wrong, or only odd, with what a part returned, and the line of its file, if known."""

    line: int | None
    message: str
    is_wrong: bool = True


class _Wrong(Exception):
    """A finding after which nothing more can be asked of the part."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def check_task(task: Task) -> list[Finding]:
    """Findings on what the task draws, at its setting."""
    return _found(_of_task(task))


def check_network(cell: Cell) -> list[Finding]:
    """Findings on the cell's network, on examples of its task, which must be sound."""
    return _found(_of_network(cell))


def check_metric(asked: Requested, cell: Cell) -> list[Finding]:
    """Findings on what the metric makes of the cell's network near its initialisation; task and network must be sound."""
    return _found(_of_metric(asked, cell))


def _found(findings: Iterator[Finding]) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(findings)
    except _Wrong as wrong:
        found.append(wrong.finding)
    return found


class _Part:
    """A user's class or function: calls it, and tells where in its file something happened."""

    def __init__(self, title: str, of: Any) -> None:
        self.title, self.of = title, of

    @cached_property
    def file(self) -> str:
        return inspect.getfile(self.of)

    def call(self, name: str, work: Callable[[], Any], failing: str = "", why: str = "") -> Any:
        """What `work`, a call of the function of this name, returns; an exception is a finding, in these words."""
        try:
            return work()
        except Exception as error:
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self.file]
            text = "; ".join(filter(None, [f"{failing}: {_in_a_line(error)}" if failing else f"raised {_in_a_line(error)}", why]))
            raise _Wrong(self.finding(name, text, lines[-1] if lines else None)) from error

    def finding(self, name: str, text: str, line: int | None = None, is_wrong: bool = True) -> Finding:
        """A finding on the function of this name: its message begins with the part and the function."""
        words = f"{self.title}: {name} {text}" if name else f"{self.title}: {text}"
        return Finding(line or self.line(name), words, is_wrong)

    def line(self, name: str) -> int | None:
        """Where the function or the class attribute of this name stands in the part's own file, else where the part does."""
        function = inspect.getattr_static(self.of, name, None) if inspect.isclass(self.of) else self.of
        function = getattr(function, "fget", None) or getattr(function, "__func__", None) or function
        code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
        if code is not None and code.co_filename == self.file:
            return int(code.co_firstlineno)
        try:
            return inspect.findsource(self.of)[1] + 1
        except OSError:
            return None


def _of_task(task: Task) -> Iterator[Finding]:
    part = _Part(f"task {task.name}", type(task))
    if part.call("preparations", task.preparations):
        return  # to draw would make its files, which has its own time
    for name, legal in (("inputs", get_args(Inputs)), ("targets", get_args(Targets))):
        if (kind := getattr(task, name)) not in legal:
            raise _Wrong(part.finding("", f"{name} = {kind!r}; wanted one of {', '.join(legal)}"))
    sizes = ["input_dim", "n_outputs", *(["n_tokens"] if task.inputs == "tokens" else [])]
    for name in [*sizes, *(["n_train"] if part.call("n_train", lambda: task.n_train) is not None else [])]:
        size = part.call(name, partial(getattr, task, name))
        least = 2 if name == "n_outputs" and task.targets == "classes" else 1
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < least:
            of_classes = ", the number of classes" if least == 2 else ""
            raise _Wrong(part.finding(name, f"is {_shown(size)}; wanted a whole number of at least {least}{of_classes}"))
    if task.targets == "binary" and task.n_outputs != 1:
        hint = 'for classes set targets: ClassVar = "classes"'
        yield part.finding("n_outputs", f'is {task.n_outputs}; wanted 1 (targets = "binary"); {hint}')
    symbols = yield from _drawn_twice(part, "draw_symbols", lambda rng: task.draw_symbols(rng))
    for name, n in (("train_examples", task.n_train or N), ("test_examples", N)):
        drawn = yield from _drawn_twice(part, name, partial(_draw, task, name, symbols, n))
        problems = list(_examples(task, n, drawn))
        yield from (part.finding(name, problem) for problem in problems)
        if not problems and task.targets != "real" and len(np.unique(drawn[1])) == 1:
            more = part.call(name, partial(_draw, task, name, symbols, task.n_train or N_LABELS, _generator()))[1]
            if len(labels := np.unique(more)) == 1:
                yield part.finding(name, f"gave {len(more)} labels that are all {_numbers(labels)}", is_wrong=False)


def _draw(task: Task, name: str, symbols: Any, n: int, rng: np.random.Generator) -> Any:
    return getattr(task, name)(rng, symbols, n)


def _drawn_twice(part: _Part, name: str, draw: Callable[[np.random.Generator], Any]) -> Generator[Finding, None, Any]:
    """What is drawn; a finding where generators of one state give two draws."""
    with _reseeded(1):
        first = part.call(name, lambda: draw(_generator()))
    with _reseeded(2):
        second = part.call(name, lambda: draw(_generator()))
    if not _same(first, second):
        wanted = "wanted the same from the same state: draw from the generator that is given, and from nothing else"
        yield part.finding(name, f"gave two different draws for one state of its generator; {wanted}")
    return first


def _examples(task: Task, n: int, drawn: Any) -> Iterator[str]:
    """What is wrong with a draw of n examples."""
    if not (isinstance(drawn, tuple | list) and len(drawn) == 2 and all(isinstance(values, np.ndarray) for values in drawn)):
        yield f"gave {_shown(drawn)}; wanted two arrays, inputs and targets"
        return
    x, y = drawn
    if x.shape != (n, task.input_dim):
        yield f"gave inputs of shape {x.shape}; wanted {(n, task.input_dim)}: n examples of input_dim numbers"
    elif task.inputs == "tokens" and (x.dtype.kind not in "iu" or ((x < 0) | (x >= task.n_tokens)).any()):
        wanted = f"whole numbers 0 to {task.n_tokens - 1} (n_tokens = {task.n_tokens})"
        yield f'gave inputs of type {x.dtype} from {_ends(x)}; wanted {wanted} (inputs = "tokens")'
    elif task.inputs == "vector" and x.dtype.kind not in "fiub":
        yield f"gave inputs of type {x.dtype}; wanted numbers: x.astype(np.float32)"
    elif task.inputs == "vector" and not np.isfinite(x).all():
        yield f"gave inputs that hold {_not_finite(x)}; wanted finite numbers"
    yield from _targets(task, n, y)


def _targets(task: Task, n: int, y: Array) -> Iterator[str]:
    is_vector = task.targets == "real" and task.n_outputs > 1
    shape = (n, task.n_outputs) if is_vector else (n,)
    if y.shape != shape:
        length = f", as n_outputs is {task.n_outputs}" if is_vector else ""
        yield f'gave targets of shape {y.shape}; wanted {shape} (targets = "{task.targets}"){length}'
        return
    if y.dtype.kind not in "biuf":
        yield f"gave targets of type {y.dtype}; wanted numbers"
        return
    if not np.isfinite(y).all():
        yield f"gave targets that hold {_not_finite(y)}; wanted finite numbers"
        return
    if task.targets == "real":
        return
    n_classes = task.n_outputs if task.targets == "classes" else 2
    values = np.unique(y)
    if np.isin(values, np.arange(n_classes)).all():
        return
    if task.targets == "binary":
        are_classes = (values == np.round(values)).all() and values.min() >= 0
        hint = 'for classes set targets: ClassVar = "classes" and n_outputs' if are_classes else ""
        yield f'gave labels {_numbers(values)}; wanted 0 and 1 (targets = "binary"); ' + (
            hint or 'for numbers set targets: ClassVar = "real"'
        )
    else:
        wanted = f"whole numbers 0 to {n_classes - 1}"
        yield f'gave labels {_numbers(values)}; wanted {wanted} (targets = "classes", n_outputs = {n_classes})'


def _of_network(cell: Cell) -> Iterator[Finding]:
    import torch
    from torch.func import vmap

    network = cell.network
    part = _Part(f"network {network.name}", type(network))
    initial = yield from _drawn_twice(part, "init", lambda rng: network.init(rng, cell))
    if problems := list(_parameters(initial)):
        yield from (part.finding("init", problem) for problem in problems)
        return
    x = _inputs(cell)
    theta = [_tensors(cell, network.init(_generator(k), cell)) for k in range(2)]
    before = {name: value.clone() for name, value in theta[0].items()}, x.clone()
    with torch.no_grad():
        g = part.call("apply", lambda: network.apply(theta[0], x, cell))
        changed = [name for name, value in theta[0].items() if not _equal(value, before[0][name])]
        changed += ["the inputs"] * (not _equal(x, before[1]))
        if changed:
            raise _Wrong(part.finding("apply", f"changed {', '.join(changed)} in place; wanted a new tensor"))
        if problems := list(_outputs(cell, len(x), g)):
            yield from (part.finding("apply", problem) for problem in problems)
            return
        if not _close(part.call("apply", lambda: network.apply(theta[0], x, cell)), g, g):
            wanted = "wanted a function of parameters and inputs alone"
            raise _Wrong(part.finding("apply", f"gave two different outputs for the same inputs; {wanted}"))
        few = part.call("apply", lambda: network.apply(theta[0], x[:N_ROWS], cell))
        if not _close(few, g[:N_ROWS], g):
            wanted = "wanted outputs that depend on their own example alone"
            yield part.finding("apply", f"gave other outputs for {N_ROWS} examples alone than among {len(x)}; {wanted}")
        yield from _features(part, cell, theta[0], x)
    apply = vmap(lambda parameters, inputs: network.apply(parameters, inputs, cell))
    reached: set[str] = set()
    for k in range(DRAWS):
        stacked = {name: torch.stack([own[name] for own in theta]) for name in initial}
        if k:
            stacked = {name: value + _noise(value, k) for name, value in stacked.items()}
        stacked = {name: value.requires_grad_() for name, value in stacked.items()}
        why = "networks train many at once, so no if, while, float() or .item() may look at the values of a tensor"
        outputs = part.call("apply", lambda: apply(stacked, torch.stack([x, x])), "fails under torch.func.vmap", why)  # noqa: B023
        if not k and not _close(outputs[0].detach(), g, g):
            yield part.finding("apply", "gave other outputs under torch.func.vmap than for one network; wanted the same")
        reached |= part.call("apply", lambda: _reached(stacked, outputs), "has no derivative")  # noqa: B023
        if reached == stacked.keys():
            return
    for name in initial:
        if name not in reached:
            hint = "let apply use it by operations that have a derivative, or leave it out of init"
            yield part.finding("apply", f"lets no gradient reach parameter {name!r}, as for all examples it is zero; {hint}")


def _parameters(drawn: Any) -> Iterator[str]:
    """What is wrong with initial parameters."""
    if not isinstance(drawn, dict) or not drawn:
        yield f"gave {_shown(drawn)}; wanted a dict of arrays by name"
        return
    for name, values in drawn.items():
        if not isinstance(name, str):
            yield f"gave a parameter called {name!r}; wanted a text as its name"
        elif not isinstance(values, np.ndarray | np.generic):
            yield f"gave {_shown(values)} as parameter {name!r}; wanted an array"
        elif values.dtype not in (np.float32, np.float64):
            yield f"gave parameter {name!r} of type {values.dtype}; wanted float32 or float64"
        elif not np.size(values):
            yield f"gave parameter {name!r} of shape {np.shape(values)}, which holds no number"
        elif not np.isfinite(values).all():
            yield f"gave parameter {name!r} that holds {_not_finite(np.asarray(values))}; wanted finite numbers"


def _outputs(cell: Cell, n: int, g: Any) -> Iterator[str]:
    """What is wrong with outputs for n examples."""
    import torch

    k = cell.task.n_outputs
    shape = (n,) if k == 1 else (n, k)
    if not isinstance(g, torch.Tensor):
        yield f"gave {_shown(g)}; wanted a tensor of shape {shape}"
    elif tuple(g.shape) != shape:
        outputs = "one output" if k == 1 else f"{k} outputs"
        yield f"gave outputs of shape {tuple(g.shape)}; wanted {shape}: task {cell.task.name} has {outputs} an example"
    elif not g.is_floating_point():
        yield f"gave outputs of type {_type(g)}; wanted floats"
    elif not torch.isfinite(g).all():
        yield f"gave outputs at initialisation that hold {_not_finite(g.numpy())}; wanted finite numbers"


def _features(part: _Part, cell: Cell, theta: "dict[str, Tensor]", x: "Tensor") -> Iterator[Finding]:
    import torch

    h = part.call("features", lambda: cell.network.features(theta, x, cell))
    if h is None:
        return
    if not isinstance(h, torch.Tensor) or h.dim() != 2 or len(h) != len(x):
        given = f"a tensor of shape {tuple(h.shape)}" if isinstance(h, torch.Tensor) else _shown(h)
        yield part.finding("features", f"gave {given}; wanted ({len(x)}, m), activations of m neurons for n examples, or None")
    elif not h.is_floating_point():
        yield part.finding("features", f"gave activations of type {_type(h)}; wanted floats")
    elif not torch.isfinite(h).all():
        yield part.finding("features", f"gave activations that hold {_not_finite(h.numpy())}; wanted finite numbers")


def _reached(theta: "Mapping[str, Tensor]", outputs: "Tensor") -> set[str]:
    """Names of the parameters that have a gradient of these outputs, each weighed at random as a loss would."""
    import torch

    if not outputs.requires_grad:
        return set()
    slopes = torch.from_numpy(_generator().standard_normal(tuple(outputs.shape))).to(outputs.dtype)
    found = torch.autograd.grad(outputs, list(theta.values()), slopes, allow_unused=True)
    return {name for name, gradient in zip(theta, found, strict=True) if gradient is not None and bool((gradient != 0).any())}


def _of_metric(asked: Requested, cell: Cell) -> Iterator[Finding]:
    part = _Part(f"metric {asked.name}", asked.measure)
    probe = _probe(cell)
    before = _copied(probe)
    with _reseeded(1):
        value = part.call("", lambda: asked.measure(probe))
    if not _same(before, _copied(probe)):
        raise _Wrong(part.finding("", "changed the probe's arrays in place; wanted a copy to be changed"))
    with _reseeded(2):
        again = part.call("", lambda: asked.measure(probe))
    if value is not None and not isinstance(value, numbers.Real | np.bool_):
        raise _Wrong(part.finding("", f"gave {_shown(value)}; wanted a number, or None where it is undefined"))
    if not _same(value, again):
        hint = "it may use no random numbers but those of a generator of its own with a fixed seed"
        yield part.finding("", f"gave {_shown(value)} and then {_shown(again)} for the same network; wanted one value: {hint}")
    low, high = asked.metric.low, asked.metric.high
    slack = 1e-6 * max([1.0, *(abs(bound) for bound in (low, high) if np.isfinite(bound))])
    if value is not None and np.isfinite(float(value)) and not low - slack <= float(value) <= high + slack:
        yield part.finding("", f"gave {_shown(value)}; wanted a number between its low = {low:g} and high = {high:g}")


def _probe(cell: Cell) -> Probe:
    """The cell's network with perturbed weights, as at its initial ones a centred output is 0."""
    import torch

    network, task = cell.network, cell.task
    inputs, targets = task.test_examples(_generator(), task.draw_symbols(_generator()), N)
    start = _tensors(cell, network.init(_generator(), cell))
    theta = {name: value + 0.1 * _noise(value, 1) for name, value in start.items()}
    x = _as_inputs(cell, inputs)
    with torch.no_grad():
        f = network.apply(theta, x, cell)
        if getattr(network, "centred", False):
            f = f - network.apply(start, x, cell)
        features = network.features(theta, x, cell)
    parameters = {name: value.numpy() for name, value in theta.items()}
    return Probe(
        cell, inputs, targets, (f / cell.epsilon).numpy(), None if features is None else features.numpy().copy(), parameters
    )


def _copied(probe: Probe) -> list[Any]:
    arrays = [probe.inputs, probe.targets, probe.outputs, probe.features, *probe.parameters.values()]
    return [None if a is None else a.copy() for a in arrays]


def _inputs(cell: Cell) -> "Tensor":
    """Examples of the cell's task; of one whose files are not made yet, numbers in their place."""
    task = cell.task
    if not task.preparations():
        return _as_inputs(cell, task.test_examples(_generator(), task.draw_symbols(_generator()), N)[0])
    if task.inputs == "tokens":
        return _as_inputs(cell, _generator().integers(0, task.n_tokens, (N, task.input_dim)))
    return _as_inputs(cell, _generator().standard_normal((N, task.input_dim)))


def _as_inputs(cell: Cell, x: Array) -> "Tensor":
    import torch

    return torch.tensor(x, dtype=torch.int64 if cell.task.inputs == "tokens" else _dtype(cell))


def _tensors(cell: Cell, parameters: Mapping[str, Array]) -> "dict[str, Tensor]":
    import torch

    return {name: torch.tensor(values, dtype=_dtype(cell)) for name, values in parameters.items()}


def _dtype(cell: Cell) -> Any:
    import torch

    return torch.float64 if cell.dtype == "float64" else torch.float32


def _noise(theta: "Tensor", k: int) -> "Tensor":
    """Random changes of the size that these parameters have."""
    import torch

    size = float(theta.double().std(correction=0)) or 0.1
    return size * torch.from_numpy(_generator(k).standard_normal(tuple(theta.shape))).to(theta.dtype)


def _generator(k: int = 0) -> np.random.Generator:
    """A fresh one, of the kind that training uses."""
    return np.random.Generator(np.random.Philox(key=k))


@contextmanager
def _reseeded(k: int) -> Iterator[None]:
    """All generators that a process shares, seeded, and afterwards as they were."""
    import sys

    torch = sys.modules.get("torch")
    of_numpy, of_python = np.random.get_state(), random.getstate()
    of_torch = torch.get_rng_state() if torch else None
    np.random.seed(k)
    random.seed(k)
    if torch:
        torch.default_generator.manual_seed(k)
    try:
        yield
    finally:
        np.random.set_state(of_numpy)
        random.setstate(of_python)
        if torch and of_torch is not None:
            torch.set_rng_state(of_torch)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal bit for bit."""
    if isinstance(one, np.ndarray | np.generic) and isinstance(other, np.ndarray | np.generic):
        if one.dtype.kind == "O":
            return one.shape == other.shape and _same(one.tolist(), other.tolist())
        return (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float) and one != one:
        return other != other
    return type(one) is type(other) and (not isinstance(one, str | bytes | numbers.Number | None) or one == other)


def _equal(one: "Tensor", other: "Tensor") -> bool:
    import torch

    return one.shape == other.shape and torch.equal(one.nan_to_num(), other.nan_to_num())


def _close(one: Any, other: "Tensor", whole: "Tensor") -> bool:
    """Whether outputs agree to the rounding of sums in another order, on the scale of all outputs."""
    import torch

    if not isinstance(one, torch.Tensor) or one.shape != other.shape:
        return False
    # Some hundred times the precision of single sums, which deep networks and cancelling terms amplify.
    tolerance = 1e-9 if whole.dtype == torch.float64 else 1e-3
    return bool(((one - other).abs() <= tolerance * (whole.abs().max() + 1e-6)).all())


def _in_a_line(error: Exception) -> str:
    return (f"{type(error).__name__}: {error}".splitlines() or [""])[0][:300]


def _numbers(values: Array) -> str:
    """`-1 and 1`, or the first few of many."""
    shown = [f"{value:.6g}" for value in np.asarray(values, dtype=np.float64)[:SHOWN]]
    if len(values) > SHOWN:
        return f"{', '.join(shown)}, ... ({len(values)} different ones)"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _ends(x: Array) -> str:
    return f"{x.min()} to {x.max()}" if x.dtype.kind in "biuf" and x.size else "other things"


def _not_finite(x: Any) -> str:
    return "NaN" if np.isnan(x).any() else "infinity"


def _type(x: "Tensor") -> str:
    return str(x.dtype).removeprefix("torch.")


def _shown(value: Any) -> str:
    """A value in a few words."""
    match value:
        case None:
            return "nothing (None)"
        case dict() if not value:
            return "an empty dict"
        case np.ndarray():
            return f"an array of shape {value.shape}"
        case np.generic() | bool() | int() | float():
            return f"{float(value):.6g}"
        case tuple() | list():
            return f"a {type(value).__name__} of {len(value)}"
        case _:
            text = repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
            return text[:60]
