"""Refusals by cause, and what would work instead, as commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from onnx import ModelProto, TensorProto

from opsetlift.conversion.dtype_policy import CHANGE, DtypePolicy
from opsetlift.pipeline.job import Job, Options, sizes_of
from opsetlift.pipeline.stages import DRY_RUN, run
from opsetlift.specification.history import display_domain
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.internal_error import InternalError
from opsetlift.support.refusal import ConversionRefused, Nearest, Refusal, Why

_LARGEST = 20_000
"""Nodes. Of larger models other options are not tried: each trial is a dry run."""

NARROWER = {"int64": "int32", "double": "float", "bfloat16": "float", "float16": "float", "uint64": "int64"}


@dataclass(frozen=True)
class Cause:
    """Refusals for one reason: the same version transition and sentence, but for the names in it."""

    refusals: Sequence[Refusal]

    @property
    def first(self) -> Refusal:
        """The one that stands for all of them."""
        return self.refusals[0]


def by_cause(refusals: Sequence[Refusal]) -> list[Cause]:
    """Refusals by cause, the most frequent first."""
    found: dict[tuple[object, ...], list[Refusal]] = {}
    for one in refusals:
        sentence = re.sub(r"'[^']*'", "'…'", one.sentence)
        found.setdefault((one.why, one.transition or one.operator, sentence), []).append(one)
    return [Cause(alike) for alike in sorted(found.values(), key=len, reverse=True)]


@dataclass(frozen=True)
class Way:
    """Something that works where what was asked for is refused."""

    words: str
    options: Options

    @property
    def kind(self) -> str:
        """What ways have in common of which one is enough."""
        return self.words.partition(",")[0].partition(" and ")[0]

    def command(self, name: str, source: str, target: str) -> str:
        """The command to copy."""
        return command_of(name, source, target, self.options)


def command_of(name: str, source: str, target: str, options: Options) -> str:
    """The command line that asks for options."""
    parts = ["opsetlift", name, source, target]
    for domain, opset in (options.opsets or {}).items():
        parts += ["--to", str(opset) if not domain else f"{display_domain(domain)}={opset}"]
    if options.runtime is not None:
        parts += ["--for", options.runtime.spelling]
    if options.ir is not None:
        parts += ["--ir", str(options.ir)]
    if options.dtypes is not None:
        for old, new in options.dtypes.changes.items():
            parts += ["--dtype", f"{old}={new}"]
        if not options.dtypes.keeps_interface:
            parts += ["--dtype-interface", options.dtypes.interface]
    if options.fix_shapes:
        parts += ["--fix-shapes", ",".join(f"{one}={_sizes(given)}" for one, given in options.fix_shapes.items())]
    if options.passes is not None and name == "convert":
        parts += ["--passes", ",".join(one.name for one in options.passes)]
    if options.exact:
        parts.append("--exact")
    return " ".join(map(shlex.quote, parts))


def _sizes(given: int | Sequence[int]) -> str:
    return "x".join(map(str, sizes_of(given)))


def ways_out(refused: ConversionRefused, job: Job) -> list[Way]:
    """What would work, by dry runs: other options that the reasons suggest, and the nearest opset or IR version."""
    if any(one.why is Why.INVALID_MODEL for one in refused.refusals):
        return []  # elsewhere the node is as invalid
    found: list[Way] = []
    for way in _candidates(refused.refusals, job):
        # Of several ways of one kind the first one that works is the smallest.
        if not any(one.kind == way.kind for one in found) and _works(job, way.options):
            found.append(way)
    nearest = refused.nearest
    if nearest is not None and nearest.opsets != nearest.own:
        found.append(_nearest(nearest, job.options))
    return found


def _nearest(nearest: Nearest, options: Options) -> Way:
    opsets = {domain: opset for domain, opset in nearest.opsets.items() if opset != nearest.own.get(domain)}
    if nearest.ir_version is not None:
        return Way(f"the nearest IR version, {nearest.ir_version}", replace(options, ir=nearest.ir_version))
    shown = ", ".join(f"{domain} {opset}" for domain, opset in nearest.shown.items())
    if nearest.not_for:
        words = f"the nearest opset, {shown}, which {nearest.not_for} does not accept"
        return Way(words, replace(options, opsets=opsets, runtime=None))
    return Way(f"the nearest opset, {shown}", replace(options, opsets=opsets))


def _candidates(refusals: Sequence[Refusal], job: Job) -> Iterator[Way]:
    options, reasons = job.options, {one.why for one in refusals}
    if sum(1 for _ in job.source.graph.node) > _LARGEST:
        return
    if options.exact and Why.ROUNDING in reasons:
        yield Way("rules that round, within their stated bounds", replace(options, exact=False))
    if reasons & {Why.SHAPE_UNKNOWN, Why.RANK_UNKNOWN, Why.INPUT_NOT_CONSTANT, Why.NO_EQUIVALENT, Why.TARGET}:
        sizes = open_sizes(job.source)
        if sizes and not options.fix_shapes:
            yield Way("fixed sizes (put in your own)", replace(options, fix_shapes=sizes))
            fixed = replace(options, fix_shapes=sizes)
            if options.passes is None:
                yield Way("fixed sizes (put in your own) and the default passes", _with_passes(fixed, "default"))
    if options.passes is None and reasons & {Why.INPUT_NOT_CONSTANT, Why.SHAPE_UNKNOWN}:
        yield Way("constants folded first", _with_passes(options, "fold-constants"))
    if options.passes is None and Why.ATTRIBUTE_REFERENCE in reasons:
        yield Way("functions inlined first", _with_passes(options, "inline-functions"))
    if (
        options.dtypes is None
        and not options.exact
        and reasons & {Why.DTYPE_NOT_AVAILABLE, Why.TARGET, Why.NO_EQUIVALENT}
    ):
        for old, new in NARROWER.items():
            if old in _dtypes_named(refusals, job.source):
                words = f"{new} in place of {old}, which is not exact"
                yield Way(words, replace(options, dtypes=DtypePolicy.of({old: new})))
                changed = DtypePolicy.of({old: new}, CHANGE)
                yield Way(f"{words}, inputs and outputs included", replace(options, dtypes=changed))


def _with_passes(options: Options, *names: str) -> Options:
    from opsetlift.normalizer import chosen_passes

    return replace(options, passes=chosen_passes(names))


def _works(job: Job, options: Options) -> bool:
    try:
        run(DRY_RUN, Job(job.source, replace(options, prove=False, require_proof=False), job.base_dir))
    except (OpsetLiftError, InternalError):
        return False
    return True


def open_sizes(model: ModelProto) -> Mapping[str, int]:
    """A size of 1 for each named size that the inputs leave open."""
    sizes = (one for info in model.graph.input for one in info.type.tensor_type.shape.dim)
    return dict.fromkeys((one.dim_param for one in sizes if one.dim_param), 1)


def _dtypes_named(refusals: Sequence[Refusal], model: ModelProto) -> set[str]:
    """The dtypes that refusals speak of, or that the inputs and outputs of the model have."""
    said = {word for one in refusals for word in re.findall(r"\w+", one.sentence)}
    infos = (*model.graph.input, *model.graph.output)
    names = {TensorProto.DataType.Name(one.type.tensor_type.elem_type).lower() for one in infos}
    return said | names
