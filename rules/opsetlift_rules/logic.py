"""Logic on booleans.

And, Or, Xor  7: +numpy's broadcasting
Not           never changed
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Step
from opsetlift.rulebook.site import Site
from opsetlift_rules.helpers.broadcasting import compute_a_vector_as_a_row
from opsetlift_rules.helpers.legacy_broadcast import add_broadcast_attributes, remove_broadcast_attributes
from opsetlift_rules.helpers.truth_values import as_number, is_set


def combine_as_numbers(site: Site) -> None:
    """Compute And as a product, Or as a sum and Xor as a difference of the numbers 0 and 1."""
    op = site.op
    first, second = (as_number(site, op, value) for value in site.inputs)
    if site.node.op_type == "And":
        number = op.Mul(first, second)
    elif site.node.op_type == "Or":
        number = op.Add(first, second)
    else:
        number = op.Abs(op.Sub(first, second))
    site.replace(is_set(site, op, number))


STEPS = [
    Step("And", 1, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes(mirrored="And")),
    Step("Or", 1, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes(mirrored="Or")),
    Step("Xor", 1, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes(mirrored="Xor")),
]

FALLBACKS = [
    Fallback("Not", compute_a_vector_as_a_row),
    Fallback("And", combine_as_numbers),
    Fallback("Or", combine_as_numbers),
    Fallback("Xor", combine_as_numbers),
]
