"""The main job: load, walk, finish, check, prove."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from onnx import ModelProto

from opsetlift.conversion.derivation import derive
from opsetlift.conversion.destination import UnreachableTarget, check_ir_version, opsets_to_reach
from opsetlift.conversion.dtype_policy import KEEP, DtypePolicy, UnusableDtypes, apply
from opsetlift.conversion.nearest import nearest_opsets
from opsetlift.conversion.objections import false_shapes, forget_false_shapes, objections
from opsetlift.conversion.walked import DryRuns, walked_copy
from opsetlift.facts import ModelFacts
from opsetlift.model.files import ResultRejected, check_model, load_model, repaired, validate_model
from opsetlift.model.scopes import imported_opsets
from opsetlift.pipeline.report import Report
from opsetlift.proof.not_equivalent import NotEquivalent
from opsetlift.rulebook.book import RuleBook, default_rule_book
from opsetlift.support.arguments import opsets_of, whole_number, whole_number_or_none
from opsetlift.support.internal_error import InternalError, internal_error
from opsetlift.support.refusal import ConversionRefused, Nearest, Refusal
from opsetlift.targets import Target, find_target

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from opsetlift.normalizer.discovery import PassLike
    from opsetlift.pipeline.normalize import Normalization
    from opsetlift.proof import Certificate

ModelOrPath = ModelProto | str | os.PathLike[str]


@dataclass(frozen=True)
class Conversion:
    """A model at its target, the report of what was done and, unless it was declined, the proof."""

    model: ModelProto
    report: Report
    certificate: Certificate | None
    """The proof that `model` computes what the original did; None without proof, and where passes ran, which no
    certificate covers."""
    normalization: Normalization | None = None
    """What the passes did afterwards, where they were asked for; `model` is what came of them. Its `conversion` is the
    one before the passes, with that model and its certificate."""

    @cached_property
    def graph(self) -> gs.Graph:
        """The model as a `gs.Graph`, everything that such a graph has no place for riding along."""
        from opsetlift.normalizer.bridge import to_graph

        return to_graph(self.model)


def convert(
    model_or_path: ModelOrPath | gs.Graph,
    *,
    to: int | Mapping[str, int] | None = None,
    ir: int | None = None,
    target: str | Target | None = None,
    dtypes: Mapping[str, str] | None = None,
    dtype_interface: str = KEEP,
    exact: bool = False,
    normalize: bool | Sequence[PassLike] = False,
    prove: bool = True,
    check: bool = True,
    seed: int = 0,
    base_dir: str = "",
    rule_book: RuleBook | None = None,
) -> Conversion:
    """Move a model to other opsets or to an IR version, up or down; the model (or file, or `gs.Graph`) that is given
    stays as it is. The result is there as a model and, in `graph`, as a `gs.Graph`.

    `to` is the opset of ai.onnx, or opsets by domain; domains that nothing in the model imports are left out. `ir` is
    the IR version, by default the smallest that the result needs. `target` is the runtime that the result is for, as
    "onnxruntime==1.4": the nearest opsets and the IR version that it takes are chosen, where `to` and `ir` do not say
    so, and everything else that it is known not to take is refused. `dtypes`, as {"int64": "int32"}, changes dtypes
    first, wherever the schemas let it; this is never exact. Inputs and outputs keep theirs behind Cast nodes, or with
    `dtype_interface="change"` change them, too. `exact` refuses rules that round; `normalize` runs
    the passes of `opsetlift.normalize` on the result, the usual ones or those that it names. `prove=False` and
    `check=False` leave out the proof and onnx's checker. External data is looked for in `base_dir`, by default the
    folder of the file.

    Raises ConversionRefused with every refusal, NotEquivalent where the proof fails, UnreachableTarget, UnknownTarget,
    UnusableDtypes, ModelFileError for a file or model that cannot be read, TypeError for arguments of other types,
    InternalError for a defect of OpsetLift or of a package whose rules it applies.
    """
    opsets, ir, seed = (
        opsets_of(to),
        whole_number_or_none(ir, "the IR version"),
        whole_number(seed, "the seed", least=0),
    )
    if isinstance(model_or_path, ModelProto):
        source = model_or_path
    elif _is_graph(model_or_path):
        from opsetlift.normalizer.bridge import to_model

        source = to_model(model_or_path, in_order=True)
    else:
        source = load_model(Path(model_or_path))
        base_dir = base_dir or str(Path(model_or_path).absolute().parent)
    source, notes = repaired(source)
    facts = ModelFacts(source, base_dir)
    notes += validate_model(source, facts.tables.index) if check else []
    if opsets is None and ir is None and target is None and not dtypes:
        raise UnreachableTarget(
            "no destination given: use --to, --for, --ir or --dtype (in Python: to, target, ir or dtypes)"
        )
    policy = DtypePolicy.of(dtypes, dtype_interface) if dtypes else None
    if policy is not None and exact:
        raise UnusableDtypes(f"{policy.shown} is not exact, and only what is exact was asked for")
    runtime = find_target(target) if isinstance(target, str) else target
    if ir is not None:
        check_ir_version(ir, runtime)
    start, changes = (source, None) if policy is None else apply(source, policy, base_dir)
    targets = opsets_to_reach(opsets, start, runtime, is_complete=ir is not None or policy is not None)
    book = rule_book or default_rule_book()
    facts = facts if start is source else ModelFacts(start, base_dir)
    try:
        walked, fitting = derive(
            start, targets, book, ir=ir, runtime=runtime, exact=exact, base_dir=base_dir, facts=facts
        )
    except ConversionRefused as refused:
        if ir is None and runtime is None:
            refused.find_nearest = partial(_nearest, start, targets, refused.refusals, book, exact, base_dir, facts)
        raise
    model, trace = walked.model, walked.trace
    if runtime is not None and (refusals := objections(ModelFacts(model, base_dir), runtime)):
        raise ConversionRefused(refusals)
    try:
        declared_falsely = check_model(model, base_dir, original=source) if check else []
    except ResultRejected as error:
        raise internal_error(error, "the conversion") from error
    notes += declared_falsely
    if runtime is not None and not runtime.takes_false_shapes:
        facts_of_result = ModelFacts(model, base_dir)
        if declared_falsely and (refusals := false_shapes(facts_of_result)):
            raise ConversionRefused(refusals)
        forget_false_shapes(facts_of_result)
    certificate = None
    if prove:
        # Imported here, so that a conversion without proof does not wait for the prover and its kernels.
        from opsetlift.proof import Destination, prove_conversion, with_dtypes_proven

        destination = Destination.of(targets, ir, runtime)
        certificate = prove_conversion(start, model, trace, facts.renewed(), seed=seed, destination=destination)
        if policy is not None and changes is not None:
            certificate = with_dtypes_proven(certificate, source, start, model, policy, changes, base_dir=base_dir)
        if certificate.is_refuted:
            raise NotEquivalent(certificate)
    report = Report.from_trace(source, model, trace, fitting, notes=notes, target=runtime, dtypes=changes)
    conversion = Conversion(model, report, certificate)
    if normalize is False:
        return conversion
    from opsetlift.pipeline.normalize import normalize as run_passes

    passes = None if normalize is True else normalize
    found = run_passes(model, passes, prove=prove, check=check, seed=seed, base_dir=base_dir)
    model = found.model
    if ir is not None or runtime is not None:
        # The passes may have asked for an IR version that the target does not take.
        model = convert(model, ir=ir, target=runtime, prove=prove, check=check, seed=seed, base_dir=base_dir).model
    # The certificate is about the model before the passes, and stays with that.
    found = replace(found, conversion=conversion)
    return replace(conversion, model=model, certificate=None, normalization=found)


def _is_graph(given: ModelOrPath | gs.Graph) -> TypeGuard[gs.Graph]:
    """Whether this is a graph of graphsurgeon, which takes a while to import: who has one has imported it."""
    graphsurgeon = sys.modules.get("onnx_graphsurgeon")
    return graphsurgeon is not None and isinstance(given, graphsurgeon.Graph)


def convert_version(model: ModelProto, target_version: int) -> ModelProto:
    """A drop-in for `onnx.version_converter.convert_version`: no proof, no check, a new model.

    Raises ConversionRefused where it cannot be done, TypeError for a `target_version` that is no whole number.
    """
    return convert(model, to=target_version, prove=False, check=False).model


def _nearest(
    start: ModelProto,
    targets: Mapping[str, int],
    refusals: Sequence[Refusal],
    book: RuleBook,
    exact: bool,
    base_dir: str,
    facts: ModelFacts,
) -> Nearest | None:
    """The nearest opsets that the model can be taken to."""
    dry = DryRuns(start, base_dir, facts)

    def is_reached(opsets: Mapping[str, int]) -> bool:
        try:
            walked_copy(start, opsets, book, exact=exact, base_dir=base_dir, dry=dry, until_refused=True)
        except (ConversionRefused, InternalError):
            return False
        return True

    return nearest_opsets(targets, imported_opsets(start.opset_import), refusals, is_reached)
