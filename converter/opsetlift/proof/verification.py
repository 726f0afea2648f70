"""Whether a certificate is right about two models.

A certificate is input like any other, perhaps written by somebody who wants a wrong model accepted. Nothing in it is
taken as given: the conversion is derived from the original again by the rule book at hand, its result is compared with
the converted model byte by byte, the proof is run again, and what the certificate states is compared with what was
found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onnx import ModelProto

from opsetlift.conversion.derivation import derive
from opsetlift.conversion.destination import check_ir_version, opsets_to_reach
from opsetlift.conversion.dtype_policy import DtypePolicy, apply
from opsetlift.conversion.walked import Walked
from opsetlift.facts import ModelFacts
from opsetlift.model.files import Contents
from opsetlift.proof.certificate import Certificate, Destination, model_sha256, tool_versions, trace_as_dict
from opsetlift.proof.conversions import prove_conversion, with_dtypes_proven
from opsetlift.proof.sites import Facts
from opsetlift.proof.structure import structural_differences
from opsetlift.rulebook.book import RuleBook, default_rule_book
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.specification.history import canonical_domain
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.refusal import ConversionRefused
from opsetlift.targets import Target, UnknownTarget, find_target


class CertificateRefused(OpsetLiftError, ValueError):
    """A certificate states something that was not found again."""


def verify(
    certificate: Certificate,
    original: ModelProto,
    converted: ModelProto,
    facts: Facts,
    *,
    converted_dir: str | None = None,
    runtime: Target | None = None,
    rule_book: RuleBook | None = None,
) -> Certificate:
    """Derive the conversion of a certificate again, run its proof again, and compare both with what it states.

    Args:
        certificate: The certificate; nothing in it is taken as given.
        original: The model that was converted.
        converted: What the certificate says came of it.
        facts: What is known of the original's values, and the folder of its external data.
        converted_dir: The folder of the converted model's external data, by default the original's.
        runtime: The runtime that the conversion was for, where `find_target` does not know it.
        rule_book: The rules, by default those that are installed.

    Returns:
        What the proof gave this time.

    Raises:
        CertificateRefused: The certificate states something that was not found again.
        ValueError: It is about other models, or there is not all that is needed to check it.
    """
    base_dir = facts.base_dir
    contents = Contents(base_dir)
    contents_after = contents if converted_dir in (None, base_dir) else Contents(converted_dir or "")
    for which, model, own, expected in (
        ("original", original, contents, certificate.source_sha256),
        ("converted model", converted, contents_after, certificate.target_sha256),
    ):
        found = model_sha256(model, own)
        if not found or not expected:
            raise ValueError(f"the external data of the {which} is needed, and it was not there")
        if found != expected:
            raise ValueError(f"the certificate is about another {which}: its SHA-256 is {expected}, this one's {found}")
    destination = certificate.destination
    if destination is None:
        raise ValueError("the certificate does not say where the conversion was to go, so it cannot be derived again")
    start, policy, changes = original, None, None
    try:
        if certificate.dtypes is not None:
            policy = DtypePolicy.of(certificate.dtypes.changes, certificate.dtypes.interface)
            start, changes = apply(original, policy, base_dir)
        derived = _derived(start, destination, runtime, rule_book or default_rule_book(), base_dir)
    except ConversionRefused as error:
        sentence = f"the conversion that the certificate states is refused: {error}"
        raise CertificateRefused(_with_tools(certificate, sentence)) from error
    for sentence in (
        *_trace_differences(certificate.trace, derived.trace),
        *_result_differences(contents.comparable(derived.model), contents_after.comparable(converted)),
    ):
        raise CertificateRefused(_with_tools(certificate, sentence))
    if policy is None or changes is None:
        again = prove_conversion(
            start, derived.model, derived.trace, facts, seed=certificate.seed, destination=destination
        )
    else:
        own_facts = ModelFacts(start, base_dir)
        again = prove_conversion(
            start, derived.model, derived.trace, own_facts, seed=certificate.seed, destination=destination
        )
        with_dtypes_proven(again, original, start, derived.model, policy, changes, base_dir=base_dir)
    if again.is_proven:
        # What is not proven is not accepted in any case.
        for sentence in _statement_differences(certificate, again):
            raise CertificateRefused(_with_tools(certificate, sentence))
    return again


def _derived(
    start: ModelProto, destination: Destination, runtime: Target | None, rule_book: RuleBook, base_dir: str
) -> Walked:
    if destination.runtime is None:
        runtime = None
    elif runtime is None:
        try:
            runtime = find_target(_name_of_target(destination.runtime))
        except UnknownTarget as error:
            raise ValueError(f"{error}; where it is described by a file of your own, name that with --for") from error
    elif runtime.spelling != destination.runtime:
        raise ValueError(f"the certificate is about a conversion for {destination.runtime}, not {runtime.spelling}")
    if destination.ir is not None:
        check_ir_version(destination.ir, runtime)
    opsets = destination.opsets_by_domain
    opsets_to_reach(opsets, start, runtime, is_complete=True)
    walked, _ = derive(start, opsets, rule_book, ir=destination.ir, runtime=runtime, base_dir=base_dir)
    return walked


def _name_of_target(spelt: str) -> str:
    """Raises ValueError for the path of a file, which a certificate has no business to have read."""
    if spelt.partition("==")[0].strip().endswith(".toml"):
        raise ValueError(f"the certificate names the file {spelt!r} where a runtime is to be named")
    return spelt


def _trace_differences(stated: ConversionTrace, derived: ConversionTrace) -> Iterator[str]:
    """Where a stated trace is not the one that the rule book gives; the first such place is said."""
    one, other = trace_as_dict(stated), trace_as_dict(derived)
    if one == other:
        return
    for path in sorted(one["scopes"].keys() | other["scopes"].keys()):
        sites = [
            {site["index"]: site for site in trace["scopes"].get(path, {"sites": []})["sites"]}
            for trace in (one, other)
        ]
        for index in sorted(sites[0].keys() | sites[1].keys()):
            if sites[0].get(index) != sites[1].get(index):
                claims = [_described(found.get(index)) for found in sites]
                yield f"{path}: at node {index} the certificate states {claims[0]}, and the rule book gives {claims[1]}"
                return
    yield "the certificate's trace is not the one that the rule book gives"


def _described(site: dict[str, Any] | None) -> str:
    if site is None:
        return "no change"
    rules = ", ".join(
        f"{crossing['rule']} ({step['operator']} {step['older']}-{step['newer']}, {crossing['ulps']} ULP)"
        for crossing in site["crossings"]
        for step in [crossing["transition"]]
    )
    return f"nodes {site['start']} to {site['stop']} by {rules or 'no rule'}"


def _result_differences(derived: ModelProto, converted: ModelProto) -> Iterator[str]:
    """Where a converted model is not what the rule book makes of the original. Both hold comparable tensors."""
    expected = "the rule book makes another model of the original"
    if derived.ir_version != converted.ir_version:
        yield f"{expected}: its IR version is {derived.ir_version}, not {converted.ir_version}"
    imports = [
        [
            [(canonical_domain(one.domain), one.version) for one in container.opset_import]
            for container in (model, *model.functions)
        ]
        for model in (derived, converted)
    ]
    if imports[0] != imports[1]:
        yield f"{expected}: it imports other opsets"
    for difference in structural_differences(derived, converted, ConversionTrace()):
        yield f"{expected}: {difference}"


def _statement_differences(stated: Certificate, found: Certificate) -> Iterator[str]:
    """What a certificate states and was not found again."""
    one, other = stated.as_dict(), found.as_dict()
    if len(one["sites"]) != len(other["sites"]):
        yield f"the certificate states {len(one['sites'])} sites, and {len(other['sites'])} were found"
        return
    for site, again in zip(one.pop("sites"), other.pop("sites"), strict=True):
        where = f"{again['path']}: {again['operator']} {again['node']!r}"
        for name in again:
            value, own = site.get(name), again[name]
            if name == "worst_ulps":  # a little different on each machine
                is_right = value <= site["ulps"]
            elif name == "cases":
                is_right = value <= own
            elif name == "notes":
                is_right = _kinds(value) == _kinds(own)
            elif name == "inputs":
                is_right = len(value) == len(own) and all(map(_is_no_more_diverse, value, own))
            else:
                is_right = value == own or name == "rejected"
            if not is_right:
                yield f"{where}: the certificate states {name} of {value!r}, and {own!r} was found"
    dtypes, own_dtypes = one.pop("dtypes"), other.pop("dtypes")
    if dtypes is not None and own_dtypes is not None:
        for name, own in own_dtypes.items():
            if dtypes[name] != own and name != "worst":  # a little different on each machine, too
                yield f"dtypes: the certificate states {name} of {dtypes[name]!r}, and {own!r} was found"
    for name in sorted((one.keys() | other.keys()) - {"tools"}):
        if one.get(name) != other.get(name):
            yield f"the certificate states another {name} than was found"


def _is_no_more_diverse(stated: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether test inputs are stated to have been no more diverse than they were when the proof ran again."""
    return all(stated[name] == found[name] for name in ("name", "dtype", "role", "kinds", "missing")) and all(
        stated[name] <= found[name] for name in ("cases", "elements", "distinct")
    )


def _kinds(notes: list[str]) -> list[str]:
    """Notes without the numbers that come after a colon."""
    return [note.partition(":")[0] for note in notes]


def _with_tools(certificate: Certificate, sentence: str) -> str:
    own = tool_versions()
    others = [f"{name} {version}" for name, version in certificate.tools.items() if own.get(name) != version]
    return f"{sentence}; it was made with {', '.join(others)}" if others else sentence
