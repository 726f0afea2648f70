"""A node that a kernel of this package executes, behind the gate of its definition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy
from onnx import NodeProto

from opsetlift.evaluator import values
from opsetlift.evaluator.errors import NotExecutable, Place, Rejected, TooLarge
from opsetlift.evaluator.gate import Gate
from opsetlift.evaluator.kernels.registry import Kernel
from opsetlift.evaluator.step import Environment, Step, Subgraph
from opsetlift.evaluator.values import Value


class NodeCall:
    """One execution of a node, as its kernel sees it: implements registry.Call."""

    __slots__ = (
        "_environment",
        "_iterations",
        "_step",
        "attributes",
        "node",
        "output_count",
        "since_version",
        "strict",
    )

    def __init__(self, step: KernelStep, environment: Environment) -> None:
        self._step = step
        self._environment = environment
        self._iterations = 0
        self.node = step.node
        self.since_version = step.shown_version
        self.attributes = step.attributes
        self.output_count = step.output_count
        self.strict = step.strict

    def run_subgraph(self, attribute: str, inputs: Sequence[Value]) -> list[Value]:
        """Execute the subgraph in `attribute` on `inputs`; it sees the outer scopes' values."""
        limit = self._step.iteration_limit
        if limit is not None and self._iterations >= limit:
            raise NotExecutable(f"more than {limit} iterations", self._step.place)
        self._iterations += 1
        return self._step.bodies[attribute].run(inputs, self._environment, self._step.place)

    def reserve(self, count: int) -> None:
        """Announce an array of `count` elements.

        Raises:
            TooLarge: That is more than allowed.
        """
        limit = self._step.element_limit
        if limit is not None and count > limit:
            raise TooLarge(f"a value of {count} elements, where at most {limit} are allowed", self._step.place)

    def fail(self, clause: str) -> NoReturn:
        """Reject the node: `clause` is the broken rule of the text."""
        raise Rejected(clause, self._step.place)

    def fail_if_strict(self, clause: str) -> None:
        """Reject the node under strict=True."""
        if self.strict:
            self.fail(clause)


class KernelStep(Step):
    """A node that a kernel executes, behind the gate of its definition."""

    def __init__(
        self,
        node: NodeProto,
        place: Place,
        bodies: Mapping[str, Subgraph],
        foldable: bool,
        *,
        gate: Gate,
        kernel: Kernel,
        shown_version: int,
        attributes: Mapping[str, Any],
        strict: bool,
        iteration_limit: int | None,
        element_limit: int | None,
    ) -> None:
        super().__init__(node, place, bodies, foldable)
        self.gate = gate
        self.kernel = kernel
        self.shown_version = shown_version
        self.attributes = attributes
        self.strict = strict
        self.iteration_limit = iteration_limit
        self.element_limit = element_limit
        self.output_count = named_outputs(node)
        self._call = NodeCall(self, {})
        """Every execution's, where no subgraph looks at the environment."""
        self._has_all_outputs = all(self.outputs)
        self._taken: Dtypes | None = None
        self._given: Dtypes | None = None
        """The dtypes of inputs that the gate has let pass, and of the outputs that it let pass for them."""
        self._given_alone: numpy.dtype[Any] | None = None
        """The same of a single output."""

    def _compute(self, inputs: Sequence[Value], environment: Environment) -> Sequence[Value]:
        if not _are_laid_out(inputs, self._taken):
            self._admit(inputs)
            inputs = tuple(map(values.in_c_order, inputs))
        result = self.kernel(NodeCall(self, environment) if self.bodies else self._call, *inputs)
        if (
            type(result) is numpy.ndarray
            and result.dtype is self._given_alone
            and (self.element_limit is None or 0 < result.size <= self.element_limit)
        ):
            return (result,)
        return self._checked(result if type(result) is tuple else (result,), inputs)

    def _admit(self, inputs: Sequence[Value]) -> None:
        """Let the gate judge inputs, unless it has let pass others of the same dtypes."""
        dtypes = _dtypes(inputs)
        if dtypes is None or dtypes != self._taken:
            self.gate.check_inputs(inputs)
            self._taken, self._given, self._given_alone = dtypes, None, None

    def _checked(self, results: tuple[Value, ...], inputs: Sequence[Value]) -> Sequence[Value]:
        """Return the outputs, as large as they may be, and of types that the gate lets pass for these inputs."""
        if self.element_limit is not None:
            for value in results:
                # It may take no memory itself: a view, or one with a size of 0 beside others. What is made of it would.
                if isinstance(value, numpy.ndarray):
                    self._call.reserve(math.prod(filter(None, value.shape)))
        dtypes = _dtypes(results)
        if dtypes is not None and dtypes == self._given:
            return results
        bindings = self.gate.check_inputs(inputs)
        checked = self.gate.check_outputs(results, bindings, self.outputs, strict=self.strict)
        if self._taken is not None and self._has_all_outputs and len(results) == len(self.outputs):
            self._given = dtypes
            self._given_alone = dtypes[0] if dtypes is not None and len(dtypes) == 1 else None
        return checked


def named_outputs(node: NodeProto) -> int:
    """Return how many outputs a node names, trailing empty names not counted."""
    return max((index for index, name in enumerate(node.output, 1) if name), default=0)


Dtypes = tuple[numpy.dtype[Any], ...]
"""The dtypes of values that are all arrays: all that the gate looks at in these."""

_LAID_OUT = 0x0101
"""NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED."""


def _dtypes(some: Sequence[Value]) -> Dtypes | None:
    """Return the dtypes of values; None where they are not all arrays."""
    found = []
    for value in some:
        if type(value) is not numpy.ndarray:
            return None
        found.append(value.dtype)
    return tuple(found)


def _are_laid_out(some: Sequence[Value], dtypes: Dtypes | None) -> bool:
    """Return whether values are arrays of these very dtypes, in C order and aligned.

    This is what most nodes meet, and quick to find out: `carray` means laid out and writable.
    """
    if dtypes is None:
        return False
    for value, dtype in zip(some, dtypes):  # noqa: B905  # a node has as many inputs each time, and strict= takes long
        if type(value) is not numpy.ndarray or value.dtype is not dtype:
            return False
        if not value.flags.carray and value.flags.num & _LAID_OUT != _LAID_OUT:
            return False
    return True
