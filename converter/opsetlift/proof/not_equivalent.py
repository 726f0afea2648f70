"""The error of a conversion that a proof refutes."""

from __future__ import annotations

import json
from typing import Any

from opsetlift.proof.certificate import Certificate
from opsetlift.support.errors import OpsetLiftError


class NotEquivalent(OpsetLiftError):
    """A site computes something else after the conversion; `certificate` says which. Nothing may be written."""

    def __init__(self, certificate: Certificate) -> None:
        self.certificate = certificate
        super().__init__(certificate.summary())

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"certificate": json.loads(self.certificate.to_json())}
