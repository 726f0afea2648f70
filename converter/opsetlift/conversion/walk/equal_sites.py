"""Tells nodes apart for which rules may decide differently.

Once a site of a model has been refused, and in dry runs, nothing of a walk is kept but its refusals, and which rules
were applied to how many nodes. Then a node that is equal to one that was converted need not be converted: it would not
be refused either, and the same rules would be applied to it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from onnx import NodeProto, TypeProto

from opsetlift.conversion.walk.values import ScopeValues
from opsetlift.facts import ScopeFacts, is_compared
from opsetlift.model.scopes import subgraphs
from opsetlift.specification.dtypes import shape_of_type

_LARGEST_ATTRIBUTE = 1 << 16
"""Bytes."""


def site_key(node: NodeProto, opset: int, scope: ScopeValues) -> Hashable | None:
    """Everything that a rule or a runtime can ask about a node, written for `opset`, but names: equal ones fare alike.

    The content of weights and of large constants is left out: where that was asked for (`large_constants_asked`), it
    may matter. None where a node has to be looked at by itself: in models with functions, with subgraphs, and where
    values have no known rank, which a rule might then learn from another node.
    """
    return _key(node, opset, scope, _producers_key(node, _depth(scope), scope.facts))


def given_site_key(index: int, node: NodeProto, scope: ScopeValues) -> Hashable | None:
    """The same of the node at a position of the original scope; walks of one model share what it takes."""
    kind = scope.facts.tables.kinds_in_whole.get(index)
    if kind is not None:
        return "kind", kind
    numbers = scope.facts.tables.site_numbers
    if index not in numbers:
        if not all(scope.facts.is_as_given(name) for name in (*node.input, *node.output) if name):
            return site_key(node, scope.imports.get(node.domain, 1), scope)
        key = _key(node, 0, scope)
        known = scope.facts.tables.numbered_sites
        numbers[index] = None if key is None else known.setdefault(key, len(known))
    number = numbers[index]
    depth = _depth(scope)
    if number is None or not depth:
        return None if number is None else (scope.path, number)
    return scope.path, number, _producers_key(node, depth, scope.facts)


def _depth(scope: ScopeValues) -> int:
    return scope.walk.runtime.depth if scope.walk.runtime is not None else 0


def _key(node: NodeProto, opset: int, scope: ScopeValues, producers: Hashable = ()) -> Hashable | None:
    if scope.walk.functions or any(subgraphs(node)) or sum(map(_size, node.attribute)) > _LARGEST_ATTRIBUTE:
        return None
    values = [_value_key(name, scope) for name in (*node.input, *node.output)]
    if None in values:
        return None
    names = node.input[:]
    return (
        node.domain,
        node.op_type,
        opset,
        b"".join(sorted(attribute.SerializeToString() for attribute in node.attribute)),
        tuple(map(names.index, names)),
        len(names),
        _with_numbered_symbols(values),
        tuple(
            (scope.is_read(name), name in scope.output_names, scope.facts.is_shared(name))
            for name in node.output
            if name
        ),
        tuple(map(scope.facts.is_captured, (*node.input, *node.output))),
        producers,
    )


def _producers_key(node: NodeProto, depth: int, facts: ScopeFacts) -> Hashable:
    """What computes the inputs of a node, as far back as a runtime looks."""
    return tuple(_origin(name, depth, facts) for name in node.input) if depth else ()


def _origin(name: str, depth: int, facts: ScopeFacts) -> Hashable:
    """A number that other values have only where the same computes them, as far back as by `depth` nodes."""
    found = facts.origins.setdefault(name, {})
    if depth not in found:
        one = facts.producer(name) if name else None
        producer = one and (one.domain, one.op_type, facts.is_shared(name), _producers_key(one, depth - 1, facts))
        key = (facts.type_string(name), producer, _small_constant(name, one, facts))
        found[depth] = facts.model.numbered_origins.setdefault(key, len(facts.model.numbered_origins))
    return found[depth]


def _small_constant(name: str, producer: NodeProto | None, facts: ScopeFacts) -> Hashable:
    """What tells small constants apart: an exponent, for example. None for all else."""
    if producer is not None:
        if producer.input or sum(map(_size, producer.attribute)) > _LARGEST_ATTRIBUTE:
            return None
        return tuple(attribute.SerializeToString() for attribute in producer.attribute)
    shape = facts.shape(name) if name and facts.is_initializer(name) else None
    if shape is None or math.prod(size if isinstance(size, int) else _MANY for size in shape) >= _MANY:
        return None
    value = facts.constant(name)
    return None if value is None or value.dtype == object else value.tobytes()


_MOST_COMPUTED = 1 << 16
"""Elements, up to which a value is computed to tell whether it is a constant."""

_MANY = 16
"""Elements, from which on a constant before a node is not looked at."""


def _size(message: object) -> int:
    return int(message.ByteSize())  # type: ignore[attr-defined]


def _value_key(name: str, scope: ScopeValues) -> Hashable | None:
    if not name:
        return ""
    if scope.parts(name) is not None:
        return None
    if not scope.facts.is_as_given(name):
        return _content_key(name, scope.facts)
    known = scope.facts.tables.value_keys
    if name not in known:
        known[name] = _content_key(name, scope.facts)
    return known[name]


def _with_numbered_symbols(values: Sequence[Hashable]) -> Hashable:
    """The keys of a node's values with numbers for symbolic sizes: which of them are equal matters, not their names."""
    numbers: dict[str, int] = {}
    return tuple(
        (
            value.dtype,
            tuple((numbers.setdefault(one, len(numbers)),) if isinstance(one, str) else one for one in value.shape),
            value.rest,
        )
        if isinstance(value, _ValueKey)
        else value
        for value in values
    )


class _ValueKey(NamedTuple):
    dtype: int
    shape: tuple[int | str | None, ...]
    rest: tuple[Hashable, ...]
    """Whether it is an initializer, and what else is known of it."""


def _content_key(name: str, facts: ScopeFacts) -> Hashable | None:
    found = facts.type_of(name)
    shape = None if found is None else _shape(found)
    if found is None or shape is None:
        return None
    dtype = found.tensor_type.elem_type
    is_initializer = facts.is_initializer(name)
    sizes = [size for size in shape if isinstance(size, int)]
    is_small = len(sizes) == len(shape) and is_compared(dtype, math.prod(sizes))
    if not is_small:
        size = math.prod(sizes) if len(sizes) == len(shape) else math.inf
        is_constant = _is_constant(name, facts, size, is_initializer=is_initializer)
        return None if is_constant is None else _ValueKey(dtype, tuple(shape), (is_initializer, is_constant))
    value = facts.constant(name)
    if value is None:
        return _ValueKey(dtype, tuple(shape), (is_initializer,))
    content = value.tobytes() if value.dtype != object else repr(value.tolist())
    return _ValueKey(dtype, tuple(shape), (is_initializer, content))


def _is_constant(name: str, facts: ScopeFacts, size: float, *, is_initializer: bool) -> bool | None:
    """Whether a value has the same content in every run; None where only its content would tell."""
    if not facts.is_as_given(name):
        return facts.is_constant(name)
    if is_initializer or name in facts.run_time_values():
        return is_initializer
    return facts.is_constant(name) if size <= _MOST_COMPUTED else None


def _shape(found: TypeProto) -> list[int | str | None] | None:
    return shape_of_type(found) if found.HasField("tensor_type") else None
