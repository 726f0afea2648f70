"""Computes a node in a wider dtype: casts around the same operator."""

from __future__ import annotations

from opsetlift.rulebook.site.site import Site
from opsetlift.specification import history
from opsetlift.specification.dtypes import tensor_type
from opsetlift.specification.wider_dtypes import cast_back_attributes, exact_wider_dtype, wider_dtypes_of


def widen(site: Site, dtype: str, *, like: int = 0) -> None:
    """Replace the node with casts to a wider dtype, the same operator, and casts back.

    Args:
        site: The node.
        dtype: The wider dtype.
        like: The position of an input: cast are the inputs and outputs that share its type variable.
    """
    narrow = site.dtype(like)
    definition = history.definition(site.transition.domain, site.node.op_type, site.opset)
    assert definition is not None
    formals = definition.schema.inputs, definition.schema.outputs
    variable = formals[0][min(like, len(formals[0]) - 1)].type_str
    is_cast = [
        [
            bool(name) and declared[min(position, len(declared) - 1)].type_str == variable
            for position, name in enumerate(names)
        ]
        for declared, names in zip(formals, (site.node.input, site.node.output), strict=True)
    ]
    op = site.op
    wide = [op.Cast(name, to=dtype) if cast else name for name, cast in zip(site.inputs, is_cast[0], strict=True)]
    results = op.copy(*wide)
    results = (results,) if isinstance(results, str) else results
    back = cast_back_attributes(narrow)
    site.replace(
        *(op.Cast(name, to=narrow, **back) if cast else name for name, cast in zip(results, is_cast[1], strict=True))
    )


def wider_type_if_lost(site: Site, value: str | int, variable: str) -> str | None:
    """The best exact wider type for a value, if the type variable does not take its dtype in the destination version.

    None also where there is none; the type gate refuses such sites.
    """
    dtype = site.dtype(value, "")
    definition = history.definition(site.transition.domain, site.node.op_type, site.opset)
    if not dtype or definition is None:
        return None
    allowed = definition.allowed_types(variable)
    return None if tensor_type(dtype) in allowed else exact_wider_dtype(dtype, allowed, site.opset)


def widen_if_lost(site: Site, *, like: int = 0) -> None:
    """`widen` to the best exact wider type, where the destination version lacks the dtype of input `like`."""
    definition = history.definition(site.transition.domain, site.node.op_type, site.opset)
    if definition is None:
        return
    formals = definition.schema.inputs
    dtype = wider_type_if_lost(site, like, formals[min(like, len(formals) - 1)].type_str)
    if dtype is not None:
        widen(site, dtype, like=like)


def widen_to_kernel(site: Site, *, like: int = 0) -> bool:
    """`widen` to the first exact wider type of input `like` for which the runtime has a kernel.

    Returns:
        Whether there is such a type; without one nothing happens.
    """
    definition = history.definition(site.transition.domain, site.node.op_type, site.opset)
    assert definition is not None
    formals = definition.schema.inputs
    variable = formals[min(like, len(formals) - 1)].type_str
    allowed = definition.allowed_types(variable)
    for dtype in wider_dtypes_of(site.dtype(like)):
        if tensor_type(dtype) in allowed and site.computes(site.node.op_type, **{variable: dtype}):
            widen(site, dtype, like=like)
            return True
    return False
