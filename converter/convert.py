"""The main job: load, walk, finish, check, prove."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from onnx import ModelProto, OperatorSetIdProto

from converter.facts import ModelFacts, function_key, imported_opsets
from converter.history import AI_ONNX, CONVERTED_DOMAINS, canonical_domain, display_domain, latest_opset
from converter.inline import inline_functions
from converter.ir_version import natural_ir_version
from converter.model_file import check_model, load_model, validate_model
from converter.prove import Certificate, prove_conversion
from converter.refusal import ConversionRefused, Refusal
from converter.report import Report
from converter.rulebook import RuleBook, default_rule_book
from converter.trace import ConversionTrace, function_path
from converter.walk import ModelWalk

ModelOrPath = ModelProto | str | os.PathLike[str]


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

    `to` is the opset of ai.onnx, or opsets by domain; domains that the model does not import are left out. `exact` refuses
    rules that round; `prove=False` and `check=False` leave out the proof and onnx's checker. External data is looked
    for in `base_dir`, by default the folder of the file.

    Raises ConversionRefused with every refusal, NotEquivalent where the proof fails, UnreachableTarget, ModelFileError
    for a file or model that cannot be read.
    """
    if isinstance(model_or_path, ModelProto):
        source = model_or_path
    else:
        source = load_model(Path(model_or_path))
        base_dir = base_dir or str(Path(model_or_path).resolve().parent)
    notes = validate_model(source) if check else []
    imports = imported_opsets(source.opset_import)
    targets = _targets(to, imports)
    model, trace, inlined = _walk(source, targets, rule_book or default_rule_book(), exact, base_dir)
    _stamp(model, targets)
    if check:
        check_model(model, base_dir)
    certificate = None
    if prove:
        certificate = prove_conversion(source, model, trace, ModelFacts(source, base_dir), seed=seed)
        if certificate.is_refuted:
            raise NotEquivalent(certificate)
    report = Report.from_trace(source, model, trace, notes=notes, inlined=inlined)
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
) -> tuple[ModelProto, ConversionTrace, list[str]]:
    """Walk a copy; a function whose body cannot be converted for all its callers at once is inlined, and all begins anew."""
    start, inlining, inlined = source, None, []
    while True:
        model = ModelProto()
        model.CopyFrom(start)
        walk = ModelWalk(start, model, targets, rule_book, exact=exact, base_dir=base_dir)
        walk.run()
        if not walk.refusals:
            trace = walk.trace if inlining is None else inlining.then(walk.trace)
            return model, trace, inlined
        generic = _functions_refused(start, walk.refusals)
        if not generic:
            raise ConversionRefused(walk.refusals)
        inlined += sorted(":".join(filter(None, key)) for key in generic)
        start, step = inline_functions(start, generic)
        inlining = step if inlining is None else inlining.then(step)


def _functions_refused(model: ModelProto, refusals: list[Refusal]) -> set[tuple[str, str, str]]:
    paths = {refusal.path for refusal in refusals}
    return {
        function_key(function)
        for function in model.functions
        if any(path == function_path(function) or path.startswith(function_path(function) + "/") for path in paths)
    }


def _stamp(model: ModelProto, targets: Mapping[str, int]) -> None:
    for container in (model, *model.functions):
        opsets = {
            domain: targets.get(domain, opset) for domain, opset in imported_opsets(container.opset_import).items()
        }
        spelt = {canonical_domain(entry.domain): entry.domain for entry in container.opset_import}
        if {(entry.domain, entry.version) for entry in container.opset_import} != {
            (spelt[domain], opset) for domain, opset in opsets.items()
        } or len(container.opset_import) != len(opsets):
            del container.opset_import[:]
            container.opset_import.extend(
                OperatorSetIdProto(domain=spelt[domain], version=opset) for domain, opset in opsets.items()
            )
    model.ir_version = natural_ir_version(model)
