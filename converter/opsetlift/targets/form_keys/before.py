"""Keys of the nodes before a node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from onnx import NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import key
from opsetlift.targets.form_keys.shared import MOST_STEPS_BEHIND, is_after, last_axes_taken
from opsetlift.targets.narrowing_casts import follows_a_narrowing_cast

_SQUARE = 2


@key(frozenset)
def after(place: Place, names: frozenset[str]) -> bool:
    """Operators of which one computes its first input."""
    return is_after(place.node, names, place.scope)


@key(frozenset)
def not_after(place: Place, names: frozenset[str]) -> bool:
    """Operators none of which computes its first input."""
    return not is_after(place.node, names, place.scope)


@key(frozenset, steps=MOST_STEPS_BEHIND)
def behind(place: Place, names: frozenset[str]) -> bool:
    """Operators of which one computes its first input, or what that is computed from, up to a dozen nodes before."""
    return _is_behind(place.node, names, place.scope)


@key(frozenset, steps=MOST_STEPS_BEHIND)
def not_behind(place: Place, names: frozenset[str]) -> bool:
    """Operators of which none does so."""
    return not _is_behind(place.node, names, place.scope)


@key(tuple, steps=len)
def chain(place: Place, operators: tuple[str, ...]) -> bool:
    """Operators that lead to it: the first computes one of its inputs, the next one of that one's, and so on.

    "Add|Sub" stands for either.
    """
    return bool(_end_of_chain(place.node, operators, place.scope))


@key(bool, of="chain")
def chain_computes(place: Place, chain: Sequence[str]) -> bool:
    """Whether what starts the chain reads no constants."""
    scope = place.scope
    found = _end_of_chain(place.node, chain, scope)
    return any(not any(scope.is_constant(name) for name in one.input if name) for one in found)


@key(bool, of="chain")
def chain_reads_constant_first(place: Place, chain: Sequence[str]) -> bool:
    """Whether the first input of what starts the chain is a constant."""
    scope = place.scope
    return any(scope.is_constant(one.input[0]) for one in _end_of_chain(place.node, chain, scope))


@key(bool, of="chain")
def chain_starts_elsewhere(place: Place, chain: Sequence[str]) -> bool:
    """Whether the node reads nothing that what starts the chain reads, nor a product of that with a constant."""
    node, scope = place.node, place.scope
    read = {name for name in node.input if name and not scope.is_constant(name)}
    factors = [one for name in read if (one := scope.producer(name)) is not None and one.op_type == "Mul"]
    read |= {name for one in factors if any(map(scope.is_constant, one.input)) for name in one.input}
    return any(read.isdisjoint(one.input) for one in _end_of_chain(node, chain, scope))


@key(bool, of="chain")
def chain_starts_with_other_dtype(place: Place, chain: Sequence[str]) -> bool:
    """Whether the first input of what starts the chain has another dtype than the node gives."""
    node, scope = place.node, place.scope
    dtype = scope.type_string(node.output[0])
    return any(scope.type_string(one.input[0]) != dtype for one in _end_of_chain(node, chain, scope))


@key(bool, of="chain")
def is_read_beside(place: Place, chain: Sequence[str]) -> bool:
    """Whether something else, too, reads a result along the chain, or a product that is one of its inputs."""
    node, scope = place.node, place.scope
    before = [producer for name in node.input if name and (producer := scope.producer(name)) is not None]
    found = [one for one in before if one.op_type == "Mul"]
    last = [node]
    for operator in chain:
        producers = [scope.producer(name) for one in last for name in one.input if name]
        last = [one for one in producers if one is not None and _is_one_of(operator, one)]
        found += last
    return any(scope.is_shared(one.output[0]) for one in found)


@key(bool, of="chain")
def misfits_normalized_axes(place: Place, chain: Sequence[str]) -> bool:
    """Whether a constant that it or the first of the chain reads fits no ReduceMean of last axes in the chain.

    It has another shape than those axes, over which the mean is taken.
    """
    node, scope = place.node, place.scope
    found = [node]
    factors = list(node.input)
    for step, operator in enumerate(chain):
        producers = [scope.producer(name) for one in found for name in one.input if name]
        found = [one for one in producers if one is not None and _is_one_of(operator, one)]
        factors += [name for one in found if step == 0 for name in one.input]
        if operator == "ReduceMean":
            break
    shapes = {value.shape for name in factors if name and (value := scope.content(name)) is not None}
    return any(shapes - {taken} for mean in found if (taken := last_axes_taken(mean, scope)) is not None)


@key(bool, steps=2)
def follows_a_product_of_products(place: Place) -> bool:
    """Whether its first input is a Mul one of whose inputs is a Mul, too."""
    scope = place.scope
    product = scope.producer(place.node.input[0])
    factors = map(scope.producer, product.input) if product is not None and product.op_type == "Mul" else ()
    return any(one is not None and one.op_type == "Mul" for one in factors)


@key(bool, steps=2)
def has_other_powers(place: Place) -> bool:
    """Whether Pow computes its first input, and the exponent is not 2."""
    scope = place.scope
    before = scope.producer(place.node.input[0])
    if before is None or before.op_type != "Pow":
        return False
    exponent = scope.constant(before.input[1])
    return exponent is None or not bool((exponent == _SQUARE).all())


@key(bool, steps=2)
def reads_copies(place: Place) -> bool:
    """Whether an input is another value as it is: from Identity, Dropout, or a Cast to the dtype that it has."""
    return any(_copies(name, place.scope) for name in place.node.input if name)


@key(bool, steps=2)
def leaves_remainders(place: Place) -> bool:
    """Whether it divides what no Sub took the remainder off before, by a Mod with fmod."""
    node, scope = place.node, place.scope
    difference = scope.producer(node.input[0])
    remainder = scope.producer(difference.input[1]) if difference is not None and difference.op_type == "Sub" else None
    return not (
        difference is not None
        and remainder is not None
        and remainder.op_type == "Mod"
        and [*remainder.input] == [difference.input[0], node.input[1]]
        and any(one.name == "fmod" and one.i for one in remainder.attribute)
    )


@key(bool)
def has_slope_above_one(place: Place) -> bool:
    """Whether it takes a value and the product of it with one number, which is no constant of at most 1."""
    node, scope = place.node, place.scope
    for name in node.input:
        product = scope.producer(name)
        if product is None or product.op_type != "Mul":
            continue
        for value, factor in (product.input, product.input[::-1]):
            shape = scope.shape(factor)
            is_single = shape is None or all(size == 1 for size in shape)
            number = scope.constant(factor) if is_single and value in node.input else None
            if is_single and value in node.input and not (number is not None and (number <= 1).all()):
                return True
    return False


@key(bool)
def changes_scales(place: Place) -> bool:
    """Whether it stands between a DequantizeLinear and a QuantizeLinear with another scale or zero point.

    The one computes its first input, the other reads an output.
    """
    node, scope = place.node, place.scope
    before = scope.producer(node.input[0])
    if before is None or before.op_type != "DequantizeLinear":
        return False
    readers = [one for name in node.output if name for one in scope.index.readers(name)]
    quantizing = [one for one in readers if one.op_type == "QuantizeLinear"]
    return any(not _are_equal(one.input[1:], before.input[1:], scope) for one in quantizing)


@key(bool, steps=2)
def undoes_cast(place: Place) -> bool:
    """Whether it casts back to the dtype from which a Cast before it came."""
    node, scope = place.node, place.scope
    before = scope.producer(node.input[0])
    if before is None or before.op_type != "Cast":
        return False
    return scope.type_string(before.input[0]) == scope.type_string(node.output[0])


@key(bool, steps=2)
def follows_narrowing_cast(place: Place) -> bool:
    """Whether it casts on what a Cast before it lost numbers of, to more than that dtype holds or to truth values."""
    return follows_a_narrowing_cast(place.node, place.scope)


def _is_behind(node: NodeProto, operators: frozenset[str], scope: ScopeFacts) -> bool:
    """Whether one of the operators is before the node, as far back as keys of equal nodes tell."""
    pending = {name for name in node.input[:1] if name}
    for _ in range(MOST_STEPS_BEHIND):
        producers = [producer for name in pending if (producer := scope.producer(name)) is not None]
        if any(one.op_type in operators for one in producers):
            return True
        pending = {name for one in producers for name in one.input if name}
    return False


def _is_one_of(operators: str, node: NodeProto) -> bool:
    return node.op_type in operators.split("|")


def _end_of_chain(node: NodeProto, operators: Sequence[str], scope: ScopeFacts) -> list[NodeProto]:
    """The last of a chain: an input of the node comes from the first operator, one of that one's from the next..."""
    before = [node]
    for operator in operators:
        producers = [scope.producer(name) for one in before for name in one.input if name]
        before = [one for one in producers if one is not None and _is_one_of(operator, one)]
    return before


def _copies(name: str, scope: ScopeFacts) -> bool:
    producer = scope.producer(name)
    if producer is None or producer.op_type not in ("Identity", "Dropout", "Cast"):
        return False
    return producer.op_type != "Cast" or scope.type_string(producer.input[0]) == scope.type_string(name)


def _are_equal(names: Sequence[str], others: Sequence[str], scope: ScopeFacts) -> bool:
    def is_equal(name: str, other: str) -> bool:
        values = [scope.content(name), scope.content(other)] if name and other else [None, None]
        return name == other or (all(one is not None for one in values) and numpy.array_equal(*values))

    return len(names) == len(others) and all(map(is_equal, names, others))
