"""Random numbers.

No text specifies the stream, "even if a seed is specified": what a step has to keep is the distribution, and the same
node is the best way to keep it.

Multinomial                            7: introduced · 22: +bfloat16
Bernoulli                              15: introduced · 22: +bfloat16
RandomNormal, RandomUniform            22: +bfloat16
RandomNormalLike, RandomUniformLike    22: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Introduction, Step, refused, rounding, unchanged
from opsetlift.rulebook.site import Site, has_attribute
from opsetlift.specification.dtypes import element_type
from opsetlift.support.refusal import Why


def draw_bfloat16_in_float(site: Site) -> None:
    """Draw bfloat16, which versions below 22 do not give, as float, and cast."""
    dtype = _dtype_of_result(site)
    if dtype == "bfloat16":
        site.set_attribute("dtype", element_type("float"))
    inputs = [_in_float(site, name) for name in site.inputs]
    if dtype != "bfloat16" and inputs == site.inputs:
        return
    if site.inputs and not has_attribute(site, "dtype"):
        site.set_attribute("dtype", element_type(dtype))
    drawn = site.op.copy(*inputs)
    if dtype == "bfloat16":
        site.rounds()
        drawn = site.op.Cast(drawn, to="bfloat16")
    site.replace(drawn)


def cast_probabilities_to_float(site: Site) -> None:
    """Cast bfloat16 probabilities of Bernoulli-22 or Multinomial-22 to float; the result has a dtype of its own."""
    inputs = [_in_float(site, name) for name in site.inputs]
    if inputs != site.inputs:
        if site.node.op_type == "Bernoulli" and not has_attribute(site, "dtype"):
            site.set_attribute("dtype", element_type("bfloat16"))
        site.replace(site.op.copy(*inputs))


def compare_uniform_numbers_with_probabilities(site: Site) -> None:
    """Replace Bernoulli-15 with RandomUniformLike < p.

    This gives 1 with probability p, as the text says; the function body gives 1 above p, a mistake. The numbers are
    doubles, so that they resolve every probability that a narrower input holds.
    """
    op = site.op
    attributes = {"seed": site.attribute("seed"), "dtype": element_type("double")}
    drawn = op.RandomUniformLike(site.input(0), low=0.0, high=1.0, **attributes)
    is_below = op.Less(drawn, op.Cast(site.input(0), to="double"))
    site.replace(op.Cast(is_below, to=_dtype_of_result(site)))


def _in_float(site: Site, name: str) -> str:
    return str(site.op.Cast(name, to="float")) if site.dtype(name) == "bfloat16" else name


def _dtype_of_result(site: Site) -> str:
    return site.dtype(site.output(0))


_DRAWN_IN_FLOAT = rounding(
    draw_bfloat16_in_float,
    ulps=1,
    when="bfloat16 is drawn",
    because="a float is drawn and rounded to bfloat16",
)

STEPS = [
    Step("RandomNormal", 1, 22, up=unchanged, down=_DRAWN_IN_FLOAT),
    Step("RandomUniform", 1, 22, up=unchanged, down=_DRAWN_IN_FLOAT),
    Step("RandomNormalLike", 1, 22, up=unchanged, down=_DRAWN_IN_FLOAT),
    Step("RandomUniformLike", 1, 22, up=unchanged, down=_DRAWN_IN_FLOAT),
    Step("Multinomial", 7, 22, up=unchanged, down=cast_probabilities_to_float),
    Step("Bernoulli", 15, 22, up=unchanged, down=cast_probabilities_to_float),
]

_RESOLUTION_IS_FINITE = refused(
    Why.NO_EQUIVALENT,
    (
        "below opset 7 only uniform and normal random numbers exist, and their finite resolution would "
        "change the probabilities of the classes"
    ),
)

INTRODUCTIONS = [
    Introduction("Bernoulli", 15, down=compare_uniform_numbers_with_probabilities),
    Introduction("Multinomial", 7, down=_RESOLUTION_IS_FINITE),
]
