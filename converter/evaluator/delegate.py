"""The `onnx.reference` kernels that are exact for a version and not slow: an allow-list by exact since-version."""

from __future__ import annotations

from collections.abc import Mapping

from converter.evaluator.kernels.registry import Kernel

DELEGATED: Mapping[tuple[str, str], frozenset[int]] = {}
"""(domain, operator) -> the since-versions whose text was compared with what the kernel of onnx.reference does."""


def find_delegate(domain: str, operator: str, since_version: int) -> Kernel | None:
    """The delegated kernel of exactly this definition, or None where it is not on the list."""
    if since_version not in DELEGATED.get((domain, operator), ()):
        return None
    return None
