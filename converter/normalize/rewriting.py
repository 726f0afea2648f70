"""What a pass is, and what it may ask while it rewrites a graph.

A pass edits one `gs.Graph` in place: the framework hands it the bodies of If, Loop and Scan (innermost first), the main
graph, and the body of each model-local function, one after the other; passes never recurse. Tensors of outer scopes are
shared objects, so `tensor.outputs` has consumers in subgraphs, too.

A pass leaves dead nodes and unsorted ones behind as it likes; the framework sweeps and sorts after each pass. It never
changes the inputs and outputs of a graph: names, order and types are the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import onnx
import onnx_graphsurgeon as gs
from numpy.typing import NDArray
from onnx.defs import OpSchema

from converter import history
from converter.targets import Target

if TYPE_CHECKING:
    from converter.normalize.model_state import ModelState

Array = NDArray[Any]
Scope = Literal["graph", "subgraph", "function"]

_FIRST_IR_VERSION_WITH_FIXED_INITIALIZERS = 4


@dataclass(frozen=True)
class Pass:
    """One rewrite, as it is registered and run."""

    name: str
    """As users type it: "fold-constants"."""
    rewrite: Callable[[gs.Graph, Context], None]
    summary: str
    """One sentence in the present tense, shown by `opsetlift normalize --list`."""
    is_default: bool = True
    """Whether it runs without being asked for; not so where it rounds, or where opinions differ."""
    ulps: int = 0
    """How far results may move, in units in the last place of a result's largest magnitude; 0: not a bit."""


class Context:
    """What a pass may ask about the graph that it is given, and the edits that are easily got wrong."""

    def __init__(self, state: ModelState, graph: gs.Graph, scope: Scope, path: str) -> None:
        self._state = state
        self._graph = graph
        self._path = path
        self.scope: Scope = scope

    @property
    def size_limit(self) -> int:
        """The most bytes that a value may have to be written into the model in place of what computes it, unless it
        is no larger than the constants that it is computed from."""
        return self._state.size_limit

    @property
    def target(self) -> Target | None:
        """The runtime that the model is for, where one was named."""
        return self._state.target

    @property
    def has_initializers(self) -> bool:
        """Whether the graph may hold constants that no caller overrides: no function body does, nor did graphs before
        IR version 4. Elsewhere constants are written as Constant nodes."""
        return self.scope != "function" and self._state.ir_version >= _FIRST_IR_VERSION_WITH_FIXED_INITIALIZERS

    def opset(self, domain: str = history.AI_ONNX) -> int:
        """The opset of `domain` that the graph (or the function) imports; 0 where it imports none."""
        return self._state.opsets_of(self._path).get(history.canonical_domain(domain), 0)

    def schema(self, node: gs.Node) -> OpSchema | None:
        """The definition of a node's operator in force; None for calls of functions and unknown operators."""
        found = self._definition(node)
        return found and found.schema

    def is_random(self, node: gs.Node) -> bool:
        """Whether two runs of the node may differ, or nobody knows: unknown operators, and functions that hold such."""
        return self._state.is_random(node, self._path)

    def _definition(self, node: gs.Node) -> history.Definition | None:
        if self._state.calls_function(node):
            return None
        return history.definition(node.domain or "", node.op, self.opset(node.domain or ""))

    # Facts

    def dtype_of(self, tensor: gs.Tensor) -> str | None:
        """A tensor's dtype as the schemas spell it ("float", "int64"); None for what is no tensor, or is not known."""
        return self._state.dtype_of(tensor, self._path)

    def shape_of(self, tensor: gs.Tensor) -> tuple[int | str | None, ...] | None:
        """A number, a symbol or None per dimension; None where not even the rank is known."""
        return self._state.shape_of(tensor, self._path)

    def type_of(self, tensor: gs.Tensor) -> onnx.TypeProto | None:
        """The whole type, that of a sequence or an optional included; None where it is not known."""
        return self._state.type_of(tensor, self._path)

    def constant(self, tensor: gs.Tensor) -> Array | None:
        """The value of a tensor that is the same in every run: a constant, or what is computed from constants or from
        static shapes alone. None where it is not, or is too large to look for."""
        return self._state.constant(tensor, self._path)

    def evaluate(self, node: gs.Node) -> list[Array] | None:
        """The outputs of a node all of whose inputs are `gs.Constant`s (or left out), by the strict evaluator.

        None where it is random, calls a function, holds subgraphs, gives anything but tensors, or is rejected.
        """
        return self._state.evaluate(node, self._path)

    # Uses

    def is_outer(self, tensor: gs.Tensor) -> bool:
        """Whether the tensor belongs to a scope around this graph, and must be left as it is."""
        return self._state.owner_of(tensor) is not self._graph

    def is_output(self, tensor: gs.Tensor) -> bool:
        """Whether the tensor is an output of this graph, or of a subgraph in it that passes it on."""
        return any(found is tensor for graph in self._graphs() for found in graph.outputs)

    def is_input(self, tensor: gs.Tensor) -> bool:
        """Whether the tensor is an input of this graph; one with a default value is no constant."""
        return any(found is tensor for found in self._graph.inputs)

    def uses(self, tensor: gs.Tensor) -> int:
        """How often nodes (those of subgraphs included), outputs and quantization annotations name the tensor."""
        consumers = {id(node): node for node in tensor.outputs}
        by_nodes = sum(one is tensor for node in consumers.values() for one in node.inputs)
        by_outputs = sum(one is tensor for graph in self._graphs() for one in graph.outputs)
        return by_nodes + by_outputs + self._state.annotations_of(tensor)

    def _graphs(self) -> Iterator[gs.Graph]:
        yield self._graph
        yield from self._graph.subgraphs(recursive=True)

    # Edits

    def fresh_name(self, base: str) -> str:
        """`base`, or `base_1`, `base_2`... whichever nothing in the model has; it is taken from then on."""
        return self._state.fresh_name(base)

    def inherit(self, node: gs.Node, *originals: gs.Node) -> None:
        """Hand the doc string and the metadata of the nodes that `node` stands for on to it."""
        self._state.inherit(node, originals)

    def replace_uses(self, tensor: gs.Tensor, replacement: gs.Tensor) -> bool:
        """Let everything that reads `tensor` read `replacement`, in subgraphs, too; both hold the same value.

        Where `tensor` is an output of this graph its name must stay: then the node behind `replacement` computes
        `tensor`, and what read `replacement` reads that. False, and nothing is changed, where this cannot be done: the
        replacement is an input, an output, a constant or of an outer scope itself.
        """
        return self._state.replace_uses(self._graph, tensor, replacement)

    def remove_unused(self) -> None:
        """Remove dead nodes, and initializers and types of values that nothing uses, from this graph."""
        self._state.sweep(self._graph)

    def remove_unused_functions(self) -> None:
        """Remove the model's functions that nothing calls."""
        self._state.sweep_functions()
