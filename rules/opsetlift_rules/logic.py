"""Logic on booleans.

And, Or, Xor  7: +numpy's broadcasting
Not           never changed
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Step
from opsetlift_rules.helpers.legacy_broadcast import broadcast_attributes_go, broadcast_becomes_attributes

STEPS = [
    Step("And", 1, 7, up=broadcast_attributes_go, down=broadcast_becomes_attributes(mirrored="And")),
    Step("Or", 1, 7, up=broadcast_attributes_go, down=broadcast_becomes_attributes(mirrored="Or")),
    Step("Xor", 1, 7, up=broadcast_attributes_go, down=broadcast_becomes_attributes(mirrored="Xor")),
]
