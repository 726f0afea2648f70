"""What a pass is, and what it may ask while it rewrites a graph.

A pass edits one `gs.Graph` in place: the framework hands it the bodies of If, Loop and Scan (innermost first), the main
graph, and the body of each model-local function, one after the other; passes never recurse. Tensors of outer scopes are
shared objects, so `tensor.outputs` has consumers in subgraphs, too.

A pass never changes the value of an existing tensor: a value of another shape or with other elements gets a new tensor.
(Passes of third parties may break this rule; after them all facts are inferred anew.)

A pass may leave dead and unsorted nodes; the framework removes and sorts them after each pass. It never changes the
inputs and outputs of a graph: names, order and types are the caller's.
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
    """Gives False where it has certainly changed nothing. This is relied on for built-in passes only; after others, and
    where it gives None, the graph is compared with its snapshot."""
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
        """Whether it is one of `passes/`, which keep the rule about tensors, and change nothing where they give False.

        Where one of them is wrong its work is undone.
        """
        return self.rewrite.__module__.startswith(f"{__package__}.passes.")


class Context:
    """What a pass may ask about its graph, and the edits that are easily got wrong."""

    def __init__(self, state: ModelState, place: Place) -> None:
        self._state = state
        self._graph = place.graph
        self.scope: Scope = place.scope

    @property
    def size_limit(self) -> int:
        """The most bytes of a computed value that may be written into the model.

        A value that is no larger than the constants that it is computed from may be written in any case.
        """
        return self._state.size_limit

    @property
    def target(self) -> Target | None:
        """The runtime that the model is for, where one was named."""
        return self._state.target

    @property
    def has_initializers(self) -> bool:
        """Whether the graph may hold initializers that no caller overrides.

        Function bodies have none, nor had graphs before IR version 4: there constants are written as Constant nodes.
        """
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

    def infer_again(self, node: gs.Node) -> bool:
        """Infer the outputs of a node whose inputs have changed, or of which more has become known.

        Returns:
            Whether more is known of one of them than before.
        """
        return self._state.facts.infer_again(node, self._opsets)

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
        """The value of a tensor that is the same in every run; None where it may differ, or is too large to look for.

        That is a constant, or what is computed from constants or from static shapes alone.
        """
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
        """Add the doc strings and the metadata of `originals`, which `node` replaces, to those of `node`."""
        self._state.inherit(node, originals)

    def replace_uses(self, tensor: gs.Tensor, replacement: gs.Tensor) -> bool:
        """Let everything that reads `tensor` read `replacement`, in subgraphs, too; both hold the same value.

        Where `tensor` is an output of this graph its name must stay: then the node that computes `replacement` computes
        `tensor`, and what read `replacement` reads that.

        Returns:
            False, with nothing changed, where that is impossible: the name of `tensor` must stay, and `replacement` is
            an input, an output, a constant or a tensor of an outer scope.
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
