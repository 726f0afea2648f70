"""Det.

Det  11: introduced · 22: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Introduction, Step, rounding, unchanged
from opsetlift.rulebook.site import Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.narrow_floats import BFLOAT16_IS_ADDED, cast_bfloat16_and_round


def decompose_determinant(site: Site) -> None:
    """Replace Det-11 of 1x1 and 2x2 matrices with products and a difference, in double.

    Floats [*batch, M, M]; the result is [*batch].
    """
    dtype, shape = site.dtype(0), site.shape(0)
    size = shape[-1] if shape else None
    if not isinstance(size, int):
        site.refuse(
            Why.SHAPE_UNKNOWN,
            "below opset 11 a determinant is computed from its elements, so the size of the matrices must be known",
        )
    if size not in (1, 2):
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                f"below opset 11 a determinant is a sum of products; with {size} rows this differs from "
                "elimination where an element is infinite"
            ),
        )
    if dtype == "double":
        site.refuse(
            Why.NO_EQUIVALENT,
            "a determinant computed as a difference of products loses digits, and there is no wider type than double",
        )
    assert shape is not None
    op = site.op_at(opsets.AXES_AS_INPUTS)
    batch = len(shape) - 2
    last = site.constant([batch, batch + 1], "int64")
    if size == 1:
        site.replace(op.Squeeze(site.input(0), last))
        return
    wide = op.Cast(site.input(0), to="double")

    def entry(row: int, column: int) -> str:
        of_row = op.Gather(wide, site.constant([row], "int64", "row"), axis=batch)
        return str(op.Gather(of_row, site.constant([column], "int64", "column"), axis=batch + 1))

    difference = op.Sub(op.Mul(entry(0, 0), entry(1, 1)), op.Mul(entry(0, 1), entry(1, 0)))
    site.replace(op.Cast(op.Squeeze(difference, last), to=dtype))


STEPS = [
    Step("Det", 11, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
]

_DECOMPOSE_DETERMINANT = rounding(
    decompose_determinant,
    ulps=1,
    because="computed as a difference of products in double; a kernel may use elimination",
)

INTRODUCTIONS = [
    Introduction("Det", 11, down=_DECOMPOSE_DETERMINANT),
]
