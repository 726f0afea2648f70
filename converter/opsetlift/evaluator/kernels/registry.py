"""The table of kernels: which function executes which version of which operator.

A kernel is declared for the exact since-versions whose text it implements; nothing is inherited by a later version.
The modules beside this one are imported on first use, so that a family is added by adding a file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NoReturn, Protocol, TypeVar

import onnx


class Call(Protocol):
    """What a kernel sees of the node that it executes, besides the input values."""

    node: onnx.NodeProto
    since_version: int
    """The since-version of the operator's definition in force, so that one function may serve several; where versions
    are declared to mean the same, the first of these."""
    attributes: Mapping[str, Any]
    """Decoded attributes, the schema's defaults filled in. INT -> int, FLOAT -> float, STRING -> str (bytes where they
    are not UTF-8), TENSOR -> numpy.ndarray, lists -> list; GRAPH -> GraphProto; absent without default -> missing."""
    output_count: int
    """How many outputs the node names, trailing empty names not counted."""
    strict: bool

    def run_subgraph(self, attribute: str, inputs: Sequence[Any]) -> list[Any]:
        """Execute the subgraph in `attribute` on `inputs`; it sees the outer scopes' values."""

    def reserve(self, count: int) -> None:
        """Announce an array of `count` elements, where numbers in inputs decide on its size."""

    def fail(self, clause: str) -> NoReturn:
        """Raise the evaluation error that names this node and version; `clause` is the broken rule of the text."""

    def fail_if_strict(self, clause: str) -> None:
        """Call `fail` under strict=True; for clauses that old exporters commonly broke."""


Kernel = Callable[..., Any]
K = TypeVar("K", bound=Kernel)


@dataclass(frozen=True)
class KernelKey:
    """An operator's definition: its domain ("" is ai.onnx), name and since-version."""

    domain: str
    operator: str
    since_version: int


@dataclass(frozen=True)
class Alike:
    """The versions that one kernel executes without being told which of them it is."""

    shown: int
    """The version that it sees."""
    latest: int
    """The last of them, whose defaults stand for the attributes that an earlier one lacks."""


Concerns = Callable[[Mapping[str, Any], int], bool]
"""Whether a change concerns a node, by its decoded attributes and by how many outputs it names."""


@dataclass(frozen=True)
class Changes:
    """What the since-versions of one kernel change."""

    since: Sequence[int]
    concerned: Mapping[int, Concerns]
    """By the versions from which on something changes, which nodes that concerns."""


def every_node(attributes: Mapping[str, Any], output_count: int) -> bool:
    """All nodes."""
    return True


def negative_axes(attributes: Mapping[str, Any], output_count: int) -> bool:
    """Nodes that count an axis in their attributes from the last one: before opset 11 no text speaks of that."""
    return any(axis < 0 for axis in (attributes.get("axis", 0), *attributes.get("axes", ())))


_kernels: dict[KernelKey, Kernel] = {}
_changes: dict[KernelKey, Changes] = {}
"""The versions of the kernel of a definition, and which of them change something for which nodes."""
_shape_readers: set[KernelKey] = set()
_form_readers: set[KernelKey] = set()
_form_keepers: set[KernelKey] = set()


def kernel(
    operator: str,
    since: Sequence[int],
    *,
    domain: str = "",
    changes: Sequence[int] | Mapping[int, Concerns] | None = None,
    reads_only_shapes: bool = False,
    reads_no_elements: bool = False,
    keeps_form: bool = False,
) -> Callable[[K], K]:
    """Declare the decorated function as a kernel.

    The function is called as `function(call, *inputs)`, an absent optional input being None, and returns one value or a
    tuple of them. Values: tensor -> numpy.ndarray (ml_dtypes for the dtypes that numpy lacks; strings as dtype object),
    sequence -> list, optional -> the value or None. Its docstring begins with operator and versions (`Abs-1, 6, 13: `).

    Args:
        operator: The operator's name.
        since: The since-versions whose text it implements.
        domain: The operator's domain.
        changes: Those from which on the operator computes something else, or takes other inputs, than before, or which
            nodes that concerns. All other versions differ from those before them in dtypes, and in attributes whose
            defaults change nothing. The function is not told such versions apart, so that nothing has to be tried where
            a node goes from one to another. None: it is told each version.
        reads_only_shapes: The result depends on the inputs' shapes alone: it is a constant wherever those are.
        reads_no_elements: The result depends on the inputs' form alone: the shapes of tensors, the length of a
            sequence, the presence of an optional.
        keeps_form: The form of the result depends on no element of an input.

    Raises:
        ValueError: A version has a kernel already.
    """
    listed = since if changes is None else changes
    found = Changes(since, listed if isinstance(listed, Mapping) else dict.fromkeys(listed, every_node))

    def register(function: K) -> K:
        for since_version in since:
            key = KernelKey(domain, operator, since_version)
            if key in _kernels:
                raise ValueError(f"two kernels for {key}: {_kernels[key].__qualname__} and {function.__qualname__}")
            _kernels[key] = function
            _changes[key] = found
            if reads_only_shapes:
                _shape_readers.add(key)
            if reads_only_shapes or reads_no_elements:
                _form_readers.add(key)
            if keeps_form:
                _form_keepers.add(key)
        return function

    return register


@cache
def _import_all() -> None:
    package = __package__ or ""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")


def find_kernel(domain: str, operator: str, since_version: int) -> Kernel | None:
    """Return the kernel of exactly this definition, or None."""
    _import_all()
    return _kernels.get(KernelKey(domain, operator, since_version))


def alike(domain: str, operator: str, since_version: int, attributes: Mapping[str, Any], output_count: int) -> Alike:
    """Return from which other versions the kernel of this definition cannot tell it for a node."""
    _import_all()
    found = _changes.get(KernelKey(domain, operator, since_version))
    if found is None:
        return Alike(since_version, since_version)
    starts = tuple(one for one, concerns in found.concerned.items() if concerns(attributes, output_count))
    return _alike_between(since_version, tuple(found.since), starts)


@lru_cache(maxsize=1 << 12)
def _alike_between(since_version: int, since: tuple[int, ...], starts: tuple[int, ...]) -> Alike:
    shown = max((one for one in starts if one <= since_version), default=min(since))
    return Alike(shown, max(one for one in since if not any(shown < start <= one for start in starts)))


def reads_only_shapes(domain: str, operator: str, since_version: int) -> bool:
    """Whether the kernel of this definition looks at nothing but its inputs' shapes."""
    _import_all()
    return KernelKey(domain, operator, since_version) in _shape_readers


def reads_no_elements(domain: str, operator: str, since_version: int) -> bool:
    """Whether the kernel of this definition looks at nothing but its inputs' form."""
    _import_all()
    return KernelKey(domain, operator, since_version) in _form_readers


def keeps_form(domain: str, operator: str, since_version: int) -> bool:
    """Whether the form of what the kernel of this definition gives depends on no element of its inputs."""
    _import_all()
    return KernelKey(domain, operator, since_version) in _form_keepers


def may_read_only_shapes(domain: str, operator: str) -> bool:
    """Whether the kernel of any version of an operator looks at nothing but its inputs' shapes."""
    return (domain, operator) in _all_shape_readers()


@cache
def _all_shape_readers() -> frozenset[tuple[str, str]]:
    _import_all()
    return frozenset((key.domain, key.operator) for key in _shape_readers)


BodyInputs = Callable[[onnx.NodeProto, Sequence[onnx.TypeProto]], Sequence[onnx.TypeProto]]
_body_inputs: dict[KernelKey, BodyInputs] = {}


def body_inputs(operator: str, since: Sequence[int]) -> Callable[[BodyInputs], BodyInputs]:
    """Declare how the inputs of an operator's subgraphs are typed by the node's own: `function(node, input_types)`.

    The specification lets a subgraph leave its inputs' types out, and many do. Unknown types are empty TypeProtos.
    """

    def register(function: BodyInputs) -> BodyInputs:
        for since_version in since:
            _body_inputs[KernelKey("", operator, since_version)] = function
        return function

    return register


def find_body_inputs(domain: str, operator: str, since_version: int) -> BodyInputs | None:
    """Return what types the inputs of this definition's subgraphs, or None."""
    _import_all()
    return _body_inputs.get(KernelKey(domain, operator, since_version))


def all_kernels() -> Mapping[KernelKey, Kernel]:
    """Return every kernel by its definition."""
    _import_all()
    return _kernels
