"""Where a conversion goes: opsets by domain, from what was asked for and from what a runtime takes."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import ModelProto
from onnx.helper import VERSION_TABLE

from opsetlift.model.ir_version import OLDEST_IR_VERSION
from opsetlift.model.scopes import imported_opsets
from opsetlift.specification.history import (
    AI_ONNX,
    AI_ONNX_ML,
    CONVERTED_DOMAINS,
    canonical_domain,
    display_domain,
    latest_opset,
)
from opsetlift.support.errors import OpsetLiftError
from opsetlift.targets import Target


class UnreachableTarget(OpsetLiftError, ValueError):
    """No such opset or IR version, or no such domain among those that OpsetLift has rules for."""


def check_ir_version(ir: int, runtime: Target | None) -> None:
    """Raises UnreachableTarget for one that does not exist or that the runtime does not take."""
    if not OLDEST_IR_VERSION <= ir <= onnx.IR_VERSION:
        known = f"{OLDEST_IR_VERSION} to {onnx.IR_VERSION}"
        raise UnreachableTarget(f"there is no IR version {ir}; the installed onnx supports {known}")
    if runtime is not None and ir not in runtime.ir_versions:
        raise UnreachableTarget(f"{runtime.spelling} takes IR version {runtime.ir_versions}, not the requested {ir}")


def check_opsets(wanted: Mapping[str, int]) -> None:
    """Raises UnreachableTarget for an opset that does not exist, or a domain that there are no rules for."""
    for spelt, opset in wanted.items():
        domain = canonical_domain(spelt)
        if domain not in CONVERTED_DOMAINS:
            known = " and ".join(map(display_domain, CONVERTED_DOMAINS))
            raise UnreachableTarget(f"there are no rules for the domain {domain!r}, only for {known}")
        latest = latest_opset(domain)
        if not 1 <= opset <= latest:
            shown = display_domain(domain)
            raise UnreachableTarget(f"{shown} has no opset {opset}; the installed onnx knows 1 to {latest}")


def opsets_to_reach(
    to: Mapping[str, int] | None, source: ModelProto, runtime: Target | None, *, is_complete: bool
) -> dict[str, int]:
    """The opsets to go to, by domain; with `is_complete`, also of the domains that are to stay where they are."""
    imports = imported_opsets(source.opset_import)
    everywhere = {**imports}
    for function in source.functions:
        everywhere = {**imported_opsets(function.opset_import), **everywhere}
    wanted = {canonical_domain(domain): opset for domain, opset in (to or {}).items()}
    if is_complete or runtime is not None:
        nearest = {
            domain: opset if runtime is None else runtime.opset_for(domain, opset)
            for domain, opset in everywhere.items()
            if domain in CONVERTED_DOMAINS
        }
        wanted = {**nearest, **wanted}
    if runtime is not None:
        _check_opsets_of_runtime(wanted, runtime)
    check_opsets(wanted)
    for domain, opset in imports.items():
        if domain in CONVERTED_DOMAINS and not 1 <= opset <= latest_opset(domain):
            shown = display_domain(domain)
            raise UnreachableTarget(
                f"the model imports opset {opset} of {shown}; the installed onnx knows 1 to {latest_opset(domain)}"
            )
    reached = {domain: opset for domain, opset in wanted.items() if domain in everywhere}
    if AI_ONNX not in everywhere and (AI_ONNX_ML in reached or runtime is not None):
        # What takes the place of operators of ai.onnx.ml may be of ai.onnx, and so is what a runtime needs besides.
        reached[AI_ONNX] = wanted.get(AI_ONNX) or _released_with(reached.get(AI_ONNX_ML, 1), runtime)
    return reached


def _released_with(ml_opset: int, runtime: Target | None) -> int:
    """The first opset of ai.onnx that came with one of ai.onnx.ml, or what the runtime takes in its place.

    Not below 7 of itself: it is the oldest that runtimes promise to take, and the first whose operators broadcast.
    """
    # Rows are (release, IR version, ai.onnx, ai.onnx.ml, ...), the oldest first.
    first = next(int(row[2]) for row in VERSION_TABLE if len(row) > 3 and row[3] == ml_opset)
    opset = max(first, 7)
    return runtime.opset_for(AI_ONNX, opset) if runtime else opset


def _check_opsets_of_runtime(wanted: Mapping[str, int], runtime: Target) -> None:
    for domain, opset in wanted.items():
        taken = runtime.opsets.get(domain)
        if taken is not None and opset not in taken:
            shown = display_domain(domain)
            raise UnreachableTarget(f"{runtime.spelling} takes opset {taken} of {shown}, not the requested {opset}")
