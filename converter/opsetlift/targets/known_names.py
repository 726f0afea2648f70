"""Which names a target file may use: one that is misspelt would be met in no model, and what it states never hold."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache

from onnx import TensorProto

from opsetlift.specification.experimental import experimental_operators
from opsetlift.specification.history import AI_ONNX, CONVERTED_DOMAINS, canonical_domain, histories, is_behind

_DTYPES = frozenset(map(str.lower, TensorProto.DataType.keys()))


class UnknownName(ValueError):
    """A name that ONNX does not have; the message is the end of a sentence."""


def check_operator(spelt: str) -> None:
    """Raises UnknownName for an operator that ONNX lacks: "Loop" (of either domain), "ai.onnx.ml.Scaler".

    " of int16" may follow. Those of other domains, such as "com.microsoft.QGemm", nobody but the runtime knows.
    """
    name = spelt.partition(" of ")[0]
    domain, dot, operator = name.rpartition(".")
    if canonical_domain(domain) in CONVERTED_DOMAINS:
        known = _operators(*[canonical_domain(domain)] if dot else CONVERTED_DOMAINS)
        _check(operator, known, "there is no operator")


def unknown_dtypes(names: frozenset[str]) -> list[str]:
    """Names that no dtype of ONNX has; none where the installed onnx may lack some."""
    return [] if _may_lack_names() else sorted(names - _DTYPES)


def check_input(operator: str, formal: str) -> None:
    """Raises UnknownName for an operator of ONNX, or an input of it, that no version has."""
    check_operator(operator)
    _check(formal, frozenset(_inputs(operator)), f"{operator} has no input")


def check_part(domain: str, operator: str, name: str) -> None:
    """Raises UnknownName for a name in a form of an operator of ONNX that nothing has.

    It may be that of an attribute, input, output or type variable of any version, of another operator, or of a dtype.
    """
    if (
        canonical_domain(domain) in CONVERTED_DOMAINS
        and name not in _operators(*CONVERTED_DOMAINS)
        and name not in _DTYPES
    ):
        _check(name, _parts(canonical_domain(domain), operator), f"{operator} has nothing of the name")


def _check(name: str, known: frozenset[str], fault: str) -> None:
    if name in known or _may_lack_names():
        return
    near = difflib.get_close_matches(name, known, n=1)
    raise UnknownName(f"{fault} {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


@cache
def _may_lack_names() -> bool:
    return any(map(is_behind, CONVERTED_DOMAINS))


@cache
def _operators(*domains: str) -> frozenset[str]:
    found = frozenset(name for domain, name in histories() if domain in domains)
    return found | experimental_operators().keys() if AI_ONNX in domains else found


def _inputs(operator: str) -> Iterator[str]:
    for domain in CONVERTED_DOMAINS:
        if (domain, operator) in histories():
            for one in histories()[domain, operator].definitions.values():
                yield from (formal.name for formal in one.schema.inputs)


@cache
def _parts(domain: str, operator: str) -> frozenset[str]:
    found: set[str] = set()
    definitions = [experimental_operators()[operator][0]] if operator in experimental_operators() else []
    if (domain, operator) in histories():
        definitions += histories()[domain, operator].definitions.values()
    for one in definitions:
        schema = one.schema
        found.update(schema.attributes, (formal.name for formal in (*schema.inputs, *schema.outputs)))
        found.update(variable.type_param_str for variable in schema.type_constraints)
    return frozenset(found)
