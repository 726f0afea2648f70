"""Logic on booleans.

And, Or, Xor  7: +numpy's broadcasting
Not           never changed
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Step
from opsetlift_rules.helpers.legacy_broadcast import add_broadcast_attributes, remove_broadcast_attributes

STEPS = [
    Step("And", 1, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes(mirrored="And")),
    Step("Or", 1, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes(mirrored="Or")),
    Step("Xor", 1, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes(mirrored="Xor")),
]
