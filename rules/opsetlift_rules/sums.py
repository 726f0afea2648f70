"""Sums and means of several tensors.

Sum, Mean  6: -consumed_inputs · 8: +broadcasting · 13: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Step, rounding, unchanged
from opsetlift.rulebook.site import Site
from opsetlift_rules.helpers.broadcasting import EQUAL_SHAPES, broadcast_inputs, copies_repeated_channels
from opsetlift_rules.helpers.consumed_inputs import remove_consumed_inputs
from opsetlift_rules.helpers.dtype_groups import FLOATING


def copy_one_term_or_repeated_channels(site: Site) -> None:
    """Write a Sum or Mean of one term as Identity; else copy the inputs where broadcasting may repeat channels."""
    if len(site.inputs) == 1:
        site.replace(site.op.Identity(site.input(0)))
    else:
        copies_repeated_channels(site)


def divide_the_sum_of_many(site: Site) -> None:
    """Write a Mean of more than three values as a quotient, for runtimes that divide by others; else copy channels."""
    if len(site.inputs) <= _FEW or site.dtype(0) not in FLOATING:
        copy_one_term_or_repeated_channels(site)
        return
    site.rounds()
    op = site.op
    site.replace(op.Div(op.Sum(*site.inputs), site.constant(len(site.inputs), site.dtype(0), "count")))


_FEW = 3

_QUOTIENT = rounding(
    divide_the_sum_of_many,
    ulps=2,
    when="there are more than three values",
    because="a kernel may divide before it adds",
)

STEPS = [
    Step("Sum", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Sum", 6, 8, up=unchanged, down=broadcast_inputs, because=EQUAL_SHAPES),
    Step("Mean", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Mean", 6, 8, up=unchanged, down=broadcast_inputs, because=EQUAL_SHAPES),
]

FALLBACKS = [
    Fallback("Sum", copy_one_term_or_repeated_channels),
    Fallback("Mean", _QUOTIENT),
]
