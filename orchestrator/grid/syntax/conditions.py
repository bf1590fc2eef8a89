"""Conditions of `exclude`: comparisons over the keys of a cell, such as `L > d` or `gamma == 'lazy' and d >= 512`.

A condition is parsed into Python's syntax tree. Only names, numbers, texts, comparisons, and/or/not, arithmetic and lists are
allowed in it; nothing is ever passed to eval.
"""

import ast
import operator
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.grid.keys import LAZY
from sweepkit.console.words import listed, show
from sweepkit.declarations.synonyms import meant

MAX_LENGTH = 300

Env = Mapping[str, Any]
Node = Callable[[Env], Any]

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda a, b: float(a) ** float(b),  # as floats, so that 9**9**9 overflows instead of filling the memory
}


class ConditionError(ValueError):
    """A condition cannot be read or evaluated; the message says why."""


class LazyGamma(float):
    """The gamma of a lazy cell: a number that also equals the word `lazy`."""

    def __eq__(self, other: object) -> bool:
        return other == LAZY if isinstance(other, str) else float(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__


@dataclass(frozen=True)
class Condition:
    """A checked condition, and the names that it uses."""

    text: str
    names: tuple[str, ...]
    _root: Node

    def holds(self, env: Env) -> bool:
        """Whether the condition is true for these values; ConditionError if it cannot be evaluated for them."""
        try:
            return bool(self._root(env))
        except (TypeError, ArithmeticError, ValueError) as error:
            values = listed(f"{name} = {show(env[name])}" for name in self.names)
            raise ConditionError(f"cannot be evaluated for {values}: {error}") from None


def parse_condition(text: object, legal_names: Collection[str]) -> Condition:
    """The checked condition; ConditionError says what is wrong with the text."""
    if not isinstance(text, str) or not text.strip():
        raise ConditionError('must be a condition over the keys in quotes, such as "L > d"')
    if len(text) > MAX_LENGTH:
        raise ConditionError(f"is longer than {MAX_LENGTH} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's warnings of odd syntax are not for the user
            root = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ConditionError(f"cannot be read: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ConditionError("cannot be read") from None
    if not isinstance(root, ast.Compare | ast.BoolOp | ast.UnaryOp):
        raise ConditionError('compares nothing; write for instance "L > d"')
    names: dict[str, None] = {}
    return Condition(text, *_with_names(root, legal_names, names))


def _with_names(root: ast.expr, legal: Collection[str], names: dict[str, None]) -> tuple[tuple[str, ...], Node]:
    node = _build(root, legal, names)
    return tuple(names), node


def _build(node: ast.expr, legal: Collection[str], names: dict[str, None]) -> Node:
    def build(child: ast.expr) -> Node:
        return _build(child, legal, names)

    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return lambda env: value
        case ast.Name(id=name) if name == LAZY:
            return lambda env: LAZY
        case ast.Name(id=name):
            if name not in legal:
                raise ConditionError(f"has the unknown name {show(name)}{meant(name, legal)} (legal: {listed(legal)})")
            names[name] = None
            return lambda env: env[name]
        case ast.BoolOp(op=ast.And(), values=values):
            parts = [build(v) for v in values]
            return lambda env: all(part(env) for part in parts)
        case ast.BoolOp(op=ast.Or(), values=values):
            parts = [build(v) for v in values]
            return lambda env: any(part(env) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = build(operand)
            return lambda env: not inner(env)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = build(operand)
            return lambda env: -inner(env)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _arithmetic(_ARITHMETIC[type(op)], build(left), build(right))
        case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _COMPARE for op in ops):
            terms = [build(left), *(build(right) for right in rights)]
            steps = list(zip([_COMPARE[type(op)] for op in ops], terms, terms[1:], strict=False))
            return lambda env: all(compare(a(env), b(env)) for compare, a, b in steps)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            parts = [build(e) for e in elements]
            return lambda env: [part(env) for part in parts]
    raise ConditionError(
        f"may hold keys, numbers, texts, comparisons, and/or/not and arithmetic, but not {show(ast.unparse(node))}"
    )


def _arithmetic(apply: Callable[[Any, Any], Any], left: Node, right: Node) -> Node:
    def compute(env: Env) -> Any:
        a, b = left(env), right(env)
        if not (isinstance(a, int | float) and isinstance(b, int | float)):
            raise TypeError("arithmetic takes only numbers")  # 'a' * 10**9 would fill the memory
        return apply(a, b)

    return compute
