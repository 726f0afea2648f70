"""Logic on booleans.

And, Or, Xor  7: +numpy's broadcasting
Not           never changed
"""

from __future__ import annotations

from opsetlift_rules.helpers.legacy_broadcast import broadcast_step

STEPS = [broadcast_step(operator, 1, mirrored=operator) for operator in ("And", "Or", "Xor")]
