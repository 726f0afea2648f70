"""What a pass is, and what it may ask while it rewrites a graph.

A pass edits one `gs.Graph` in place: the framework hands it the bodies of If, Loop and Scan (innermost first), the main
graph, and the body of each model-local function, one after the other; passes never recurse. Tensors of outer scopes are
shared objects, so `tensor.outputs` has consumers in subgraphs, too.

A tensor stands for one value as long as it exists: what gets another shape or other elements gets a new tensor. (Passes
of others may break that; what was known is worked out anew after them.)

A pass leaves dead nodes and unsorted ones behind as it likes; the framework sweeps and sorts after each pass. It never
changes the inputs and outputs of a graph: names, order and types are the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import onnx
import onnx_graphsurgeon as gs
from onnx.defs import OpSchema

from opsetlift.model.arrays import Array as Array
from opsetlift.normalizer.graphs.dead_code import remove_dead_nodes
from opsetlift.normalizer.graphs.places import Place, Scope
from opsetlift.normalizer.model_state import FIRST_IR_VERSION_WITH_CONSTANTS, ModelState
from opsetlift.specification import history
from opsetlift.targets import Target


@dataclass(frozen=True)
class Pass:
    """One rewrite, as it is registered and run."""

    name: str
    """As users type it: "fold-constants"."""
    rewrite: Callable[[gs.Graph, Context], bool | None]
    """Gives False where it has certainly left the graph as it was: the passes beside this module are believed, with
    others, and where None is given, the graph itself is looked at."""
    summary: str
    """One sentence in the present tense, shown by `opsetlift normalize --list`."""
    is_default: bool = True
    """Whether it runs without being asked for; not so where it rounds, or where opinions differ."""
    ulps: int = 0
    """How far results may move, in units in the last place of a result's largest magnitude; 0: not a bit."""
    operators: frozenset[str] = frozenset()
    """Without a node of one of these the pass has nothing to do, and is not run; empty: it looks at every graph."""
    undoes: str = ""
    """The pass whose work it undoes; who asks for all passes does not get it."""

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of those beside this module. They keep to what is said above of tensors, and have done
        nothing where they say so; where they are wrong their work is undone."""
        return self.rewrite.__module__.startswith(f"{__package__}.passes.")


class Context:
    """What a pass may ask about the graph that it is given, and the edits that are easily got wrong."""

    def __init__(self, state: ModelState, place: Place) -> None:
        self._state = state
        self._graph = place.graph
        self.scope: Scope = place.scope

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
        return self.scope != "function" and self._state.ir_version >= FIRST_IR_VERSION_WITH_CONSTANTS

    def opset(self, domain: str = history.AI_ONNX) -> int:
        """The opset of `domain` that the graph (or the function) imports; 0 where it imports none."""
        return self._opsets.get(history.canonical_domain(domain), 0)

    @cached_property
    def _opsets(self) -> Mapping[str, int]:
        """What the graph imports: no pass changes that."""
        return self._state.opsets_in(self._graph)

    def schema(self, node: gs.Node) -> OpSchema | None:
        """The definition of a node's operator in force; None for calls of functions and unknown operators."""
        found = self._state.definition(node, self._graph)
        return None if found is None else found.schema

    def function_of(self, node: gs.Node) -> gs.Function | None:
        """The model-local function that a node calls; None for operators."""
        return self._state.function_of(node)

    def is_random(self, node: gs.Node) -> bool:
        """Whether two runs of the node may differ, or nobody knows: unknown operators, and functions that hold such."""
        return self._state.is_random(node, self._graph)

    def inside(self, subgraph: gs.Graph) -> Context:
        """What may be asked about a subgraph of this graph."""
        return Context(self._state, Place(subgraph, "subgraph", ""))

    # Facts

    def dtype_of(self, tensor: gs.Tensor) -> str | None:
        """A tensor's dtype as the schemas spell it ("float", "int64"); None for what is no tensor, or is not known."""
        return self._state.facts.dtype_of(tensor)

    def shape_of(self, tensor: gs.Tensor) -> tuple[int | str | None, ...] | None:
        """A number, a symbol or None per dimension; None where not even the rank is known."""
        return self._state.facts.shape_of(tensor)

    def type_of(self, tensor: gs.Tensor) -> onnx.TypeProto | None:
        """The whole type, that of a sequence or an optional included; None where it is not known."""
        return self._state.facts.type_of(tensor)

    def constant(self, tensor: gs.Tensor) -> Array | None:
        """The value of a tensor that is the same in every run: a constant, or what is computed from constants or from
        static shapes alone. None where it is not, or is too large to look for."""
        return self._state.facts.constant(tensor, self._opsets, lambda node: not self.is_random(node))

    def evaluate(self, node: gs.Node) -> list[Array] | None:
        """The outputs of a node all of whose inputs are `gs.Constant`s (or left out), by the strict evaluator.

        None where it is random, calls a function, holds subgraphs, gives anything but tensors, or is rejected.
        """
        if self._state.function_of(node) is not None or self.is_random(node):
            return None
        return self._state.facts.evaluate(node, self._opsets)

    # Uses

    def is_outer(self, tensor: gs.Tensor) -> bool:
        """Whether the tensor belongs to a scope around this graph, and must be left as it is."""
        return self.scope == "subgraph" and self._state.is_outer(tensor, self._graph)

    def is_output(self, tensor: gs.Tensor) -> bool:
        """Whether the tensor is an output of this graph, or of a subgraph that passes it on: its name stays."""
        return self._state.is_output(tensor)

    def is_input(self, tensor: gs.Tensor) -> bool:
        """Whether the tensor is an input of this graph; one with a default value is no constant."""
        return any(found is tensor for found in self._graph.inputs)

    def uses(self, tensor: gs.Tensor) -> int:
        """How often nodes (those of subgraphs included), outputs and quantization annotations name the tensor."""
        return self._state.uses(tensor, self._graph)

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
        remove_dead_nodes(self._graph, self._state.pinned if self.scope == "graph" else ())

    def remove_unused_functions(self) -> None:
        """Remove the model's functions that nothing calls."""
        if self._state.graph.functions:
            self._state.remove_unused_functions()

    def fix_defaults(self) -> None:
        """Make constants of the inputs of this graph that callers may leave out; the IR version becomes 4 at least."""
        self._state.fix_defaults(self._graph)
