"""Expands a node to the function body of its schema: the specification's own lowering.

A body is written for an opset of its own, from which the walk takes the emitted nodes on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NoReturn

from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto

from opsetlift.model.arrays import Array
from opsetlift.model.inlining import rename
from opsetlift.model.scopes import imported_opsets, referenced_names, subgraphs
from opsetlift.rulebook.rule import Rule
from opsetlift.rulebook.site import Site, known_shape
from opsetlift.specification import history
from opsetlift.support.refusal import Why

_MOST_ELEMENTS = 64
"""Larger values that are known keep the nodes that compute them."""


def function_body(*, ulps: int = 0, because: str = "") -> Rule:
    """The rule that replaces a node by its schema's function body, at the definition that the transition leaves behind.

    A runtime's kernel and the body may round differently: then `ulps` bounds it and `because` says why. Raises, when
    applied, SiteRefused where the body depends on a type that is not known, or where there is none.
    """
    return Rule("expand the function body", expand, ulps=ulps, because=because)


def expand(site: Site) -> None:
    """Emit the function body of the site's node in its place."""
    definition = history.definition(site.transition.domain, site.node.op_type, site.transition.source_version)
    assert definition is not None
    types = []
    if definition.needs_context_for_body:
        for attribute in site.node.attribute:
            if attribute.ref_attr_name:
                _refuse_reference(site, attribute)
        for position, name in enumerate(site.node.input):
            found = site.type_of(name) if name else TypeProto()
            if found is None:
                site.refuse(
                    Why.DTYPE_UNKNOWN,
                    f"the function body depends on the type of input {position}, which cannot be inferred",
                )
            types.append(found)
    node = NodeProto()
    node.CopyFrom(site.node)
    # A body that depends on the node is made with its outputs, each of which needs a name for that.
    node.output[:] = [name or site.op.fresh_name("unused") for name in node.output]
    function = definition.function_body(node, types)
    if function is None:
        site.refuse(Why.NO_EQUIVALENT, f"{site.node.op_type} has no function body for these inputs")
    attributes = {a.name: a.default_value for a in definition.schema.attributes.values() if a.default_value.name}
    attributes.update({attribute.name: attribute for attribute in site.node.attribute})
    _emit(site, function, attributes)


def _emit(site: Site, function: FunctionProto, attributes: Mapping[str, AttributeProto]) -> None:
    """Emit the body's nodes, but for small values that are known: bodies count sizes, which are often static."""
    names = {"": ""}
    for position, formal in enumerate(function.input):
        names[formal] = site.input(position)
    opsets = imported_opsets(function.opset_import)
    known: dict[str, Array] = {}

    def materialize(formals: Iterable[str]) -> None:
        for formal in formals:
            if formal in known:
                names[formal] = site.constant(known.pop(formal), hint=formal)

    for body_node in function.node:
        node = NodeProto()
        node.CopyFrom(body_node)
        _bind_attributes(site, node, attributes)
        for _, graph in subgraphs(body_node):
            materialize(referenced_names(graph))
        rename([node], names, site.op.fresh_name)
        node.name = ""
        op = site.op_at(opsets[history.canonical_domain(node.domain)])
        op.preview(node)
        value = _small_value(site, node)
        if value is not None:
            known[body_node.output[0]] = value
            continue
        # In a function the constants that this emits are nodes, and come before the one that reads them.
        materialize(body_node.input)
        node.input[:] = [names.get(formal, formal) for formal in body_node.input]
        op.add(node)
    materialize(function.output)
    # An output that the node does not ask for is one that a body made for it may leave out.
    site.replace(*(names.get(output) for output in function.output[: len(site.node.output)]))


def _small_value(site: Site, node: NodeProto) -> Array | None:
    """The value of a node's only output, where it is known and small."""
    if len(node.output) != 1:
        return None
    shape = known_shape(site, node.output[0])
    if shape is None or math.prod(shape) > _MOST_ELEMENTS:
        return None
    return site.constant_value(node.output[0])


def _bind_attributes(site: Site, node: NodeProto, values: Mapping[str, AttributeProto]) -> None:
    for position in reversed(range(len(node.attribute))):
        attribute = node.attribute[position]
        if attribute.ref_attr_name:
            value = values.get(attribute.ref_attr_name)
            if value is None:
                del node.attribute[position]
                continue
            if value.ref_attr_name:
                _refuse_reference(site, value)
            name = attribute.name
            attribute.CopyFrom(value)
            attribute.name = name
        elif attribute.type == AttributeProto.GRAPH:
            for inner in attribute.g.node:
                _bind_attributes(site, inner, values)


def _refuse_reference(site: Site, attribute: AttributeProto) -> NoReturn:
    site.refuse(
        Why.ATTRIBUTE_REFERENCE, f"the value of attribute {attribute.name} is known only at each call of the function"
    )
