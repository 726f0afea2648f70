"""Why a runtime does not take a model, from what it said, and the commands that help."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from onnx import ModelProto

from opsetlift.conversion.dtype_policy import KEEP, dtypes_from
from opsetlift.facts import ModelFacts
from opsetlift.model.files import load_model
from opsetlift.pipeline.job import Job, Options
from opsetlift.pipeline.stages import DRY_RUN, run
from opsetlift.reporting.neighbourhood import name_of
from opsetlift.reporting.refusals import NARROWER, command_of, open_sizes
from opsetlift.specification.dtypes import dtype_of_type, type_string
from opsetlift.specification.history import canonical_domain, histories
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.internal_error import InternalError
from opsetlift.targets import UnknownTarget, catalogue, find_target

SCHEMA_VERSION = 1
"""Of the document that `diagnose --json` prints; reporting/diagnosis.schema.json describes it."""

UNKNOWN, LATER, KNOWN, BEFORE_7, NOT_BEFORE_7 = "unknown", "later", "known", "before 7", "not before 7"
_PLACEHOLDER = "VERSION"
_LONGEST = 50_000
"""Characters of a log that are read."""
_MODEL, _OUT = "model.onnx", "out.onnx"
_PACKAGES = {"opencv": "opencv-python", "onnxruntime": "onnxruntime", "openvino": "openvino", "tensorrt": "tensorrt"}


@dataclass(frozen=True)
class Pattern:
    """A message of a runtime, as the data file describes it."""

    runtime: str
    pattern: re.Pattern[str]
    cause: str
    ways: Sequence[Mapping[str, str]]
    source: str
    operator: str = ""


@dataclass(frozen=True)
class Command:
    """A command that helps."""

    text: str
    works: bool | None
    """Whether a dry run on the model worked; None without a model."""
    remark: str = ""
    """Why it does not work, or what to put in."""


@dataclass(frozen=True)
class Diagnosis:
    """What a message means."""

    runtime: str
    cause: str
    commands: Sequence[Command]
    source: str


def as_dict(found: Sequence[Diagnosis]) -> dict[str, Any]:
    """For JSON."""
    return {"schema_version": SCHEMA_VERSION, "diagnoses": [asdict(one) for one in found]}


@cache
def patterns() -> Sequence[Pattern]:
    """Every message that is known."""
    text = files("opsetlift.reporting").joinpath("diagnoses.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)["diagnosis"]
    return [Pattern(**{**one, "pattern": re.compile(one["pattern"], re.DOTALL)}) for one in entries]


def diagnose(message: str, model: Path | None = None, *, target: str | None = None) -> list[Diagnosis]:
    """Find the causes of a runtime's message.

    Args:
        message: What the runtime said, or a log with it.
        model: The model that it was about; with it each command is tried by a dry run.
        target: The runtime's version, "onnxruntime==1.4"; by default the one that is installed here.

    Raises:
        ModelFileError: The model cannot be read.
    """
    loaded = load_model(model) if model is not None else None
    found = []
    for one, match in matching(message):
        words = _words(one, match, loaded, target)
        commands = list(dict.fromkeys(_commands(one, words, loaded, model)))
        found.append(Diagnosis(one.runtime, one.cause.format_map(words), commands, one.source))
    return found


def matching(message: str) -> Iterator[tuple[Pattern, re.Match[str]]]:
    """The entries that are about a message."""
    for one in patterns():
        match = one.pattern.search(message[:_LONGEST])
        if match is not None and _fits(one.operator, match.groupdict()):
            yield one, match


def _fits(condition: str, said: Mapping[str, str | None]) -> bool:
    """Whether the operator in a message is what an entry is about."""
    if not condition:
        return True
    domain, _, name = (said.get("operator") or "").rpartition(".")
    history = histories().get((canonical_domain(domain), name))
    if condition in (BEFORE_7, NOT_BEFORE_7):
        since = int(said.get("since") or 0)
        definition = history.at(7) if history is not None else None
        return (definition is not None and since < definition.since_version) == (condition == BEFORE_7)
    if history is None:
        return condition == UNKNOWN
    opset = int(said.get("opset") or history.introduction)
    return condition == (KNOWN if opset >= history.introduction else LATER)


def _words(one: Pattern, match: re.Match[str], model: ModelProto | None, target: str | None) -> dict[str, str]:
    """What the data file may name in braces."""
    words = {name: text for name, text in match.groupdict().items() if text is not None}
    domain, _, operator = words.get("operator", "").rpartition(".")
    history = histories().get((canonical_domain(domain), operator))
    if history is not None:
        words["introduction"] = str(history.introduction)
    if "type" in words:
        words["type"] = words["type"].lower()
    releases = _releases(one.runtime, words)
    installed = _installed(one.runtime)
    if installed is not None and releases and _release(one.runtime, installed) not in releases:
        # Another one said this, which is known where there is one alone.
        installed = releases[0] if len(releases) == 1 else None
    words["releases"] = f"{one.runtime} {' to '.join(dict.fromkeys((releases[0], releases[-1])))}" if releases else ""
    words["target"] = target or f"{one.runtime}=={installed or _PLACEHOLDER}"
    dtype = words.get("type") or (_dtype_at(model, words) if model is not None else None)
    if dtype in NARROWER:
        words["dtype"] = f"{dtype}={NARROWER[dtype]}"
    return words


def _releases(runtime: str, words: Mapping[str, str]) -> list[str]:
    """The versions of a runtime whose newest opset or IR version is the one that a message states, if it states one."""
    if "limit" not in words or runtime not in catalogue():
        return []
    domain, limit = words.get("domain"), int(words["limit"])
    return [
        target.version
        for target in catalogue()[runtime].targets
        for taken in [target.ir_versions if domain is None else target.opsets.get(canonical_domain(domain))]
        if taken is not None and taken.last == limit
    ]


def _release(runtime: str, version: str) -> str:
    """The release that a version is taken for; "" where it is taken for none."""
    try:
        return find_target(f"{runtime}=={version}").version
    except UnknownTarget:
        return ""


def _installed(runtime: str) -> str | None:
    """The version of a runtime in this environment."""
    try:
        return version(_PACKAGES.get(runtime, runtime))
    except PackageNotFoundError:
        return None


def _dtype_at(model: ModelProto, words: Mapping[str, str]) -> str | None:
    """The dtype of the first input of the node that a message names."""
    name = words.get("node") or words.get("before")
    facts = ModelFacts(model)
    for node in model.graph.node:
        if node.op_type == words.get("operator") and (not name or name_of(node) == name) and node.input:
            kind = facts.graph.type_of(node.input[0])
            return dtype_of_type(type_string(kind) or "") if kind is not None else None
    return None


def _commands(one: Pattern, words: Mapping[str, str], model: ModelProto | None, path: Path | None) -> Iterator[Command]:
    for way in one.ways:
        try:
            filled = {name: text.format_map(words) for name, text in way.items()}
        except KeyError:
            continue  # the message does not say it
        yield _command(filled, model, path, words["releases"])


def _command(way: Mapping[str, str], model: ModelProto | None, path: Path | None, releases: str) -> Command:
    source = str(path) if path is not None else _MODEL
    target = way.get("for")
    if target is not None and target.endswith(_PLACEHOLDER):
        text = f"opsetlift convert {source} {_OUT} --for {target}"
        remark = "put in the version of the runtime, or say --for here"
        return Command(text, None, f"{remark}: it is {releases}" if releases else remark)
    domain, _, opset = way.get("to", "").rpartition("=")
    sizes = dict(open_sizes(model)) if model is not None else {"batch": 1}
    try:
        options = Options.of(
            to={canonical_domain(domain): int(opset)} if opset else None,
            ir=int(way["ir"]) if "ir" in way else None,
            target=target,
            dtypes=dtypes_from([way["dtype"]]) if "dtype" in way else None,
            dtype_interface=way.get("dtype_interface", KEEP),
            fix_shapes=sizes if "fix_shapes" in way else None,
        )
    except (OpsetLiftError, ValueError) as error:
        return Command(f"opsetlift convert {source} {_OUT} --for {target}", False, str(error))
    name = "convert" if options.has_destination else "normalize"
    works, remark = _tried(options, model, path)
    if "fix_shapes" in way and works is not False:
        remark = "put in your own sizes"
    return Command(command_of(name, source, _OUT, options), works, remark)


def _tried(options: Options, model: ModelProto | None, path: Path | None) -> tuple[bool | None, str]:
    """Whether a dry run works, and why it does not."""
    if model is None or path is None:
        return None, ""
    try:
        run(DRY_RUN, Job(model, replace(options, prove=False), str(path.absolute().parent)))
    except (OpsetLiftError, InternalError) as error:
        return False, str(error).partition("\n")[0]
    return True, ""
