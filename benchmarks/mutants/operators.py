"""The mutants of a module: each is its syntax tree with one node replaced.

They come in the order of the source, so that a module has the same mutants, under the same names, in every run. Left
alone is what computes nothing: docstrings, annotations, sentences for people.
"""

from __future__ import annotations

import ast
import copy
import difflib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
_SYMBOLS = {
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is"},
    **{ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"},
}
_PAIRS = [
    *("any all", "min max", "Add Sub", "Mul Div", "Min Max", "Less LessOrEqual", "Greater GreaterOrEqual", "And Or"),
    *(
        "Floor Ceil",
        "ReduceMin ReduceMax",
        "ReduceSum ReduceMean",
        "Squeeze Unsqueeze",
        "minimum maximum",
        "floor ceil",
    ),
    *(
        "argmin argmax",
        "zeros ones",
        "logical_and logical_or",
        "less less_equal",
        "greater greater_equal",
        "add subtract",
    ),
]
_COUNTERPARTS = {one: other for pair in map(str.split, _PAIRS) for one, other in (pair, pair[::-1])}
_FOR_PEOPLE = frozenset(["because", "name", "summary", "description", "sentence"])
"""Keywords whose values are read by people alone."""
_SAYS_SOMETHING = frozenset(["refuse", "fail", "fail_if_strict", "warn", "note"])
"""Methods whose last argument is a sentence."""


@dataclass
class Mutant:
    """One change of one module."""

    path: str
    """The module's file, from the root of the repository."""
    line: int
    last_line: int
    """Where the changed code ends."""
    change: str
    """Before and after, in a few words."""
    words: frozenset[str]
    """The strings in the element of a module's table that is changed; nothing within functions."""
    names: frozenset[str]
    """What a changed statement of the module itself defines; nothing within functions."""
    number: int = 1
    """Which of the changes on this line that read alike."""
    _parent: ast.AST = field(default_factory=ast.Pass, repr=False)
    _slot: tuple[str, int | None] = field(default=("", None), repr=False)
    _replacement: ast.AST | None = field(default=None, repr=False)
    _tree: ast.Module = field(default_factory=lambda: ast.Module([], []), repr=False)

    @property
    def id(self) -> str:
        """What names it from run to run, as long as the line stays."""
        return f"{self.path}:{self.line} {self.change}{f' #{self.number}' if self.number > 1 else ''}"

    def tree(self) -> ast.Module:
        """The changed syntax tree. Changes the one that all mutants of the module share: for a process of its own."""
        attribute, index = self._slot
        if index is None:
            setattr(self._parent, attribute, self._replacement)
        elif self._replacement is None:
            del getattr(self._parent, attribute)[index]
        else:
            getattr(self._parent, attribute)[index] = self._replacement
        return ast.fix_missing_locations(self._tree)


@cache
def mutants_of(root: Path, path: str) -> tuple[Mutant, ...]:
    """All mutants of one module, in the order of its source."""
    tree = ast.parse((root / path).read_text(encoding="utf-8"))
    found = []
    seen: Counter[tuple[int, str]] = Counter()
    for context in _places(tree):
        for change, replacement in _changes(context):
            node = context.node
            seen[node.lineno, change] += 1
            one = Mutant(path, node.lineno, node.end_lineno or node.lineno, change, context.words, context.names)
            one.number = seen[node.lineno, change]
            one._parent, one._slot, one._replacement, one._tree = context.parent, context.slot, replacement, tree
            found.append(one)
    return tuple(sorted(found, key=lambda one: (one.line, one.change, one.number)))


def diff(root: Path, mutant: Mutant) -> str:
    """The lines of the module that the mutant changes, before and after, as Python prints them."""
    before = ast.unparse(ast.parse((root / mutant.path).read_text(encoding="utf-8"))).splitlines()
    again = next(one for one in mutants_of.__wrapped__(root, mutant.path) if one.id == mutant.id)
    lines = difflib.unified_diff(before, ast.unparse(again.tree()).splitlines(), n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def sampled(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Some of the mutants, spread over the modules, in their order; the same for the same seed."""
    if count >= len(mutants):
        return list(mutants)
    draw = random.Random(seed)
    by_path: dict[str, list[int]] = {}
    for index, one in enumerate(mutants):
        by_path.setdefault(one.path, []).append(index)
    for indices in by_path.values():
        draw.shuffle(indices)
    # Each module gives one in turn, so that none is left out before another has given twice its share.
    shares = [
        ((place + draw.random()) / len(indices), index)
        for indices in by_path.values()
        for place, index in enumerate(indices)
    ]
    return [mutants[index] for index in sorted(index for _, index in sorted(shares)[:count])]


@dataclass(frozen=True)
class _Place:
    node: ast.expr | ast.stmt | ast.keyword
    parent: ast.AST
    slot: tuple[str, int | None]
    words: frozenset[str]
    names: frozenset[str]
    siblings: tuple[str, ...]
    """The short strings of the function around it, to be taken for one another."""


def _places(tree: ast.Module) -> Iterator[_Place]:
    """Everything that may be changed."""
    nothing: frozenset[str] = frozenset()
    for index, statement in enumerate(tree.body):
        if isinstance(statement, ast.Import | ast.ImportFrom) or _is_docstring(statement):
            continue
        strings = tuple(dict.fromkeys(_short_strings(statement)))
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield from _within(statement, tree, ("body", index), nothing, nothing, strings)
            continue
        if isinstance(statement, ast.If | ast.Expr):
            continue
        names = frozenset(node.id for node in ast.walk(statement) if _is_stored(node))
        for node in _table_elements(statement):
            words = frozenset(_short_strings(node))
            yield from _within(node, statement, ("", None), words, names, strings, is_root=True)


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _table_elements(statement: ast.stmt) -> list[ast.AST]:
    """The rows of a table that a module defines; the value itself where it is none."""
    value = getattr(statement, "value", None)
    if value is None:
        return []
    if isinstance(value, ast.List | ast.Tuple) and all(isinstance(row, ast.Call | ast.Starred) for row in value.elts):
        return list(value.elts)
    return [value]


def _within(
    node: ast.AST,
    parent: ast.AST,
    slot: tuple[str, int | None],
    words: frozenset[str],
    names: frozenset[str],
    strings: tuple[str, ...],
    *,
    is_root: bool = False,
) -> Iterator[_Place]:
    if isinstance(node, ast.expr | ast.stmt | ast.keyword) and not is_root:
        yield _Place(node, parent, slot, words, names, strings)
    if isinstance(node, ast.JoinedStr | ast.Raise):
        return
    for attribute, value in ast.iter_fields(node):
        if attribute in ("annotation", "returns", "decorator_list", "ctx", "type_comment", "args") and not (
            attribute == "args" and isinstance(node, ast.Call)
        ):
            continue
        if isinstance(node, ast.keyword) and node.arg in _FOR_PEOPLE:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_docstring(child):
                continue
            yield from _within(child, node, (attribute, index), words, names, strings)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _short_strings(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.isidentifier():
            yield one.value


def _changes(place: _Place) -> Iterator[tuple[str, ast.AST | None]]:
    """What a node becomes, each with its description; None drops it from its list."""
    node = place.node
    match node:
        case ast.Compare():
            yield from _other_comparisons(node)
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "'and' -> 'or'" if isinstance(other, ast.Or) else "'or' -> 'and'", ast.BoolOp(other, node.values)
            for index, value in enumerate(node.values):
                left = [one for at, one in enumerate(node.values) if at != index]
                yield f"without {_shown(value)}", left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield _to(node, node.operand), node.operand
        case ast.BinOp():
            yield from _other_arithmetic(node)
        case ast.Constant():
            yield from _other_constants(node, place)
        case ast.List() | ast.Tuple() | ast.Set() if not isinstance(getattr(node, "ctx", None), ast.Store):
            yield from _fewer_elements(node)
        case ast.Call():
            yield from _other_calls(node)
        case ast.If() | ast.IfExp():
            for value in (True, False):
                changed = copy.copy(node)
                changed.test = ast.copy_location(ast.Constant(value), node.test)
                yield f"if {_shown(node.test)} -> if {value}", changed
        case ast.keyword(arg="up" | "down", value=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            if name != "unchanged":
                source = "__import__('opsetlift.rulebook.rule', fromlist=['unchanged']).unchanged"
                unchanged = ast.parse(source, mode="eval").body
                yield f"{node.arg}={_shown(node.value)} -> unchanged", ast.keyword(node.arg, unchanged)
        case ast.Subscript(slice=ast.Slice() as bounds) if isinstance(node.ctx, ast.Load):
            for which in ("lower", "upper", "step"):
                if getattr(bounds, which) is not None:
                    open_end = copy.copy(bounds)
                    setattr(open_end, which, None)
                    changed = ast.Subscript(node.value, open_end, node.ctx)
                    yield _to(node, changed), changed
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield f"drop {_shown(node)}", ast.copy_location(ast.Pass(), node)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            if isinstance(value, ast.Compare | ast.BoolOp) or (isinstance(value, ast.UnaryOp) and _is_not(value)):
                for result in (True, False):
                    yield f"return {_shown(value)} -> return {result}", ast.Return(ast.Constant(result))
    if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
        for index, generator in enumerate(node.generators):
            for at, condition in enumerate(generator.ifs):
                changed = copy.deepcopy(node)
                del changed.generators[index].ifs[at]
                yield f"without 'if {_shown(condition, quote='')}'", changed


def _is_not(value: ast.UnaryOp) -> bool:
    return isinstance(value.op, ast.Not)


def _other_comparisons(node: ast.Compare) -> Iterator[tuple[str, ast.AST]]:
    for index, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            changed = ast.Compare(node.left, [*node.ops[:index], other(), *node.ops[index + 1 :]], node.comparators)
            yield f"'{_SYMBOLS[type(operator)]}' -> '{_SYMBOLS[other]}'", changed


def _other_arithmetic(node: ast.BinOp) -> Iterator[tuple[str, ast.AST]]:
    if other := _ARITHMETIC.get(type(node.op)):
        changed = ast.BinOp(node.left, other(), node.right)
        yield _to(node, changed), changed
    if isinstance(node.op, ast.Sub | ast.FloorDiv | ast.Div | ast.Mod | ast.MatMult):
        swapped = ast.BinOp(node.right, node.op, node.left)
        yield _to(node, swapped), swapped
    for side in (node.left, node.right):
        if not isinstance(side, ast.Constant):
            yield _to(node, side), side


def _other_constants(node: ast.Constant, place: _Place) -> Iterator[tuple[str, ast.AST]]:
    match node.value:
        case bool():
            others: list[object] = [not node.value]
        case int():
            others = [node.value + 1, node.value - 1]
        case float():
            others = [node.value * 2 if node.value else 1.0, -node.value if node.value else -1.0]
        case str() if node.value.isidentifier() and len(place.siblings) > 1:
            others = [place.siblings[(place.siblings.index(node.value) + 1) % len(place.siblings)]]
        case _:
            others = []
    for other in others:
        yield f"{_shown(node)} -> {_shown(ast.Constant(other))}", ast.Constant(other)


def _fewer_elements(node: ast.List | ast.Tuple | ast.Set) -> Iterator[tuple[str, ast.AST]]:
    if len(node.elts) < 2:
        return
    for index, element in enumerate(node.elts):
        changed = copy.copy(node)
        changed.elts = [one for at, one in enumerate(node.elts) if at != index]
        yield f"without element {_shown(element)}", changed


def _other_calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    if counterpart := _COUNTERPARTS.get(name):
        other: ast.expr = ast.Name(counterpart, ast.Load())
        if isinstance(called, ast.Attribute):
            other = ast.Attribute(called.value, counterpart, ast.Load())
        yield f"{name} -> {counterpart}", ast.Call(other, node.args, node.keywords)
    emits = isinstance(called, ast.Attribute) and name[:1].isupper()
    if emits and node.args and not isinstance(node.args[0], ast.Starred):
        yield f"{_shown(node)} -> {_shown(node.args[0])}", node.args[0]
    if name not in _SAYS_SOMETHING:
        for index in range(len(node.args) - 1):
            arguments = list(node.args)
            if any(isinstance(one, ast.Starred) for one in arguments[index : index + 2]):
                continue
            arguments[index : index + 2] = reversed(arguments[index : index + 2])
            changed = ast.Call(node.func, arguments, node.keywords)
            yield _to(node, changed), changed
    for index, keyword in enumerate(node.keywords):
        if keyword.arg not in _FOR_PEOPLE:
            left = [one for at, one in enumerate(node.keywords) if at != index]
            yield f"{name}(...) without {_shown(keyword)}", ast.Call(node.func, node.args, left)


def _to(before: ast.AST, after: ast.AST) -> str:
    return f"{_shown(before)} -> {_shown(after)}"


def _shown(node: ast.AST, *, quote: str = "'") -> str:
    text = " ".join(ast.unparse(node).split())
    return f"{quote}{text if len(text) <= 60 else text[:57] + '...'}{quote}"
