"""Activations that are as old as ONNX.

Relu                  6: consumed_inputs goes · 13: +bfloat16 · 14: +the signed integers
LeakyRelu             6: consumed_inputs goes · 16: +bfloat16
Elu, HardSigmoid      6: consumed_inputs goes · 22: +bfloat16
Selu                  6: consumed_inputs goes, more digits in the defaults · 22: +bfloat16
Sigmoid, Tanh         6: consumed_inputs goes · 13: +bfloat16
Softplus, Softsign    22: +bfloat16
"""

from __future__ import annotations

from converter.rule import Step, unchanged
from converter.site import Site
from rules.broadcasting import FLOATING
from rules.consumed_inputs import consumed_inputs_step

_SELU_DEFAULTS = {
    1: {"alpha": 1.6732, "gamma": 1.0507},
    6: {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875},
}


def old_defaults_are_written_down(site: Site) -> None:
    """Version 1 rounds the coefficients to four digits."""
    site.remove_attribute("consumed_inputs")
    _write_defaults(site, 1)


def new_defaults_are_written_down(site: Site) -> None:
    """The inverse."""
    _write_defaults(site, 6)


def _write_defaults(site: Site, version: int) -> None:
    for name, value in _SELU_DEFAULTS[version].items():
        if not site.has_attribute(name):
            site.set_attribute(name, value)


def integers_are_the_greater_of_zero(site: Site) -> None:
    """Max takes integers before Relu does."""
    dtype = site.dtype(0)
    if dtype not in FLOATING:
        site.replace(site.op.Max(site.input(0), site.scalar(0, dtype, "zero")))


STEPS = [
    consumed_inputs_step("Relu"),
    Step("Relu", 13, 14, up=unchanged, down=integers_are_the_greater_of_zero),
    consumed_inputs_step("LeakyRelu"),
    consumed_inputs_step("Elu"),
    consumed_inputs_step("HardSigmoid"),
    Step("Selu", 1, 6, up=old_defaults_are_written_down, down=new_defaults_are_written_down),
    consumed_inputs_step("Sigmoid"),
    consumed_inputs_step("Tanh"),
]
