"""`opsetlift targets`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType

from opsetlift.cli.errors import DONE
from opsetlift.cli.output import show, show_versioned, table
from opsetlift.specification.history import display_domain
from opsetlift.support.text import printable
from opsetlift.targets import Target, catalogue, find_target

_SHOWN = 6
"""So many operators are named of those of which the same is said."""


def show_targets(name: str | None, *, as_json: bool) -> int:
    """Print the known runtimes, or what one of them accepts; returns the exit status."""
    if as_json:
        targets = [find_target(name)] if name else _all_targets()
        show_versioned({"targets": [_target_as_dict(one) for one in targets]})
    elif name:
        show(*_target_page(find_target(name)))
    else:
        show(_targets_table())
    return DONE


def _all_targets() -> Iterator[Target]:
    """Every version of every runtime."""
    for runtime in catalogue().values():
        yield from runtime.targets


def _targets_table() -> RenderableType:
    """A line for each version of each runtime."""
    rows = []
    for target in _all_targets():
        opsets = [str(target.opsets[domain]) if domain in target.opsets else "" for domain in ("", "ai.onnx.ml")]
        rows.append((target.spelling, target.title, *opsets, str(target.ir_versions)))
    return table(("target", "runtime", "ai.onnx", "ai.onnx.ml", "IR version"), rows)


def _target_page(target: Target) -> Iterator[RenderableType]:
    """What one version of a runtime accepts, with the source of each fact."""
    yield printable(f"{target.spelling}: {target.title} {target.version}")
    if target.note:
        yield printable(f"Note: {target.note}.")
    facts = {"opset": "ai.onnx", "ml_opset": "ai.onnx.ml"}
    for key, domain in facts.items():
        found = target.opsets.get("" if domain == "ai.onnx" else domain)
        yield printable(f"  {domain}: {_sourced(found, target, key)}")
    yield printable(f"  IR version: {_sourced(target.ir_versions, target, 'ir')}")
    for key, what, names in (
        ("dtypes_refused", "unsupported dtypes", target.dtypes_refused),
        ("dtypes_read_raw", "dtypes whose constants hold raw data", target.dtypes_read_raw),
        ("operators_lacking", "missing operators", target.operators_lacking),
        ("constant_inputs", "inputs that must be constant", [".".join(one) for one in target.constant_inputs]),
        ("signatures", "operators with fewer attributes or inputs", [".".join(one) for one in target.signatures]),
    ):
        if names:
            yield printable(f"  {what}: {_sourced(', '.join(sorted(names)), target, key)}")
    if not target.has_functions:
        yield printable(f"  functions are inlined for it{_source(target, 'functions')}")
    for is_taken, what, key in (
        (target.takes_open_dimensions, "inputs need fixed sizes", "open_dimensions"),
        (target.takes_false_shapes, "declared shapes must match the computed ones", "false_shapes"),
        (target.takes_unnamed_dimensions, "open sizes in subgraphs get names", "unnamed_dimensions"),
        (target.takes_undeclared_shapes, "shapes of all values are declared", "undeclared_shapes"),
        (target.takes_captured_initializers, "no initializers that only subgraphs read", "captured_initializers"),
        (target.takes_inputs_as_outputs, "no outputs that are inputs of the model", "inputs_as_outputs"),
        (target.takes_repeated_outputs, "no output twice", "repeated_outputs"),
        (target.takes_initializers_as_outputs, "no outputs that are initializers", "initializers_as_outputs"),
        (target.takes_empty_values, "no values with a size of 0", "empty_values"),
        (target.takes_empty_outputs, "no outputs with a size of 0", "empty_outputs"),
    ):
        if not is_taken:
            yield printable(f"  {what}{_source(target, key)}")
    if target.most_channels:
        what = f"no inputs of three axes, but with more than {target.most_channels} elements along the last one"
        yield printable(f"  {what}{_source(target, 'inputs_as_channels')}")
    for ending in target.misread_endings:
        yield printable(f"  no values with a name that ends in {ending}{_source(target, 'misread_names')}")
    yield from _page_of_the_interface(target)
    if not target.takes_outputs_beside_others:
        source = _source(target, "outputs_beside_others")
        yield printable(f"  outputs of nodes with several get a node of their own{source}")
    if target.outputs_lost_where_read:
        shown = ", ".join(sorted(target.outputs_lost_where_read))
        source = _source(target, "outputs_lost_where_read")
        yield printable(f"  outputs of {shown} that nodes read, too, are read through {target.outputs_kept_by}{source}")
    if target.shared_constants is not None:
        places = ", ".join(target.shared_constants.places)
        source = _source(target, "shared_constants")
        yield printable(f"  constants that other nodes read, too, are copied for {places}{source}")
    for name, read in target.misread_producers.items():
        source = _source(target, "misread_producers")
        yield printable(f"  the producer name {name!r} is removed from models with {', '.join(sorted(read))}{source}")
    if target.kernels:
        operators = {(domain, operator) for domain, operator, _ in target.kernels}
        yield printable(f"  operators with kernels for some dtypes only: {len(operators)}{_source(target, 'kernels')}")
    operators_of: dict[tuple[str, str], list[str]] = {}
    for form in target.forms:
        operators_of.setdefault((form.text, form.source), []).append(form.operator)
    for (text, source), names in operators_of.items():
        untold = [name for name in dict.fromkeys(names) if name not in text]
        yield printable(f"  it {text}{_in_brackets(untold)} [{source}]")
    for quirk in target.quirks:
        yield printable(f"  {quirk.text} [{quirk.source}]")


def _page_of_the_interface(target: Target) -> Iterator[RenderableType]:
    if not target.takes_undeclared_outputs:
        yield printable(f"  shapes of outputs are declared{_source(target, 'undeclared_outputs')}")
    if not target.takes_unread_inputs:
        yield printable(f"  inputs that no node reads are read by Identity{_source(target, 'unread_inputs')}")


def _sourced(found: object, target: Target, key: str) -> str:
    return f"{found}{_source(target, key)}" if key in target.sources else f"{found or 'not known'}"


def _source(target: Target, key: str) -> str:
    return f" [{target.sources[key]}]" if key in target.sources else ""


def _target_as_dict(target: Target) -> dict[str, Any]:
    """For JSON."""
    return {
        "target": target.spelling,
        "runtime": target.title,
        "opsets": {display_domain(domain): list(found) for domain, found in target.opsets.items()},
        "ir_versions": list(target.ir_versions),
        "dtypes_refused": sorted(target.dtypes_refused),
        "operators_lacking": sorted(target.operators_lacking),
        "constant_inputs": sorted(".".join(one) for one in target.constant_inputs),
        "has_functions": target.has_functions,
        "takes_open_dimensions": target.takes_open_dimensions,
        "takes_false_shapes": target.takes_false_shapes,
        "takes_unnamed_dimensions": target.takes_unnamed_dimensions,
        "takes_undeclared_shapes": target.takes_undeclared_shapes,
        "takes_undeclared_outputs": target.takes_undeclared_outputs,
        "takes_unread_inputs": target.takes_unread_inputs,
        "takes_captured_initializers": target.takes_captured_initializers,
        "most_channels": target.most_channels,
        "misread_endings": list(target.misread_endings),
        "takes_inputs_as_outputs": target.takes_inputs_as_outputs,
        "takes_initializers_as_outputs": target.takes_initializers_as_outputs,
        "takes_repeated_outputs": target.takes_repeated_outputs,
        "takes_outputs_beside_others": target.takes_outputs_beside_others,
        "dtypes_read_raw": sorted(target.dtypes_read_raw),
        "outputs_lost_where_read": sorted(target.outputs_lost_where_read),
        "outputs_kept_by": target.outputs_kept_by,
        "takes_empty_values": target.takes_empty_values,
        "takes_empty_outputs": target.takes_empty_outputs,
        "shared_constants": target.shared_constants.as_dict() if target.shared_constants else None,
        "misread_producers": {name: sorted(read) for name, read in target.misread_producers.items()},
        "kernels": {
            f"{domain}.{operator}-{since}".lstrip("."): [
                {variable: sorted(dtypes) for variable, dtypes in grid.items()} for grid in grids
            ]
            for (domain, operator, since), grids in sorted(target.kernels.items())
        },
        "signatures": {
            f"{domain}.{operator}": {"inputs": list(one.inputs), "lacks": sorted(one.lacks)}
            for (domain, operator), one in sorted(target.signatures.items())
        },
        "forms": [{"operator": form.operator, "text": form.text, "source": form.source} for form in target.forms],
        "quirks": [asdict(quirk) for quirk in target.quirks],
        "sources": dict(target.sources),
        "is_measured": target.is_measured,
        "note": target.note,
    }


def _in_brackets(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f" ({', '.join(names[:_SHOWN])}{more})" if names else ""
