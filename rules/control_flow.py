"""Conditions.

If  11: the branches' shapes may differ · 13, 16, 19, 21, 23, 24, 25: more types
"""

from __future__ import annotations

from converter.refusal import Why
from converter.rule import Step, unchanged
from converter.site import Site
from rules.broadcasting import have_one_shape


def branches_have_one_shape(site: Site) -> None:
    """Below 11 both branches give values of the same shape; whether they do has to be known."""
    for position, name in enumerate(site.node.output):
        shapes = [site.subgraph_output_shape(branch, position) for branch in ("then_branch", "else_branch")]
        if not have_one_shape(shapes):
            shown = " and ".join("unknown" if shape is None else str(shape) for shape in shapes)
            site.refuse(
                Why.SHAPE_UNKNOWN,
                f"below opset 11 both branches of If give values of one shape, and for {name!r} the shapes are {shown}",
            )


STEPS = [
    Step("If", 1, 11, up=unchanged, down=branches_have_one_shape, because="equal shapes are a case of different ones"),
]
