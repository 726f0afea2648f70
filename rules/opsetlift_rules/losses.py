"""Losses, which their function bodies define.

NegativeLogLikelihoodLoss  13: examples and layout of the text · 22: +bfloat16
SoftmaxCrossEntropyLoss    13: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Introduction, Step, rounding, unchanged
from opsetlift.rulebook.site import Site
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.narrow_floats import (
    BFLOAT16_IS_ADDED,
    cast_bfloat16_and_round,
    compute_narrow_floats_in_float,
    expand_body_in_float,
)

_ULPS = 64
_IN_STEPS = "the function body rounds at each step; a kernel may keep more digits"
_LAYOUT = "13 only formats the formulas and examples as code"


def decompose_into_log_softmax_and_loss(site: Site) -> None:
    """Replace SoftmaxCrossEntropyLoss-12 with LogSoftmax and NegativeLogLikelihoodLoss.

    These are the parts of its function body, without the Reshape to three dimensions.
    """
    if compute_narrow_floats_in_float(site):
        return
    op = site.op_at(opsets.BFLOAT16)
    logarithms = op.LogSoftmax(site.input(0), axis=1)
    attributes = {name: site.attribute(name) for name in ("reduction", "ignore_index")}
    site.replace(op.NegativeLogLikelihoodLoss(logarithms, *site.inputs[1:], **attributes), logarithms)


STEPS = [
    Step("NegativeLogLikelihoodLoss", 12, 13, up=unchanged, down=unchanged, because=_LAYOUT),
    Step("NegativeLogLikelihoodLoss", 13, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("SoftmaxCrossEntropyLoss", 12, 13, up=unchanged, down=unchanged, because=_LAYOUT + "; bfloat16 is added"),
]

_DECOMPOSE_INTO_LOG_SOFTMAX_AND_LOSS = rounding(decompose_into_log_softmax_and_loss, ulps=_ULPS, because=_IN_STEPS)

_EXPAND = expand_body_in_float(ulps=_ULPS, because=_IN_STEPS)

INTRODUCTIONS = [
    Introduction("NegativeLogLikelihoodLoss", 12, down=_EXPAND),
    Introduction("SoftmaxCrossEntropyLoss", 12, down=_DECOMPOSE_INTO_LOG_SOFTMAX_AND_LOSS),
]

FALLBACKS = [
    Fallback("NegativeLogLikelihoodLoss", _EXPAND),
    Fallback("SoftmaxCrossEntropyLoss", _DECOMPOSE_INTO_LOG_SOFTMAX_AND_LOSS),
]
