"""Helpers for narrow floats, which many operators take later than float."""

from __future__ import annotations

from collections.abc import Callable

from onnx import NodeProto

from opsetlift.rulebook.function_body import expand
from opsetlift.rulebook.rule import Rule, exact_cast, rounded_cast, rounding
from opsetlift.rulebook.site import Operators, Site

_NARROW = ("float16", "bfloat16")

BFLOAT16_IS_ADDED = "bfloat16 is added"
"""For steps of functions that add it and change nothing else."""

ROUNDED_ONCE = "computed in float and rounded to bfloat16 once"

cast_bfloat16_and_round = rounded_cast("bfloat16", through="float", because=ROUNDED_ONCE)
"""For functions whose results a bfloat16 does not hold."""

cast_bfloat16 = exact_cast("bfloat16", through="float")
"""For operators whose results are bfloat16 where their inputs are."""


def in_float(site: Site, op: Operators) -> tuple[str, list[str], Callable[[str], str]]:
    """The dtype of computation (float for narrower floats), the inputs cast to it, and the cast of a result back.

    For formulas of several steps, which would round each of them to few digits.
    """
    dtype = site.dtype(0)
    if dtype not in ("float16", "bfloat16"):
        return dtype, site.inputs, lambda value: value
    return "float", [op.Cast(name, to="float") for name in site.inputs], lambda value: str(op.Cast(value, to=dtype))


def compute_narrow_floats_in_float(site: Site) -> bool:
    """Compute a node with narrow floats among its inputs in float, cast in and out; returns whether it has any.

    The node keeps its operator and its opset. Only for rules that declare rounding: the results round once.
    """
    narrow = [position for position, name in enumerate(site.inputs) if name and site.dtype(name, "") in _NARROW]
    if not narrow:
        return False
    site.rounds(1)
    op = site.op_at(site.transition.source_version)
    wide = NodeProto()
    wide.CopyFrom(site.node)
    wide.name = ""
    for position in narrow:
        wide.input[position] = op.Cast(site.input(position), to="float")
    wide.output[:] = [name and op.fresh_name("wide") for name in site.node.output]
    op.add(wide)
    wanted = [site.dtype(name) if name else "" for name in site.node.output]
    site.replace(
        *(
            op.Cast(name, to=dtype) if name and site.dtype(name) != dtype else name
            for name, dtype in zip(wide.output, wanted, strict=True)
        )
    )
    return True


def expand_body_in_float(*, ulps: int, because: str) -> Rule:
    """The rule `function_body`, with narrow floats computed in float, so that not each step rounds to them."""

    def expand_the_function_body(site: Site) -> None:
        if not compute_narrow_floats_in_float(site):
            expand(site)

    return rounding(expand_the_function_body, ulps=ulps, because=because)
