"""Verify that a certificate describes how one model became another.

A certificate is untrusted input: its author may want a wrong model accepted. Only the request is read from it. The
stages run again from the original, with the rules and passes that are installed; their result is compared with the
other model byte by byte, the proofs run again, and every statement of the certificate is compared with what was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onnx import ModelProto

from opsetlift.conversion.dtype_policy import KEEP
from opsetlift.model.files import Contents
from opsetlift.pipeline.certifying import certificate_of
from opsetlift.pipeline.evidence import Converted
from opsetlift.pipeline.given import Model
from opsetlift.pipeline.job import Job, Options
from opsetlift.pipeline.stages import DRY_RUN, LOAD, run
from opsetlift.proof import (
    Certificate,
    ConversionProof,
    NotEquivalent,
    Request,
    model_sha256,
    structural_differences,
    tool_versions,
    trace_as_dict,
)
from opsetlift.rulebook.book import RuleBook
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.specification.history import canonical_domain
from opsetlift.support.arguments import of_kind
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.refusal import ConversionRefused
from opsetlift.targets import Target, UnknownTarget, find_target

if TYPE_CHECKING:
    from opsetlift.normalizer import PassLike


class CertificateRefused(OpsetLiftError, ValueError):
    """A certificate states something that running its stages again did not confirm."""


def verify(
    certificate: Certificate,
    original: Model,
    converted: Model,
    *,
    base_dir: str = "",
    converted_dir: str | None = None,
    runtime: Target | None = None,
    rule_book: RuleBook | None = None,
    passes: Sequence[PassLike] = (),
) -> Certificate:
    """Run the stages and the proofs of a certificate again, and compare the results with what it states.

    Args:
        certificate: The certificate, which is not trusted.
        original: The model that was converted, in any kind that `opsetlift.convert` takes.
        converted: The model, or file, that the certificate says is the result.
        base_dir: The folder of the original's external data; by default that of its file.
        converted_dir: The folder of the other model's external data; by default that of its file, or the original's.
        runtime: The runtime of the conversion, if `find_target` does not know it.
        rule_book: The rules, by default those that are installed.
        passes: The passes of the conversion that are not installed.

    Returns:
        The certificate of the repeated run.

    Raises:
        CertificateRefused: The repeated run does not confirm the certificate.
        ValueError: The certificate is about other models, or something that is needed to verify it is missing.
        ModelFileError: A model cannot be read.
    """
    job = verified(
        certificate,
        original,
        converted,
        base_dir=base_dir,
        converted_dir=converted_dir,
        runtime=runtime,
        rule_book=rule_book,
        passes=passes,
    )
    assert job.certificate is not None
    return job.certificate


def verified(
    certificate: Certificate,
    original: Model,
    converted: Model,
    *,
    base_dir: str = "",
    converted_dir: str | None = None,
    runtime: Target | None = None,
    rule_book: RuleBook | None = None,
    passes: Sequence[PassLike] = (),
) -> Job:
    """Like `verify`, but return the job of the repeated run, which holds the certificate."""
    of_kind(certificate, Certificate, "the certificate", "a Certificate, as Certificate.from_json returns it")
    job = run((LOAD,), Job(original, _options(certificate, runtime, rule_book, passes), base_dir))
    result = run((LOAD,), Job(converted, Options(), converted_dir or ""))
    result.base_dir = result.base_dir or job.base_dir
    contents = Contents(job.base_dir)
    own_contents = contents if result.base_dir == job.base_dir else Contents(result.base_dir)
    _check_hashes(certificate, job, result, contents, own_contents)
    job.given = job.source
    try:
        run(DRY_RUN, job)
        _compare_traces(certificate, job)
        for sentence in _result_differences(contents.comparable(job.model), own_contents.comparable(result.model)):
            raise CertificateRefused(_with_tools(certificate, sentence))
        found = certificate_of(job)
    except NotEquivalent as stopped:
        sentence = f"the passes that the certificate names change what the model computes: {stopped}"
        raise CertificateRefused(_with_tools(certificate, sentence)) from stopped
    except _faults_of_passes(certificate) as error:
        sentence = f"the passes that the certificate names fail: {error}"
        raise CertificateRefused(_with_tools(certificate, sentence)) from error
    except ConversionRefused as error:
        sentence = f"the conversion that the certificate describes is refused: {error}"
        raise CertificateRefused(_with_tools(certificate, sentence)) from error
    if found.is_proven:
        # What is not proven is not accepted in any case.
        for sentence in _statement_differences(certificate, found):
            raise CertificateRefused(_with_tools(certificate, sentence))
    job.certificate = found
    return job


def _faults_of_passes(certificate: Certificate) -> tuple[type[Exception], ...]:
    if certificate.request.passes is None:
        return ()
    from opsetlift.normalizer import PassFailed

    return (PassFailed,)


def _options(
    certificate: Certificate, runtime: Target | None, rule_book: RuleBook | None, passes: Sequence[PassLike]
) -> Options:
    """The options of the conversion, from the certificate. Raises ValueError where no conversion can have had them."""
    request = certificate.request
    if request.dtypes is None and request.dtype_interface != KEEP:
        raise ValueError("the certificate states a dtype interface, but no change of dtypes")
    if request.passes is None and request.size_limit is not None:
        raise ValueError("the certificate states a size limit for passes, but no passes")
    return Options.of(
        to=request.to and {canonical_domain(domain): opset for domain, opset in request.to.items()},
        ir=request.ir,
        target=_runtime(request.runtime, runtime),
        dtypes=request.dtypes,
        dtype_interface=request.dtype_interface,
        fix_shapes=request.fix_shapes,
        passes=_passes(request, passes),
        size_limit=request.size_limit,
        check=request.check,
        seed=certificate.seed,
        rule_book=rule_book,
    )


def _passes(request: Request, given: Sequence[PassLike]) -> Sequence[PassLike] | None:
    """The passes that the certificate names. Raises ValueError if one is neither installed nor given."""
    if request.passes is None:
        return None
    from opsetlift.normalizer import as_pass, known_passes

    own = {one.name: one for one in (as_pass(one) for one in given if not isinstance(one, str))}
    there = {**known_passes(), **own}
    missing = [name for name in request.passes if name not in there]
    if missing:
        names = ", ".join(map(repr, missing))
        raise ValueError(f"the certificate needs passes that are not installed here: {names}")
    return [there[name] for name in request.passes]


def _runtime(name: str | None, given: Target | None) -> Target | None:
    if name is None:
        return None
    if given is not None:
        if given.spelling != name:
            raise ValueError(f"the certificate is about a conversion for {name}, not {given.spelling}")
        return given
    if name.partition("==")[0].strip().endswith(".toml"):
        # A certificate must not decide which files are read.
        raise ValueError(f"the certificate names a file, {name!r}, where the name of a runtime belongs")
    try:
        return find_target(name)
    except UnknownTarget as error:
        raise ValueError(f"{error}; if your own target file describes it, give that file with --for") from error


def _check_hashes(certificate: Certificate, job: Job, result: Job, contents: Contents, own: Contents) -> None:
    for which, model, found_in, expected in (
        ("original", job.source, contents, certificate.source_sha256),
        ("converted model", result.source, own, certificate.target_sha256),
    ):
        found = model_sha256(model, found_in)
        if not found or not expected:
            raise ValueError(f"the external data of the {which} is needed, but missing")
        if found != expected:
            raise ValueError(f"the certificate is about another {which}: its SHA-256 is {expected}, this one's {found}")


def _compare_traces(certificate: Certificate, job: Job) -> None:
    """Raise CertificateRefused if a trace in the certificate is not that of the repeated run."""
    own = [one.walked.trace for one in job.evidence if isinstance(one, Converted)]
    for stated, trace in zip(certificate.conversions, own, strict=False):
        for sentence in _trace_differences(stated, trace):
            raise CertificateRefused(_with_tools(certificate, sentence))


def _trace_differences(stated: ConversionProof, derived: ConversionTrace) -> Iterator[str]:
    one, other = trace_as_dict(stated.trace), trace_as_dict(derived)
    if one == other:
        return
    for path in sorted(one["scopes"].keys() | other["scopes"].keys()):
        sites = [
            {site["index"]: site for site in trace["scopes"].get(path, {"sites": []})["sites"]}
            for trace in (one, other)
        ]
        for index in sorted(sites[0].keys() | sites[1].keys()):
            if sites[0].get(index) != sites[1].get(index):
                ours, theirs = (_described(found.get(index)) for found in sites[::-1])
                yield f"{path}, node {index}: the certificate states {theirs}, but the installed rules make {ours}"
                return
    yield "the certificate states other rewrites than the installed rules make"


def _described(site: dict[str, Any] | None) -> str:
    if site is None:
        return "no change"
    rules = ", ".join(
        f"{one['rule']} ({step['operator']} {step['older']}-{step['newer']}, {one['ulps']} ULP)"
        for one in site["applied"]
        for step in [one["transition"]]
    )
    return f"nodes {site['start']} to {site['stop']} by {rules or 'no rule'}"


def _result_differences(derived: ModelProto, converted: ModelProto) -> Iterator[str]:
    """Where a model differs from the result of the repeated run, `derived`. Both hold comparable tensors."""
    expected = "the certificate's stages give another model"
    if derived.ir_version != converted.ir_version:
        yield f"{expected}: one of IR version {derived.ir_version}, not {converted.ir_version}"
    imports = [
        [
            [(canonical_domain(one.domain), one.version) for one in container.opset_import]
            for container in (model, *model.functions)
        ]
        for model in (derived, converted)
    ]
    if imports[0] != imports[1]:
        yield f"{expected}: one that imports other opsets"
    for difference in structural_differences(derived, converted, ConversionTrace()):
        yield f"{expected}: {difference}"


def _statement_differences(stated: Certificate, found: Certificate) -> Iterator[str]:
    """What a certificate states and the repeated run does not confirm."""
    one, other = stated.as_dict(), found.as_dict()
    stages, own = one.pop("stages"), other.pop("stages")
    if [stage["stage"] for stage in stages] != [stage["stage"] for stage in own]:
        yield "the certificate and the repeated run have different stages"
        return
    for name in sorted((one.keys() | other.keys()) - {"tools"}):
        if one.get(name) != other.get(name):
            yield f"the certificate and the repeated run differ in {name}"
    for stage, again in zip(stages, own, strict=True):
        for name in ("source_sha256", "target_sha256"):
            if stage[name] != again[name]:
                yield f"{again['stage']}: the certificate and the repeated run differ in {name}"
        yield from _evidence_differences(again["stage"], stage["evidence"], again["evidence"])


def _evidence_differences(where: str, stated: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(stated.keys() | found.keys()):
        value: Any = stated.get(name)
        own: Any = found.get(name)
        if name == "sites":
            yield from _site_differences(value, own)
        elif name == "proof":
            yield from _evidence_differences(f"{where}: proof", value, own)
        elif name == "parts" and value and own:
            # An earlier run met the same part in another model, and names decide in which order inputs are drawn.
            left_out = {"from_cache", *(["runs"] if value.get("from_cache") else [])}
            stated_parts, own_parts = ({key: one[key] for key in one if key not in left_out} for one in (value, own))
            yield from _evidence_differences(f"{where}: parts", stated_parts, own_parts)
        elif not _is_right(name, value, own, found):
            yield f"{where}: the certificate states {name} = {value!r}, but the repeated run found {own!r}"


def _site_differences(stated: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if len(stated) != len(found):
        yield f"the certificate states {len(stated)} sites, but the repeated run found {len(found)}"
        return
    for site, again in zip(stated, found, strict=True):
        where = f"{again['path']}: {again['operator']} {again['node']!r}"
        yield from _evidence_differences(where, site, again)


def _is_right(name: str, stated: Any, found: Any, of: Mapping[str, Any]) -> bool:
    """Whether an entry agrees with the repeated run. Some may differ a little from machine to machine."""
    match name:
        case "rejected" | "worst" | "worst_case" | "from_cache":
            return True
        case "worst_ulps":
            return bool(stated <= of["ulps"])
        case "cases":
            return bool(stated <= found)
        case "notes" if "operator" in of:
            return _kinds(stated) == _kinds(found)
        case "inputs":
            return len(stated) == len(found) and all(map(_is_no_more_diverse, stated, found))
    return bool(stated == found)


def _is_no_more_diverse(stated: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether the certificate states no more diverse test inputs than the repeated run had."""
    return all(stated[name] == found[name] for name in ("name", "dtype", "role", "kinds", "missing")) and all(
        stated[name] <= found[name] for name in ("cases", "elements", "distinct")
    )


def _kinds(notes: list[str]) -> list[str]:
    """Notes without the numbers that come after a colon."""
    return [note.partition(":")[0] for note in notes]


def _with_tools(certificate: Certificate, sentence: str) -> str:
    own = tool_versions()
    others = [f"{name} {version}" for name, version in certificate.tools.items() if own.get(name) != version]
    return f"{sentence}; the certificate was made with {', '.join(others)}" if others else sentence
