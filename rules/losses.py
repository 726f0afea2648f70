"""Losses, each defined by the body that its schema gives it.

NegativeLogLikelihoodLoss  13: examples and layout of the text · 22: +bfloat16
SoftmaxCrossEntropyLoss    13: +bfloat16
"""

from __future__ import annotations

from converter.rule import Birth, Step, unchanged
from rules.narrow_floats import body_in_float, computed_bfloat16_step

_ULPS = 64
_IN_STEPS = "the body rounds after each of its steps, sums and logarithms among them; a kernel may keep more digits"
_LAYOUT = "13 sets the formulas and examples of the text as code; what they say is the same"

_body = body_in_float(ulps=_ULPS, because=_IN_STEPS)

STEPS = [
    Step("NegativeLogLikelihoodLoss", 12, 13, up=unchanged, down=unchanged, because=_LAYOUT),
    computed_bfloat16_step("NegativeLogLikelihoodLoss", 13, 22),
    Step("SoftmaxCrossEntropyLoss", 12, 13, up=unchanged, down=unchanged, because=_LAYOUT + "; bfloat16 is added"),
]

BIRTHS = [
    Birth("NegativeLogLikelihoodLoss", 12, down=_body),
    Birth("SoftmaxCrossEntropyLoss", 12, down=_body),
]
