"""One version of a runtime, and what it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from opsetlift.specification.history import AI_ONNX, AI_ONNX_ML, display_domain
from opsetlift.targets.forms import Form, Kernels
from opsetlift.targets.ranges import Range
from opsetlift.targets.shared_constants import SharedConstants
from opsetlift.targets.signatures import Signatures


@dataclass(frozen=True)
class Quirk:
    """Something that a user should know of a runtime."""

    text: str
    source: str
    versions: tuple[str, ...] = ()
    """The versions that have it; empty where all do."""


@dataclass(frozen=True)
class Target:
    """One version of a runtime. `sources` says for each fact where it is from."""

    name: str
    version: str
    title: str
    opsets: Mapping[str, Range]
    """By domain; of a domain that is not there, nothing is known."""
    ir_versions: Range
    dtypes_refused: frozenset[str]
    operators_lacking: frozenset[str]
    """Operators that it does not have; of other domains than ONNX's own "com.microsoft.Gelu", and where it has one, but
    not for some dtype, "com.microsoft.QuantizeLinear of int16"."""
    has_functions: bool
    """Whether it takes models with functions of their own."""
    takes_open_dimensions: bool
    """Whether the sizes of inputs may be left open."""
    constant_inputs: frozenset[tuple[str, str]]
    """Inputs, by operator and name in the schema, that it takes as constants only."""
    quirks: tuple[Quirk, ...]
    sources: Mapping[str, str]
    input_dtypes_refused: frozenset[str] = frozenset()
    """Dtypes that it computes, but does not take as inputs of a model."""
    output_dtypes_refused: frozenset[str] = frozenset()
    """Dtypes that it computes, but of which it gives no outputs of a model."""
    output_dtypes_refused_as: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Those under other names that the runtime has."""
    takes_false_shapes: bool = True
    """Whether it loads models that declare shapes of values which are not the computed ones."""
    takes_unnamed_dimensions: bool = True
    """Whether sizes of a subgraph's inputs and outputs may be left open without a name."""
    takes_undeclared_shapes: bool = True
    """Whether values may have no declared shape: not where it reuses memory by shapes that it infers wrongly."""
    takes_undeclared_outputs: bool = True
    """Whether outputs of a model may have no declared shape."""
    takes_unread_inputs: bool = True
    """Whether a model may have inputs that no node reads."""
    takes_captured_initializers: bool = True
    """Whether subgraphs may read initializers of the graph that no node of the graph itself reads."""
    takes_outputs_beside_others: bool = True
    """Whether an output of the model keeps its name where its node has several outputs."""
    outputs_lost_where_read: frozenset[str] = frozenset()
    """Operators whose outputs it loses where they are outputs of the model and nodes read them, too."""
    outputs_kept_by: str = "Max"
    """Through which operator nodes may read them: a Max of a value and itself, or one that copies its input."""
    dtypes_read_raw: frozenset[str] = frozenset()
    """Dtypes of constants that it reads as raw data alone: it crashes on others, or reads other numbers."""
    misread_endings: tuple[str, ...] = ()
    """Ends of names of values by which it looks for others that do not exist."""
    most_channels: int = 0
    """An input of three axes is taken for a matrix of so many channels, unless its last axis is longer; 0: none is."""
    takes_inputs_as_outputs: bool = True
    """Whether an output of the model may be an input of it."""
    takes_initializers_as_outputs: bool = True
    """Whether an output of the model may be an initializer."""
    takes_repeated_outputs: bool = True
    """Whether a model may name a value twice among its outputs."""
    takes_empty_values: bool = True
    """Whether inputs of the model that are read, and what nodes compute, may have a size of 0."""
    takes_empty_outputs: bool = True
    """Whether outputs of the model may have a size of 0."""
    shared_constants: SharedConstants | None = None
    """Where it loses constants that several nodes read; None where it loses none."""
    misread_producers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Names of producers, with the operators that it computes otherwise in models of theirs."""
    computes_constants: bool = True
    """Whether it takes nodes that compute from constants alone, and shapes of values whose sizes are fixed."""
    constant_dtypes_not_computed: frozenset[str] = frozenset()
    """Dtypes of which it takes no such nodes."""
    kernels: Kernels = field(default_factory=dict)
    """The dtypes in which it computes operators of which it lacks some."""
    forms: tuple[Form, ...] = ()
    """Ways to write a node that it does not take."""
    signatures: Signatures = field(default_factory=dict)
    """Operators beside ONNX's own of which it knows less than other versions."""
    is_measured: bool = False
    """Whether what it computes was measured in this very version, and not read in documents or measured in another."""
    like: str = ""
    """Of a version that was not measured: the measured one before it, whose kernels and forms it is taken to have."""
    note: str = ""
    """Set where the version that was asked for was not measured, or is not listed and this one stands for it."""

    @cached_property
    def operators_to_check(self) -> frozenset[tuple[str, str]]:
        """The operators, by domain and name, of which it may not take a node as it is written."""
        return frozenset(
            [
                *((domain, operator) for domain, operator, _ in self.kernels),
                *((form.domain, form.operator) for form in self.forms),
                *((domain, operator) for domain in (AI_ONNX, AI_ONNX_ML) for operator in self.operators_lacking),
            ]
        )

    @cached_property
    def contributed_in_dtypes(self) -> frozenset[str]:
        """Operators of other domains that it has, but not for some dtype."""
        return frozenset(one.partition(" of ")[0] for one in self.operators_lacking if " of " in one)

    @cached_property
    def depth(self) -> int:
        """How many nodes before a node decide on whether it takes that one."""
        return max((form.depth for form in self.forms), default=0)

    @cached_property
    def forms_by_operator(self) -> Mapping[tuple[str, str], Sequence[Form]]:
        """The forms that it may not take, by domain and operator."""
        found: dict[tuple[str, str], list[Form]] = {}
        for form in self.forms:
            found.setdefault((form.domain, form.operator), []).append(form)
        return found

    @property
    def spelling(self) -> str:
        """As `find_target` takes it."""
        return f"{self.name}=={self.version}"

    @property
    def called(self) -> str:
        """As sentences name it, with the version that it is assumed to match where it was not measured itself."""
        like = f" (not measured; assumed to match {self.like})" if self.like else ""
        return f"{self.title} {self.version}{like}"

    def opset_for(self, domain: str, opset: int) -> int:
        """The opset nearest to `opset` that the runtime takes."""
        found = self.opsets.get(domain)
        return opset if found is None else found.nearest(opset)

    def ir_version_for(self, needed: int) -> int:
        """The IR version nearest to the one that a model needs."""
        return self.ir_versions.nearest(needed)

    def summary(self) -> str:
        """One line for people: opsets and IR versions."""
        opsets = [f"{display_domain(domain)} {found}" for domain, found in self.opsets.items()]
        return f"{', '.join(opsets)}; IR version {self.ir_versions}"


@dataclass(frozen=True)
class Runtime:
    """A runtime with its versions, oldest first."""

    name: str
    title: str
    targets: Sequence[Target]

    @property
    def versions(self) -> list[str]:
        """The versions that are listed."""
        return [target.version for target in self.targets]

    def find(self, version: str) -> Target | None:
        """What is known of a version, or without one of the newest; None before the first.

        That is the oldest that it may mean ("7" is 7.1, 7.2...), else the newest listed one that is not newer.
        """
        if not version:
            return self.targets[-1]
        asked = version_key(version)
        for target in self.targets:
            if version_key(target.version)[: len(asked)] == asked:
                return target
        found = [target for target in self.targets if version_key(target.version) <= asked]
        return max(found, key=lambda target: version_key(target.version)) if found else None


def version_key(version: str) -> tuple[int, ...]:
    """What versions are ordered by: the numbers in them."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def is_part_of(version: str, listed: str) -> bool:
    """Whether a listed version stands for `version`: 1.4 for 1.4.1."""
    asked, known = version_key(version), version_key(listed)
    return asked[: len(known)] == known or known[: len(asked)] == asked
