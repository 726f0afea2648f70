"""Sums and means of several tensors.

Sum, Mean  6: -consumed_inputs · 8: +broadcasting · 13: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Step, unchanged
from opsetlift_rules.helpers.broadcasting import EQUAL_SHAPES, broadcast_inputs, copy_repeated_channels
from opsetlift_rules.helpers.consumed_inputs import remove_consumed_inputs

STEPS = [
    Step("Sum", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Sum", 6, 8, up=unchanged, down=broadcast_inputs, because=EQUAL_SHAPES),
    Step("Mean", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Mean", 6, 8, up=unchanged, down=broadcast_inputs, because=EQUAL_SHAPES),
]

FALLBACKS = [
    Fallback("Sum", copy_repeated_channels),
    Fallback("Mean", copy_repeated_channels),
]
