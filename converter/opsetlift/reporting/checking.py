"""Whether models run where they have to, for continuous integration: results, JUnit and SARIF."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from onnx import ModelProto

from opsetlift.facts import ModelFacts
from opsetlift.model.files import check_model, load_model, repaired, validated
from opsetlift.model.scopes import imported_opsets
from opsetlift.pipeline.reach import Answer, reach
from opsetlift.reporting.inspection import Objection, objections_of
from opsetlift.specification.history import AI_ONNX, display_domain
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.text import counted, printable
from opsetlift.targets import Target

SCHEMA_VERSION = 1
"""Of the document that `check --json` prints; reporting/checking.schema.json describes it."""

OPSET_LIMIT = "max-opset"
UNREADABLE = "unreadable"

_RULES = {
    "opset": "The runtime does not accept an opset of the model.",
    "ir-version": "The runtime does not accept the model's IR version.",
    "functions": "The runtime does not accept models with functions.",
    "node": "The runtime does not accept a node, a dtype or an open size of the model.",
    OPSET_LIMIT: "The model imports a newer opset than is allowed.",
    UNREADABLE: "The file is not a valid model.",
}


@dataclass(frozen=True)
class Problem:
    """Why a model does not pass."""

    rule: str
    message: str


@dataclass(frozen=True)
class Result:
    """What was found of one file and one requirement."""

    path: str
    requirement: str
    """The runtime, "onnxruntime==1.4", or "opset <= 13"."""
    problems: Sequence[Problem]
    remedy: str = ""
    """The command that makes the model pass, or why there is none."""

    @property
    def passes(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    @property
    def is_unreadable(self) -> bool:
        """Whether the file is no valid model."""
        return any(one.rule == UNREADABLE for one in self.problems)


def check(path: Path, targets: Sequence[Target], max_opset: int | None) -> Iterator[Result]:
    """Check one file against runtimes and a limit of its opset of ai.onnx.

    Args:
        path: The file.
        targets: The runtimes that have to take it as it is.
        max_opset: The newest opset that it may import.

    Yields:
        A result for each requirement; one alone for a file that is no valid model.
    """
    requirements = [target.spelling for target in targets]
    limit = [] if max_opset is None else [f"opset <= {max_opset}"]
    try:
        model, _ = validated(repaired(load_model(path))[0])
        check_model(model, path.parent, original=model)
    except OpsetLiftError as error:
        yield Result(str(path), ", ".join((*requirements, *limit)), [Problem(UNREADABLE, str(error))])
        return
    facts = ModelFacts(model, str(path.parent))
    for target in targets:
        problems = _grouped(objections_of(target, model, facts))
        remedy = _remedy(path, model, target) if problems else ""
        yield Result(str(path), target.spelling, problems, remedy)
    if max_opset is not None:
        yield _checked_limit(path, model, max_opset)


def _grouped(objections: Sequence[Objection]) -> list[Problem]:
    """The first objection of each kind, with the number of others."""
    found: dict[str, list[Objection]] = {}
    for one in objections:
        found.setdefault(one.kind, []).append(one)
    return [
        Problem(kind, alike[0].sentence + (f" (and {counted(len(alike) - 1, 'more place')})" if alike[1:] else ""))
        for kind, alike in found.items()
    ]


def _remedy(path: Path, model: ModelProto, target: Target) -> str:
    (answer,) = reach(model, targets=[target], opsets=False, base_dir=str(path.parent)).targets
    return _command(path, answer, "--for", target.spelling)


def _command(path: Path, answer: Answer, *destination: str) -> str:
    """The command that converts a file, or what is in its way."""
    if answer.is_reachable:
        return shlex.join(["opsetlift", "convert", str(path), "OUT.onnx", *destination])
    return f"{counted(len(answer.blockers), 'place')} cannot be converted: {answer.blockers[0]}"


def _checked_limit(path: Path, model: ModelProto, most: int) -> Result:
    opset = imported_opsets(model.opset_import).get(AI_ONNX, 0)
    if opset <= most:
        return Result(str(path), f"opset <= {most}", [])
    problem = Problem(OPSET_LIMIT, f"the model imports opset {opset} of ai.onnx, and {most} is the newest allowed")
    answers = {one.where: one for one in reach(model, targets=(), base_dir=str(path.parent)).opsets}
    remedy = _command(path, answers[f"{display_domain(AI_ONNX)} {most}"], "--to", str(most))
    return Result(str(path), f"opset <= {most}", [problem], remedy)


def as_dict(results: Sequence[Result]) -> dict[str, Any]:
    """For JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "passes": all(one.passes for one in results),
        "results": [{**asdict(one), "passes": one.passes} for one in results],
    }


def as_junit(results: Sequence[Result]) -> bytes:
    """A JUnit file: a test case for each file and requirement."""
    failures = [one for one in results if not one.passes and not one.is_unreadable]
    errors = [one for one in results if one.is_unreadable]
    counts = {"tests": str(len(results)), "failures": str(len(failures)), "errors": str(len(errors))}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "opsetlift check", **counts})
    for one in results:
        names = {"classname": printable(one.requirement), "name": printable(one.path)}
        case = ElementTree.SubElement(suite, "testcase", names)
        if one.problems:
            kind = "error" if one.is_unreadable else "failure"
            first = {"message": printable(one.problems[0].message), "type": one.problems[0].rule}
            ElementTree.SubElement(case, kind, first).text = "\n".join(map(printable, _lines(one)))
    ElementTree.indent(suites)
    return bytes(ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def _lines(result: Result) -> Iterator[str]:
    yield from (problem.message for problem in result.problems)
    if result.remedy:
        yield result.remedy


def as_sarif(results: Sequence[Result]) -> dict[str, Any]:
    """The problems in SARIF 2.1.0, which code hosts show beside the files."""
    found = [
        {
            "ruleId": problem.rule,
            "level": "error",
            "message": {"text": printable(_sentence(one, problem))},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(Path(one.path).as_posix())}}}],
        }
        for one in results
        for problem in one.problems
    ]
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()]
    driver = {"name": "opsetlift check", "version": version("opsetlift"), "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": found}],
    }


def _sentence(result: Result, problem: Problem) -> str:
    remedy = f". {result.remedy}" if result.remedy else ""
    return f"{result.requirement}: {problem.message}{remedy}"
