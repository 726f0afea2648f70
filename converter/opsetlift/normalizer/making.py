"""New nodes and tensors of graphsurgeon, which are as its constructors make them, for models that have thousands.

A constructor sets each attribute by a method that first asks for links that are not there yet, and catches the error:
that takes most of the time. Here an object gets what a blank one of its kind holds, and links of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import onnx_graphsurgeon as gs
from numpy.typing import NDArray
from onnx_graphsurgeon.ir.tensor import LazyValues
from onnx_graphsurgeon.util.misc import SynchronizedList

_BLANK_VARIABLE = vars(gs.Variable(""))
_BLANK_CONSTANT = vars(gs.Constant("", numpy.empty(0)))
_BLANK_NODE = vars(gs.Node(""))


def new_variable(name: str) -> gs.Variable:
    """What `gs.Variable(name)` is."""
    made = gs.Variable.__new__(gs.Variable)
    held = vars(made)
    held.update(_BLANK_VARIABLE)
    held["name"] = name
    _link(made, held)
    return made


def new_constant(name: str, values: NDArray[Any] | LazyValues) -> gs.Constant:
    """What `gs.Constant(name, values)` is."""
    made = gs.Constant.__new__(gs.Constant)
    held = vars(made)
    held.update(_BLANK_CONSTANT)
    held["name"] = name
    held["_values"] = values
    _link(made, held)
    return made


def new_node(
    op: str,
    name: str,
    attributes: dict[str, Any],
    inputs: Sequence[gs.Tensor],
    outputs: Sequence[gs.Tensor],
    domain: str | None,
) -> gs.Node:
    """What `gs.Node(op, name, attributes, inputs, outputs, domain)` is."""
    made = gs.Node.__new__(gs.Node)
    held = vars(made)
    held.update(_BLANK_NODE, op=op, name=name, attrs=attributes, domain=domain)
    _link(made, held, inputs, outputs)
    return made


def _link(
    made: gs.Node | gs.Tensor, held: dict[str, Any], inputs: Sequence[Any] = (), outputs: Sequence[Any] = ()
) -> None:
    held["inputs"] = _links(made, "outputs", inputs)
    held["outputs"] = _links(made, "inputs", outputs)


def _links(owner: gs.Node | gs.Tensor, back: str, others: Sequence[Any]) -> SynchronizedList:
    """What `SynchronizedList(owner, back, others)` is."""
    links = SynchronizedList.__new__(SynchronizedList)
    links.parent_obj = owner
    links.field_name = back
    list.extend(links, others)
    for other in others:
        list.append(getattr(other, back), owner)
    return links
