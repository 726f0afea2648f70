"""Helpers for the bodies of control flow: values cast where they enter and leave a subgraph."""

from __future__ import annotations

from onnx import GraphProto

from opsetlift.rulebook.rule import for_lost_types
from opsetlift.rulebook.site import Operators, Site
from opsetlift.specification.dtypes import shape_of_type, tensor_type_proto

Carriers = list[str | None]


@for_lost_types
def cast_values_around_the_body(site: Site) -> None:
    """Cast values of types that the older node does not take where they enter and leave its body.

    They pass through the node in a wider type; inside of the body Cast restores the type.
    """
    taken, given = (
        [site.wider_type_if_lost(name, "V") if name else None for name in names]
        for names in (site.node.input, site.node.output)
    )
    if not any((*taken, *given)):
        return
    bodies = [attribute.name for attribute in site.node.attribute if attribute.HasField("g")]
    is_loop = site.node.op_type == "Loop"
    # The body of a Loop gives the condition, too, which the node does not.
    graphs = {name: _with_casts(site, name, taken, [None, *given] if is_loop else given) for name in bodies}
    op = site.op
    inputs = [op.Cast(name, to=dtype) if dtype else name for name, dtype in zip(site.inputs, taken, strict=True)]
    results = site.copy(*inputs, **graphs)
    results = (results,) if isinstance(results, str) else results
    for result, name, dtype in zip(results, site.node.output, given, strict=True):
        if dtype:
            site.declare(result, dtype, site.shape(name))
    site.replace(
        *(
            op.Cast(result, to=site.dtype(name)) if dtype else result
            for result, name, dtype in zip(results, site.node.output, given, strict=True)
        )
    )


def _with_casts(site: Site, body: str, taken: Carriers, given: Carriers) -> GraphProto:
    types = site.subgraph_input_types(body)
    narrow = [site.dtype(name) if dtype else "" for name, dtype in zip(site.inputs, taken, strict=True)]
    wide = [
        tensor_type_proto(dtype, shape_of_type(kind)) if dtype else kind
        for kind, dtype in zip(types, taken or [None] * len(types), strict=False)
    ]

    def build(op: Operators, *inputs: str) -> list[str]:
        values = [op.Cast(value, to=dtype) if dtype else value for value, dtype in zip(inputs, narrow, strict=False)]
        results = op.inline(body, *values, keep_names=True)
        return [op.Cast(name, to=dtype) if dtype else name for name, dtype in zip(results, given, strict=True)]

    return site.subgraph(build, takes=wide)
