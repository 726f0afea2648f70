"""Helpers for the bodies of control flow: values cast where they enter and leave a subgraph."""

from __future__ import annotations

from onnx import GraphProto, TypeProto

from opsetlift.rulebook.rule import for_lost_types
from opsetlift.rulebook.site import Dims, Operators, Site, wider_type_if_lost
from opsetlift.specification.dtypes import shape_of_type, tensor_type_proto
from opsetlift.support.refusal import Why

WiderDtypes = list[str | None]


def subgraph_output_shape(site: Site, attribute: str, position: int) -> Dims | None:
    """The shape of an output of one of the node's subgraphs; None where its rank is not known."""
    graph: GraphProto = site.attribute(attribute)
    output = graph.output[position]
    return shape_of_type(site.type_inside(attribute, output.name) or output.type)


def subgraph_input_types(site: Site, attribute: str) -> list[TypeProto]:
    """The types of the inputs of one of the node's subgraphs.

    Raises:
        SiteRefused: One is not known.
    """
    graph: GraphProto = site.attribute(attribute)
    types = []
    for info in graph.input:
        found = site.type_inside(attribute, info.name) or info.type
        if not found.WhichOneof("value"):
            site.refuse(Why.DTYPE_UNKNOWN, f"the type of {info.name!r}, an input of {attribute}, is not known")
        types.append(found)
    return types


@for_lost_types
def cast_values_around_the_body(site: Site) -> None:
    """Cast values of types that the older node does not take where they enter and leave its body.

    They pass through the node in a wider type; inside of the body Cast restores the type.
    """
    taken, given = (
        [wider_type_if_lost(site, name, "V") if name else None for name in names]
        for names in (site.node.input, site.node.output)
    )
    if not any((*taken, *given)):
        return
    bodies = [attribute.name for attribute in site.node.attribute if attribute.HasField("g")]
    is_loop = site.node.op_type == "Loop"
    for attribute in site.node.attribute:
        if attribute.HasField("g") and len(attribute.g.output) - is_loop != len(given):
            count = len(attribute.g.output) - is_loop
            site.refuse(Why.INVALID_MODEL, f"{attribute.name} gives {count} results, and the node {len(given)}")
    # The body of a Loop gives the condition, too, which the node does not.
    graphs = {name: _with_casts(site, name, taken, [None, *given] if is_loop else given) for name in bodies}
    op = site.op
    inputs = [op.Cast(name, to=dtype) if dtype else name for name, dtype in zip(site.inputs, taken, strict=True)]
    results = site.op.copy(*inputs, **graphs)
    results = (results,) if isinstance(results, str) else results
    for result, name, dtype in zip(results, site.node.output, given, strict=True):
        if dtype:
            site.op.declare(result, dtype, site.shape(name))
    site.replace(
        *(
            op.Cast(result, to=site.dtype(name)) if dtype else result
            for result, name, dtype in zip(results, site.node.output, given, strict=True)
        )
    )


def _with_casts(site: Site, body: str, taken: WiderDtypes, given: WiderDtypes) -> GraphProto:
    types = subgraph_input_types(site, body)
    narrow = [site.dtype(name) if dtype else "" for name, dtype in zip(site.inputs, taken, strict=True)]
    wide = [
        tensor_type_proto(dtype, shape_of_type(kind)) if dtype else kind
        for kind, dtype in zip(types, taken or [None] * len(types), strict=False)
    ]

    def build(op: Operators, *inputs: str) -> list[str]:
        values = [op.Cast(value, to=dtype) if dtype else value for value, dtype in zip(inputs, narrow, strict=False)]
        results = op.inline(body, *values, keep_names=True)
        return [op.Cast(name, to=dtype) if dtype else name for name, dtype in zip(results, given, strict=True)]

    return site.op.subgraph(build, takes=wide)
