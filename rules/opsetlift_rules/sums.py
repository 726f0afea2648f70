"""Sums and means of several tensors.

Sum, Mean  6: consumed_inputs goes · 8: +broadcasting · 13: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Step, unchanged
from opsetlift_rules.helpers.broadcasting import EQUAL_SHAPES, inputs_come_to_one_shape
from opsetlift_rules.helpers.consumed_inputs import consumed_inputs_go

STEPS = [
    Step("Sum", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Sum", 6, 8, up=unchanged, down=inputs_come_to_one_shape, because=EQUAL_SHAPES),
    Step("Mean", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Mean", 6, 8, up=unchanged, down=inputs_come_to_one_shape, because=EQUAL_SHAPES),
]
