"""The main job: load, walk, finish, check, prove."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from onnx import ModelProto, OperatorSetIdProto

from converter.facts import FunctionKey, ModelFacts, function_key, imported_opsets
from converter.history import AI_ONNX, CONVERTED_DOMAINS, canonical_domain, display_domain, latest_opset
from converter.ir_fitting import Fitting, IRFitting
from converter.ir_version import OLDEST_IR_VERSION, natural_ir_version
from converter.model_file import check_model, load_model, validate_model
from converter.names import Names
from converter.refusal import ConversionRefused, Refusal
from converter.report import Report
from converter.rulebook import RuleBook, default_rule_book
from converter.specialise import CallSite, specialisable, specialise
from converter.targets import Target, find_target, objections
from converter.trace import GRAPH_PATH, ConversionTrace, function_path
from converter.traced_edit import Crossings
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
    to: int | Mapping[str, int] | None = None,
    ir: int | None = None,
    target: str | Target | None = None,
    exact: bool = False,
    prove: bool = True,
    check: bool = True,
    seed: int = 0,
    base_dir: str = "",
    rule_book: RuleBook | None = None,
) -> Conversion:
    """Move a model to other opsets or to an IR version, up or down; the model (or file) that is given stays as it is.

    `to` is the opset of ai.onnx, or opsets by domain; domains that nothing in the model imports are left out. `ir` is
    the IR version, by default the smallest that the result needs. `target` is the runtime that the result is for, as
    "onnxruntime==1.4": the nearest opsets and the IR version that it takes are chosen, where `to` and `ir` do not say
    so, and everything else that it is known not to take is refused. `exact` refuses rules that round; `prove=False` and
    `check=False` leave out the proof and onnx's checker. External data is looked for in `base_dir`, by default the
    folder of the file.

    Raises ConversionRefused with every refusal, NotEquivalent where the proof fails, UnreachableTarget, UnknownTarget,
    ModelFileError for a file or model that cannot be read.
    """
    if isinstance(model_or_path, ModelProto):
        source = model_or_path
    else:
        source = load_model(Path(model_or_path))
        base_dir = base_dir or str(Path(model_or_path).absolute().parent)
    notes = validate_model(source) if check else []
    if to is None and ir is None and target is None:
        raise UnreachableTarget("nothing says where to: name an opset, an IR version or a target")
    runtime = find_target(target) if isinstance(target, str) else target
    if ir is not None:
        _check_ir_version(ir, runtime)
    targets = _targets(to, source, runtime, is_complete=ir is not None)
    walked = _walk(source, targets, rule_book or default_rule_book(), exact, base_dir)
    model, trace = walked.model, walked.trace
    _stamp(model, targets)
    fitting = _fit(source, walked, ir, runtime)
    if runtime is not None and (refusals := objections(model, runtime, base_dir)):
        raise ConversionRefused(refusals)
    if check:
        check_model(model, base_dir, original=source)
    certificate = None
    if prove:
        # Imported here, so that a conversion without proof does not wait for the prover and its kernels.
        from converter.prove import prove_conversion

        certificate = prove_conversion(source, model, trace, ModelFacts(source, base_dir), seed=seed)
        if certificate.is_refuted:
            raise NotEquivalent(certificate)
    report = Report.from_trace(source, model, trace, fitting, notes=notes, target=runtime)
    return Conversion(model, report, certificate)


def convert_version(model: ModelProto, target_version: int) -> ModelProto:
    """A drop-in for `onnx.version_converter.convert_version`: no proof, no check, a new model.

    Raises ConversionRefused where it cannot be done.
    """
    return convert(model, to=target_version, prove=False, check=False).model


def _check_ir_version(ir: int, runtime: Target | None) -> None:
    if not OLDEST_IR_VERSION <= ir <= onnx.IR_VERSION:
        known = f"{OLDEST_IR_VERSION} to {onnx.IR_VERSION}"
        raise UnreachableTarget(f"there is no IR version {ir} to convert to; the installed onnx knows {known}")
    if runtime is not None and ir not in runtime.ir_versions:
        raise UnreachableTarget(f"{runtime.spelling} takes IR version {runtime.ir_versions}, and {ir} was asked for")


def _fit(source: ModelProto, walked: Walked, ir: int | None, runtime: Target | None) -> Fitting:
    """Bring the model to the IR version that was asked for, or to one that the runtime takes."""
    model = walked.model
    wanted = model.ir_version if runtime is None else runtime.ir_version_for(model.ir_version)
    has_functions = runtime is None or runtime.has_functions
    if ir is not None:
        wanted = ir
    elif wanted == model.ir_version and (has_functions or not model.functions):
        return Fitting()
    fitting = IRFitting(source, model, walked.trace, walked.names, walked.crossings_of)
    return fitting.fit(wanted, keep_metadata=ir is None, keep_functions=has_functions)


def _targets(
    to: int | Mapping[str, int] | None, source: ModelProto, runtime: Target | None, *, is_complete: bool
) -> dict[str, int]:
    """The opsets to go to, by domain; with `is_complete`, also of the domains that are to stay where they are."""
    imports = imported_opsets(source.opset_import)
    everywhere = {**imports}
    for function in source.functions:
        everywhere = {**imported_opsets(function.opset_import), **everywhere}
    opsets = {AI_ONNX: to} if isinstance(to, int) else to or {}
    wanted = {canonical_domain(domain): opset for domain, opset in opsets.items()}
    if is_complete or runtime is not None:
        nearest = {
            domain: opset if runtime is None else runtime.opset_for(domain, opset)
            for domain, opset in everywhere.items()
            if domain in CONVERTED_DOMAINS
        }
        wanted = {**nearest, **wanted}
    if runtime is not None:
        _check_opsets_of_runtime(wanted, runtime)
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
    return {domain: opset for domain, opset in wanted.items() if domain in everywhere}


def _check_opsets_of_runtime(wanted: Mapping[str, int], runtime: Target) -> None:
    for domain, opset in wanted.items():
        taken = runtime.opsets.get(domain)
        if taken is not None and opset not in taken:
            shown = display_domain(domain)
            raise UnreachableTarget(f"{runtime.spelling} takes opset {taken} of {shown}, and {opset} was asked for")


@dataclass(frozen=True)
class Walked:
    """A model at its opsets, how it got there, and what to name more of it."""

    model: ModelProto
    trace: ConversionTrace
    names: Names
    crossings: Mapping[str, Crossings]
    """The rules that were applied in each function, also in those that only the result has."""

    def crossings_of(self, path: str) -> Crossings:
        """The rules that were applied in the function at a path."""
        return list(self.crossings.get(path, ()))


def _walk(source: ModelProto, targets: Mapping[str, int], rule_book: RuleBook, exact: bool, base_dir: str) -> Walked:
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
    trace = walk.trace
    before = set(map(function_path, source.functions))
    after = set(map(function_path, start.functions))
    trace.added_functions = after - before
    trace.dropped_functions = before - after
    own = {path: trace.crossings_in(path) for path in after}
    crossings = {path: list(found) for path, found in own.items()}
    for path, _, function in reversed(calls):
        # Copies of callers were made before those of what they call.
        if (caller := path.split("/")[0]) in crossings:
            crossings[caller] += crossings.get(function, [])
    kept = {GRAPH_PATH, *(before & after)}
    trace.scopes = {path: one for path, one in trace.scopes.items() if path.split("/")[0] in kept}
    for path, index, function in calls:
        if path.split("/")[0] in kept:
            trace.add_site(path, index, crossings.get(function, []))
    return Walked(model, trace, walk.names, own)


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
