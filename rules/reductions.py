"""Reductions.

Since 11 axes may be negative, 13 adds bfloat16, and since 18 (ReduceSum: 13) the axes are an input, no attribute.

ReduceMin, ReduceMax           12: +int8 +uint8 · 20: +bool
ReduceSum, ReduceProd, ReduceMean, ReduceL1, ReduceL2, ReduceSumSquare
ReduceLogSum, ReduceLogSumExp  28: integers go
"""

from __future__ import annotations

from converter.rule import Step, exact_cast, unchanged
from converter.site import Site
from rules.dtype_groups import FLOATING
from rules.reduction_axes import axes_become_attribute, axes_become_input, axes_count_from_front

# What the reduction of no elements gives.
_OF_NOTHING = {
    "ReduceMin": {"int8": 127, "uint8": 255},
    "ReduceMax": {"int8": -128, "uint8": 0},
}


def extreme_of_8_bits_travels_wider(site: Site) -> None:
    """The minimum over no elements is the dtype's largest value, which a plain detour through int32 would not give.

    Where a reduced dimension may be 0, float carries the values: there the minimum is +inf, which Clip brings to the
    largest value. The maximum mirrors this.
    """
    dtype, operator = site.dtype(0), site.node.op_type
    if dtype not in ("int8", "uint8"):
        return
    if _is_never_empty(site):
        site.carry("int32")
        return
    op = site.op
    wide = site.copy(op.Cast(site.input(0), to="float"))
    bound = site.scalar(_OF_NOTHING[operator][dtype], "float", "bound")
    clipped = op.Clip(wide, None, bound) if operator == "ReduceMin" else op.Clip(wide, bound)
    site.replace(op.Cast(clipped, to=dtype))


def _is_never_empty(site: Site) -> bool:
    shape = site.shape(0)
    if shape is None:
        return False
    axes = site.attribute("axes") or range(len(shape))
    return all(isinstance(shape[axis], int) and shape[axis] != 0 for axis in axes if -len(shape) <= axis < len(shape))


def integers_are_computed_in_double(site: Site) -> None:
    """Integers have no logarithm; that of their sum (which wraps around) is truncated, as far as runtimes take them."""
    dtype = site.dtype(0)
    if dtype in FLOATING:
        return
    site.rounds(1, "the text leaves the logarithm of integers open; it is computed in double and truncated")
    if site.node.op_type == "ReduceLogSumExp":
        site.carry("double")
        return
    op = site.op
    attributes = {name: site.attribute(name) for name in ("keepdims", "noop_with_empty_axes")}
    total = op.ReduceSum(*site.inputs, **attributes)
    site.replace(op.Cast(op.Log(op.Cast(total, to="double")), to=dtype))


_AXES = "11 states the range of axes, [-r, r-1], where 1 is silent; up, every axis that was legal stays what it was"
_EDITORIAL = "11 and 12 left out, and 13 put back, the sentences on rank 0 and on the empty set; nothing else differs"


def _axes_may_be_negative(operator: str) -> Step:
    return Step(operator, 1, 11, up=unchanged, down=axes_count_from_front, because=_AXES)


def _steps_of_extreme(operator: str) -> list[Step]:
    return [
        _axes_may_be_negative(operator),
        Step(operator, 11, 12, up=unchanged, down=extreme_of_8_bits_travels_wider, because=_EDITORIAL),
        Step(operator, 12, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
        Step(operator, 13, 18, up=axes_become_input, down=axes_become_attribute),
        Step(operator, 18, 20, up=unchanged, down=exact_cast("bool", through="uint8"), because="20 adds bool"),
    ]


def _steps(operator: str) -> list[Step]:
    return [
        _axes_may_be_negative(operator),
        Step(operator, 11, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
        Step(operator, 13, 18, up=axes_become_input, down=axes_become_attribute),
    ]


STEPS = [
    *_steps_of_extreme("ReduceMin"),
    *_steps_of_extreme("ReduceMax"),
    _axes_may_be_negative("ReduceSum"),
    Step("ReduceSum", 11, 13, up=axes_become_input, down=axes_become_attribute),
    *_steps("ReduceMean"),
    *_steps("ReduceProd"),
    *_steps("ReduceL1"),
    *_steps("ReduceL2"),
    *_steps("ReduceSumSquare"),
    *_steps("ReduceLogSum"),
    Step("ReduceLogSum", 18, 28, up=integers_are_computed_in_double, down=unchanged),
    *_steps("ReduceLogSumExp"),
    Step("ReduceLogSumExp", 18, 28, up=integers_are_computed_in_double, down=unchanged),
]
