"""Element-wise minimum.

Min  6: consumed_inputs goes · 8: +broadcasting · 12: +the eight integer dtypes · 13: +bfloat16
"""

from __future__ import annotations

from functools import reduce

from converter.rule import Step, unchanged
from converter.site import Site
from rules.broadcasting import have_one_shape, onto_one_shape

# Each holds every value of the integer dtype, and keeps the order.
_FLOAT_CARRIERS = {
    "int8": "float",
    "uint8": "float",
    "int16": "float",
    "uint16": "float",
    "int32": "double",
    "uint32": "double",
}


def consumed_inputs_go(site: Site) -> None:
    """The attribute allowed a runtime to compute in place; it never said anything about the result."""
    site.remove_attribute("consumed_inputs")


def inputs_come_to_one_shape(site: Site) -> None:
    """Below 8 all inputs have one shape."""
    if have_one_shape([site.shape(name) for name in site.inputs]):
        return
    op = site.op_at(13)
    site.replace(site.copy(*onto_one_shape(site, op, site.inputs, site.dtype(0))))


def integers_are_compared(site: Site) -> None:
    """Up to 32 bits a float type holds all values; 64 bits are compared as they are, without a detour."""
    dtype = site.dtype(0)
    if dtype in _FLOAT_CARRIERS:
        site.carry(_FLOAT_CARRIERS[dtype])
    elif dtype in ("int64", "uint64"):
        _minimum_of_64_bits(site, dtype)


def _minimum_of_64_bits(site: Site, dtype: str) -> None:
    op = site.op
    inputs = site.inputs
    if len(inputs) == 1:
        site.replace(op.Identity(inputs[0]))
    elif site.target >= 9:
        site.replace(reduce(lambda left, right: op.Where(op.Less(left, right), left, right), inputs))
    else:
        # Below 9 neither Where exists nor Less for integers, but ReduceMin has always taken them.
        op = site.op_at(13)
        stacked = [op.Unsqueeze(value, site.constant_int64([0])) for value in onto_one_shape(site, op, inputs, dtype)]
        site.replace(op.ReduceMin(op.Concat(*stacked, axis=0), axes=[0], keepdims=0))


STEPS = [
    Step("Min", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Min", 6, 8, up=unchanged, down=inputs_come_to_one_shape, because="equal shapes are a case of broadcasting"),
    Step("Min", 8, 12, up=unchanged, down=integers_are_compared),
    Step("Min", 12, 13, up=unchanged, down=unchanged),
]
