"""The table of kernels: which function executes which version of which operator.

A kernel is declared for the exact since-versions whose text it implements; nothing is inherited by a later version.
The modules beside this one are imported on first use, so that a family is added by adding a file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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


_kernels: dict[KernelKey, Kernel] = {}
_alike: dict[tuple[KernelKey, bool], Alike] = {}
"""By definition, and by whether an axis among the node's attributes is negative."""
_shape_readers: set[KernelKey] = set()
_form_readers: set[KernelKey] = set()
_form_keepers: set[KernelKey] = set()


def kernel(
    operator: str,
    since: Sequence[int],
    *,
    domain: str = "",
    changes: Sequence[int] | None = None,
    negative_axes: int | None = None,
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
        changes: Those from which on the operator computes something else, or takes other inputs, than before; all other
            versions differ from those before them in dtypes, and in attributes whose defaults change nothing. The
            function cannot tell such versions apart, so that nothing has to be tried where a node goes from one to
            another. None: each version is told apart.
        negative_axes: The version that first takes negative numbers in the attributes `axis` and `axes`, if nothing
            else changed there.
        reads_only_shapes: The result depends on the inputs' shapes alone: it is a constant wherever those are.
        reads_no_elements: The result depends on the inputs' form alone: the shapes of tensors, the length of a
            sequence, the presence of an optional.
        keeps_form: The form of the result depends on no element of an input.

    Raises:
        ValueError: A version has a kernel already.
    """
    own = {min(since), *(since if changes is None else changes)}
    starts_of = {False: own, True: own if negative_axes is None else {*own, negative_axes}}

    def register(function: K) -> K:
        for since_version in since:
            key = KernelKey(domain, operator, since_version)
            if key in _kernels:
                raise ValueError(f"two kernels for {key}: {_kernels[key].__qualname__} and {function.__qualname__}")
            _kernels[key] = function
            for is_negative, starts in starts_of.items():
                shown = max(start for start in starts if start <= since_version)
                latest = max(one for one in since if not any(shown < start <= one for start in starts))
                _alike[key, is_negative] = Alike(shown, latest)
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


def alike(domain: str, operator: str, since_version: int, *, has_negative_axis: bool) -> Alike:
    """Return from which other versions the kernel of this definition cannot tell it.

    `has_negative_axis`: the attribute `axis` or `axes` of the node holds a negative number.
    """
    _import_all()
    key = KernelKey(domain, operator, since_version)
    return _alike.get((key, has_negative_axis), Alike(since_version, since_version))


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
