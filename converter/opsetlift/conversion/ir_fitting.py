"""Brings a model, already at its opsets, into a form that an IR version can hold; what it cannot hold is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto
from onnx.helper import make_tensor_value_info

from opsetlift.conversion.local_functions import AppliedRulesOf, inline_functions
from opsetlift.conversion.traced_edit import Edit, TracedEdit
from opsetlift.evaluator import sparse_tensor_value
from opsetlift.model.arrays import tensor_of
from opsetlift.model.files import is_external
from opsetlift.model.inlining import rename
from opsetlift.model.ir_version import FIRST_WITH_OVERRIDES, minimum_for_opsets, needs_beyond, overridable_initializers
from opsetlift.model.names import FunctionNames, Names
from opsetlift.model.notes import MovedNote, fields_missing_in, notes_of_function, take_notes, take_notes_off_nodes
from opsetlift.model.scopes import (
    GRAPH_PATH,
    FunctionKey,
    called_function_key,
    function_key,
    function_path,
    imported_opsets,
    root_path,
    subgraphs,
)
from opsetlift.rulebook.trace import AppliedRules, ConversionTrace
from opsetlift.specification.history import display_domain
from opsetlift.support.protobuf import text_of
from opsetlift.support.refusal import ConversionRefused, Refusal, Why

_LARGEST_DENSE_TENSOR = 1 << 30
"""Elements. A protobuf holds 2 GB."""


@dataclass
class Fitting:
    """What a model lost or gained on the way to an IR version."""

    moved_notes: list[MovedNote] = field(default_factory=list)
    inlined_functions: list[str] = field(default_factory=list)
    """Their paths."""
    added_inputs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences for the report."""


class IRFitting:
    """Brings `model`, which `trace` relates to `source`, to an IR version, in place."""

    def __init__(
        self,
        source: ModelProto,
        model: ModelProto,
        trace: ConversionTrace,
        names: Names,
        applied_of: AppliedRulesOf,
    ) -> None:
        self._source = source
        self._model = model
        self._trace = trace
        self._names = names
        self._applied_of = applied_of
        self._done = Fitting()
        self._refusals: list[Refusal] = []

    def fit(self, ir_version: int, *, keep_metadata: bool = False, keep_functions: bool = True) -> Fitting:
        """Apply it. Raises ConversionRefused with everything that the IR version cannot hold.

        With `keep_metadata`, metadata_props stay where they are: readers that do not know them pass them over. Without
        `keep_functions`, all functions are inlined.
        """
        # Notes come first, while each is still at the node that it was about.
        fields = fields_missing_in(ir_version) - ({"metadata_props", "value_info"} if keep_metadata else set())
        found = take_notes(self._model, fields)
        take_notes_off_nodes(self._trace.converted_bodies(), fields)
        self._trace.moved_notes |= {note.field for note in found}
        self._done.moved_notes += found
        holds_functions = keep_functions and ir_version >= 8
        self._inline(lambda function: not holds_functions or (ir_version < 9 and len(function.attribute_proto) > 0))
        if ir_version < 10:
            self._rename_overloads()
        if ir_version < 6:
            self._make_dense()
        if ir_version < FIRST_WITH_OVERRIDES:
            self._say_what_callers_lose()
            self._initializers_become_inputs()
        self._refuse_what_is_left(ir_version)
        self._say_what_is_newer(ir_version)
        self._model.ir_version = ir_version
        return self._done

    def _inline(self, is_inlined: Callable[[FunctionProto], bool]) -> None:
        keys = {function_key(function) for function in self._model.functions if is_inlined(function)}
        if not keys:
            return
        functions = list(map(_copy, self._model.functions))
        refusals = inline_functions(self._source, self._model, keys, self._trace, self._applied_of, self._names)
        if refusals:
            raise ConversionRefused(refusals)
        kept = {function_key(function) for function in self._model.functions}
        for function in functions:
            if function_key(function) not in kept:
                self._done.inlined_functions.append(function_path(function))
                self._done.moved_notes += notes_of_function(function)

    def _rename_overloads(self) -> None:
        """A function whose overload cannot be told gets a name of its own."""
        overloaded = [function for function in self._model.functions if function.overload]
        if not overloaded:
            return
        names = FunctionNames(self._model)
        renamed: dict[FunctionKey, tuple[str, AppliedRules]] = {}
        trace = self._trace
        for function in overloaded:
            path, key = function_path(function), function_key(function)
            function.name = names.fresh(function)
            function.ClearField("overload")
            renamed[key] = function.name, self._applied_of(path)
            if path in trace.added_functions:
                trace.added_functions.remove(path)
            else:
                trace.dropped_functions.add(path)
            trace.added_functions.add(function_path(function))
            trace.scopes = {one: scope for one, scope in trace.scopes.items() if root_path(one) != path}
            self._done.notes.append(f"{path} has become {function_path(function)}: overloads need IR version 10")

        def rename_call(node: NodeProto, applied: AppliedRules) -> list[NodeProto] | None:
            found = renamed.get(called_function_key(node))
            if found is None:
                return None
            node.op_type, node.overload = found[0], ""
            applied += found[1]
            return [node]

        edit = TracedEdit(trace, rename_call)
        edit.run(GRAPH_PATH, self._source.graph, self._model.graph)
        originals = {function_path(function): function for function in self._source.functions}
        for function in self._model.functions:
            original = originals.get(function_path(function))
            if original is None:
                edit.run_untraced(function)
            else:
                edit.run(function_path(function), original, function)

    def _make_dense(self) -> None:
        """Sparse initializers become ordinary ones. In a subgraph that changes the node around it."""
        graph = self._model.graph
        found = [sparse.values.name for sparse in graph.sparse_initializer]
        if found:
            self._trace.scope(GRAPH_PATH).densified.update(found)
        self._make_graph_dense(graph, GRAPH_PATH)

        def make_subgraphs_dense(node: NodeProto, applied: AppliedRules) -> list[NodeProto] | None:
            sparse = [graph for graph in _subgraphs_of(node) if graph.sparse_initializer]
            for inner in sparse:
                self._make_graph_dense(inner, GRAPH_PATH)
            return [node] if sparse else None

        self._edit_holders(make_subgraphs_dense, "sparse_initializer")

    def _make_graph_dense(self, graph: GraphProto, path: str) -> None:
        for sparse in graph.sparse_initializer:
            size = math.prod(sparse.dims)
            name = sparse.values.name
            if size > _LARGEST_DENSE_TENSOR or is_external(sparse.values) or is_external(sparse.indices):
                sentence = (
                    f"sparse initializer {name!r} needs IR version 6: it is too large to be made dense, or external"
                )
                self._refusals.append(Refusal(Why.IR_VERSION, sentence, "", "", path, ""))
            else:
                tensor = tensor_of(sparse_tensor_value(sparse), name)
                tensor.doc_string = text_of(sparse.values.doc_string)
                graph.initializer.append(tensor)
        del graph.sparse_initializer[:]

    def _initializers_become_inputs(self) -> None:
        """Make all initializers the defaults of inputs of the graph, as below IR version 4.

        The inputs of subgraphs are fixed by their operator, so the initializers of these go to the graph.
        """
        graph, trace = self._model.graph, self._trace

        def hoist(node: NodeProto, applied: AppliedRules) -> list[NodeProto] | None:
            holders = [inner for inner in _subgraphs_of(node) if inner.initializer]
            for inner in holders:
                self._hoist(inner, next(filter(None, node.output), node.op_type))
            return [node] if holders else None

        self._edit_holders(hoist, "initializer")
        inputs = {info.name for info in graph.input}
        added = [tensor for tensor in graph.initializer if tensor.name not in inputs]
        if not added:
            return
        for tensor in added:
            graph.input.append(make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
        names = [tensor.name for tensor in added]
        trace.scope(GRAPH_PATH).added_inputs.update(names)
        self._done.added_inputs += names
        self._done.notes.append(
            f"{len(names)} {'initializer is an input' if len(names) == 1 else 'initializers are inputs'} now, with the "
            "value as default, as IR version 3 requires: callers need not give it, but can"
        )

    def _hoist(self, graph: GraphProto, base: str) -> None:
        names = {}
        for tensor in graph.initializer:
            hoisted = self._model.graph.initializer.add()
            hoisted.CopyFrom(tensor)
            hoisted.name = names[tensor.name] = self._names.fresh(f"{base}_{tensor.name}")
            self._trace.scope(GRAPH_PATH).added_initializers.add(hoisted.name)
        del graph.initializer[:]
        passed_on = {info.name for info in graph.output} & names.keys()
        rename(graph.node, names, lambda name: name)
        for name in sorted(passed_on):
            # What a subgraph gives has to be computed in it.
            graph.node.add(op_type="Identity", input=[names[name]], output=[name])
        described = [info for info in graph.value_info if info.name not in names]
        del graph.value_info[:]
        graph.value_info.extend(described)

    def _edit_holders(self, edit: Edit, field: str) -> None:
        """Edit the graph's own nodes, each together with all its subgraphs, if any of these has something in a field.

        There are no functions any more.
        """
        holders = (graph for node in self._model.graph.node if node.attribute for graph in _subgraphs_of(node))
        if not any(getattr(graph, field) for graph in holders):
            return
        TracedEdit(self._trace, edit).run(GRAPH_PATH, self._source.graph, self._model.graph)

    def _refuse_what_is_left(self, ir_version: int) -> None:
        needs = needs_beyond(self._model, ir_version)
        self._refusals += [
            Refusal(
                Why.IR_VERSION,
                f"{need.what} needs IR version {need.ir_version}, but {ir_version} was requested",
                need.operator,
                need.node,
                need.path,
                "",
            )
            for need in needs
        ]
        if self._refusals:
            raise ConversionRefused(self._refusals)

    def _say_what_callers_lose(self) -> None:
        names = overridable_initializers(self._source) if self._source.ir_version >= FIRST_WITH_OVERRIDES else []
        if names:
            shown = ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            self._done.notes.append(
                f"onnxruntime takes initializers of models below IR version {FIRST_WITH_OVERRIDES} for constants: "
                f"callers can no longer override {shown} there"
            )

    def _say_what_is_newer(self, ir_version: int) -> None:
        for domain, opset in imported_opsets(self._model.opset_import).items():
            came_with = minimum_for_opsets({domain: opset})
            if came_with > ir_version:
                self._done.notes.append(
                    f"opset {opset} of {display_domain(domain)} came with IR version {came_with}; "
                    f"a runtime that knows IR version {ir_version} only may not know it"
                )


def _copy(function: FunctionProto) -> FunctionProto:
    copy = FunctionProto()
    copy.CopyFrom(function)
    return copy


def _subgraphs_of(node: NodeProto) -> Iterator[GraphProto]:
    """The subgraphs of a node, at any depth."""
    for _, graph in subgraphs(node):
        yield graph
        for inner in graph.node:
            yield from _subgraphs_of(inner)
