"""The main job: load, walk, finish, check, prove."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import ModelProto, OperatorSetIdProto

from converter.facts import FunctionKey, ModelFacts, function_key, imported_opsets
from converter.history import AI_ONNX, CONVERTED_DOMAINS, canonical_domain, display_domain, latest_opset
from converter.ir_version import natural_ir_version
from converter.model_file import check_model, load_model, validate_model
from converter.refusal import ConversionRefused, Refusal
from converter.report import Report
from converter.rulebook import RuleBook, default_rule_book
from converter.specialise import CallSite, specialisable, specialise
from converter.trace import GRAPH_PATH, ConversionTrace, function_path
from converter.walk import ModelWalk

if TYPE_CHECKING:
    from converter.prove import Certificate

ModelOrPath = ModelProto | str | os.PathLike[str]


_MOST_FUNCTIONS = 1000
"""Copies for single calls multiply with the depth of calls; past this many the conversion is refused as it stands."""


class UnreachableTarget(ValueError):
    """No such opset, or no such domain among those that OpsetLift has rules for."""


class NotEquivalent(Exception):
    """A site computes something else after the conversion; `certificate` says which. Nothing may be written."""

    def __init__(self, certificate: Certificate) -> None:
        self.certificate = certificate
        super().__init__(certificate.summary())


@dataclass(frozen=True)
class Conversion:
    """A model at its target, the report of what was done and, unless it was declined, the proof."""

    model: ModelProto
    report: Report
    certificate: Certificate | None


def convert(
    model_or_path: ModelOrPath,
    *,
    to: int | Mapping[str, int],
    exact: bool = False,
    prove: bool = True,
    check: bool = True,
    seed: int = 0,
    base_dir: str = "",
    rule_book: RuleBook | None = None,
) -> Conversion:
    """Move a model to other opsets, up or down; the model (or file) that is given stays as it is.

    `to` is the opset of ai.onnx, or opsets by domain; domains that the model does not import are left out. `exact`
    refuses rules that round; `prove=False` and `check=False` leave out the proof and onnx's checker. External data is
    looked for in `base_dir`, by default the folder of the file.

    Raises ConversionRefused with every refusal, NotEquivalent where the proof fails, UnreachableTarget, ModelFileError
    for a file or model that cannot be read.
    """
    if isinstance(model_or_path, ModelProto):
        source = model_or_path
    else:
        source = load_model(Path(model_or_path))
        base_dir = base_dir or str(Path(model_or_path).absolute().parent)
    notes = validate_model(source) if check else []
    imports = imported_opsets(source.opset_import)
    targets = _targets(to, imports)
    model, trace = _walk(source, targets, rule_book or default_rule_book(), exact, base_dir)
    _stamp(model, targets)
    if check:
        check_model(model, base_dir, original=source)
    certificate = None
    if prove:
        # Imported here, so that a conversion without proof does not wait for the prover and its kernels.
        from converter.prove import prove_conversion

        certificate = prove_conversion(source, model, trace, ModelFacts(source, base_dir), seed=seed)
        if certificate.is_refuted:
            raise NotEquivalent(certificate)
    report = Report.from_trace(source, model, trace, notes=notes)
    return Conversion(model, report, certificate)


def convert_version(model: ModelProto, target_version: int) -> ModelProto:
    """A drop-in for `onnx.version_converter.convert_version`: no proof, no check, a new model.

    Raises ConversionRefused where it cannot be done.
    """
    return convert(model, to=target_version, prove=False, check=False).model


def _targets(to: int | Mapping[str, int], imports: Mapping[str, int]) -> dict[str, int]:
    wanted = {AI_ONNX: to} if isinstance(to, int) else {canonical_domain(domain): opset for domain, opset in to.items()}
    for domain, opset in wanted.items():
        if domain not in CONVERTED_DOMAINS:
            known = " and ".join(map(display_domain, CONVERTED_DOMAINS))
            raise UnreachableTarget(f"there are no rules for the domain {domain!r}, only for {known}")
        latest = latest_opset(domain)
        if not 1 <= opset <= latest:
            shown = display_domain(domain)
            raise UnreachableTarget(f"{shown} has no opset {opset}; the installed onnx knows 1 to {latest}")
    for domain, opset in imports.items():
        if domain in CONVERTED_DOMAINS and not 1 <= opset <= latest_opset(domain):
            shown = display_domain(domain)
            raise UnreachableTarget(
                f"the model imports opset {opset} of {shown}; the installed onnx knows 1 to {latest_opset(domain)}"
            )
    return {domain: opset for domain, opset in wanted.items() if domain in imports}


def _walk(
    source: ModelProto, targets: Mapping[str, int], rule_book: RuleBook, exact: bool, base_dir: str
) -> tuple[ModelProto, ConversionTrace]:
    """Walk a copy. Where a function cannot be converted for all its callers at once, each gets one of its own."""
    start = source
    calls: list[CallSite] = []
    while True:
        model = ModelProto()
        model.CopyFrom(start)
        walk = ModelWalk(start, model, targets, rule_book, exact=exact, base_dir=base_dir)
        walk.run()
        if not walk.refusals:
            break
        generic = specialisable(start, _functions_refused(start, walk.refusals))
        if not generic or len(start.functions) > _MOST_FUNCTIONS:
            raise ConversionRefused(walk.refusals)
        start, sites = specialise(start, generic)
        calls += sites
    before = set(map(function_path, source.functions))
    after = set(map(function_path, start.functions))
    walk.trace.added_functions = after - before
    walk.trace.dropped_functions = before - after
    kept = {GRAPH_PATH, *(before & after)}
    walk.trace.scopes = {path: one for path, one in walk.trace.scopes.items() if path.split("/")[0] in kept}
    for path, index in calls:
        if path.split("/")[0] in kept:
            walk.trace.add_site(path, index)
    return model, walk.trace


def _functions_refused(model: ModelProto, refusals: list[Refusal]) -> set[FunctionKey]:
    paths = {refusal.path.split("/")[0] for refusal in refusals}
    return {function_key(function) for function in model.functions if function_path(function) in paths}


def _stamp(model: ModelProto, targets: Mapping[str, int]) -> None:
    """Write the opsets that the model and its functions have arrived at, and the IR version that goes with them."""
    for container in (model, *model.functions):
        imported = imported_opsets(container.opset_import)
        arrived = {domain: targets.get(domain, opset) for domain, opset in imported.items()}
        if len(imported) < len(container.opset_import):
            spelt = {canonical_domain(entry.domain): entry.domain for entry in container.opset_import}
            del container.opset_import[:]
            container.opset_import.extend(OperatorSetIdProto(domain=spelt[domain]) for domain in arrived)
        for entry in container.opset_import:
            entry.version = arrived[canonical_domain(entry.domain)]
    model.ir_version = natural_ir_version(model)
