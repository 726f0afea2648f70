"""Calls of model-local functions, replaced by what the functions do.

This happens at the target: every body has been converted, and lives at the opsets of the graph that calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from onnx import FunctionProto, ModelProto, NodeProto

from opsetlift.conversion.specialise import bind
from opsetlift.conversion.traced_edit import TracedEdit
from opsetlift.model.inlining import rename
from opsetlift.model.names import Names
from opsetlift.model.scopes import (
    GRAPH_PATH,
    Container,
    FunctionKey,
    called_function_key,
    function_key,
    function_path,
    imported_opsets,
    root_path,
    subgraphs,
)
from opsetlift.rulebook.trace import AppliedRules, ConversionTrace
from opsetlift.specification.history import AI_ONNX, display_domain
from opsetlift.support.protobuf import text_of
from opsetlift.support.refusal import Refusal, Why

AppliedRulesOf = Callable[[str], AppliedRules]
"""The rules that were applied in the function at a path."""

_MOST_NODES = 1_000_000
"""Functions that call each other twice, many levels deep, are small until they are inlined."""


def with_callers_of_open_defaults(model: ModelProto, keys: set[FunctionKey]) -> set[FunctionKey]:
    """`keys`, and what has to be inlined with them.

    Where a function hands its own parameter to one of `keys` that has a default for it, only the outer call tells which
    of the two holds.
    """
    functions = {function_key(function): function for function in model.functions}
    found = set(keys)
    while True:
        more = {
            key
            for key, function in functions.items()
            if key not in found and any(_leaves_default_open(node, functions, found) for node in _all_nodes(function))
        }
        if not more:
            return found
        found |= more


def _leaves_default_open(
    node: NodeProto, functions: Mapping[FunctionKey, FunctionProto], keys: set[FunctionKey]
) -> bool:
    key = called_function_key(node)
    if key not in keys:
        return False
    defaults = {attribute.name for attribute in functions[key].attribute_proto}
    return any(attribute.ref_attr_name and attribute.name in defaults for attribute in node.attribute)


def _all_nodes(container: Container) -> list[NodeProto]:
    found = []
    for node in container.node:
        found.append(node)
        for _, graph in subgraphs(node):
            found += _all_nodes(graph)
    return found


def inline_functions(
    source: ModelProto,
    model: ModelProto,
    keys: set[FunctionKey],
    trace: ConversionTrace,
    applied_of: AppliedRulesOf,
    names: Names,
) -> list[Refusal]:
    """Inline the functions `keys` of `model`, which `trace` relates to `source`, in place; or say what prevents it."""
    keys = with_callers_of_open_defaults(model, keys)
    refusals = [*_size_refusals(model, keys), *_import_refusals(model, keys)]
    if refusals:
        return refusals
    inliner = _Inliner(model, keys, trace, applied_of, names)
    inliner.run(GRAPH_PATH, source.graph, model.graph)
    originals = {function_path(function): function for function in source.functions}
    for function in model.functions:
        path = function_path(function)
        if function_key(function) in keys:
            trace.scopes = {one: scope for one, scope in trace.scopes.items() if root_path(one) != path}
            trace.added_functions.discard(path)
            if path in originals:
                trace.dropped_functions.add(path)
        elif path in originals:
            inliner.run(path, originals[path], function)
        else:
            inliner.run_untraced(function)
    kept = [function for function in model.functions if function_key(function) not in keys]
    del model.functions[:]
    model.functions.extend(kept)
    return []


def _size_refusals(model: ModelProto, keys: set[FunctionKey]) -> list[Refusal]:
    functions = {function_key(function): function for function in model.functions}
    sizes: dict[FunctionKey, int] = {}

    def size(container: Container) -> int:
        return sum(size_of(key) if (key := called_function_key(node)) in keys else 1 for node in _all_nodes(container))

    def size_of(key: FunctionKey) -> int:
        if key not in sizes:
            sizes[key] = size(functions[key])
        return sizes[key]

    if size(model.graph) <= _MOST_NODES:
        return []
    sentence = f"with its functions inlined the model would have more than {_MOST_NODES:,} nodes"
    return [Refusal(Why.IR_VERSION, sentence, "", "", GRAPH_PATH, "")]


def _import_refusals(model: ModelProto, keys: set[FunctionKey]) -> list[Refusal]:
    """Bring the imports of functions into the model; where both differ, nodes of both cannot be in one graph."""
    imports = imported_opsets(model.opset_import)
    refusals = []
    for function in model.functions:
        for domain, opset in imported_opsets(function.opset_import).items():
            if function_key(function) not in keys or imports.get(domain) == opset:
                continue
            if domain not in imports:
                imports[domain] = opset
                model.opset_import.add(domain=domain, version=opset)
                continue
            shown = display_domain(domain)
            sentence = f"it imports opset {opset} of {shown} and the model {imports[domain]}, so it cannot be inlined"
            refusals.append(Refusal(Why.IR_VERSION, sentence, "", "", function_path(function), ""))
    return refusals


class _Inliner:
    def __init__(
        self,
        model: ModelProto,
        keys: set[FunctionKey],
        trace: ConversionTrace,
        applied_of: AppliedRulesOf,
        names: Names,
    ) -> None:
        self._functions = {function_key(one): one for one in model.functions if function_key(one) in keys}
        self._traced = TracedEdit(trace, self._expand_if_call)
        self._applied_of = applied_of
        self._names = names

    def run(self, path: str, original: Container, container: Container) -> None:
        """Inline in a scope that the original has, too."""
        self._traced.run(path, original, container)

    def run_untraced(self, container: Container) -> None:
        """Inline where some site around answers for all that is changed."""
        self._traced.run_untraced(container)

    def _expand_if_call(self, node: NodeProto, applied: AppliedRules) -> list[NodeProto] | None:
        return self._expand(node, applied) if called_function_key(node) in self._functions else None

    def _expand(self, call: NodeProto, applied: AppliedRules) -> list[NodeProto]:
        """The nodes of a call; the rules that the body was converted by are added to `applied`."""
        function = self._functions[called_function_key(call)]
        applied += self._applied_of(function_path(function))
        copy = FunctionProto()
        copy.CopyFrom(function)
        values = {attribute.name: attribute for attribute in function.attribute_proto}
        values.update({attribute.name: attribute for attribute in call.attribute})
        bind(copy.node, values, set())
        expanded: list[NodeProto] = []
        for node in self._renamed(copy, call):
            _take_over_notes(node, call)
            if called_function_key(node) in self._functions:
                expanded += self._expand(node, applied)
            else:
                for _, graph in subgraphs(node):
                    self.run_untraced(graph)
                expanded.append(node)
        return expanded

    def _renamed(self, function: FunctionProto, call: NodeProto) -> list[NodeProto]:
        """The nodes of the body with the call's inputs and outputs, and names that nothing else has."""
        base = call.name or next(filter(None, call.output), call.op_type)
        names = {"": ""}
        for position, formal in enumerate(function.input):
            names[formal] = call.input[position] if position < len(call.input) else ""
        outputs = dict(
            zip(reversed(function.output), reversed(_padded(call.output, len(function.output))), strict=True)
        )
        nodes = []
        for node in function.node:
            formals = list(node.output)
            rename([node], names, lambda name: self._names.fresh(f"{base}_{name}"))
            for position, formal in enumerate(formals):
                if formal and outputs.get(formal):
                    node.output[position] = names[formal] = outputs[formal]
            node.name = self._names.fresh(f"{base}_{node.name or node.op_type}") if node.name or call.name else ""
            nodes.append(node)
        for formal, actual in zip(function.output, call.output, strict=False):
            if actual and names.get(formal, formal) != actual:
                # The output is an input, or the same value as another output.
                nodes.append(NodeProto(op_type="Identity", domain=AI_ONNX, input=[names[formal]], output=[actual]))
        return nodes


def _padded(names: Sequence[str], length: int) -> list[str]:
    return [*names, *[""] * (length - len(names))]


def _take_over_notes(node: NodeProto, call: NodeProto) -> None:
    node.doc_string = text_of(node.doc_string or call.doc_string)
    own = {entry.key for entry in node.metadata_props}
    node.metadata_props.extend(entry for entry in call.metadata_props if entry.key not in own)
