"""Nodes of the original whose bodies compute what rounds as the result computes it.

Where a node with subgraphs is a site, what rules made of the nodes in its bodies has been proven there, each node
within the bound of its rules. Of the node around them it remains to be shown that it does the same with the same
bodies. So whatever rounds in the bodies is replaced on the original's side by a call of a function that does what the
result does, at the opsets of the result; then both sides have to agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from onnx import FunctionProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto

from opsetlift.model.scopes import FunctionKey, called_function_key, function_key, function_path, root_path, subgraphs
from opsetlift.proof.function_attributes import Binding, resolved
from opsetlift.proof.scopes import Aligned, ScopePair, names_read
from opsetlift.proof.structure import scope_differences
from opsetlift.rulebook.trace import ConversionTrace, ScopeTrace

DOMAIN = "opsetlift.proof"
"""The domain of the functions that do what the result does."""


@dataclass
class Replaced:
    """A node with what its bodies call."""

    node: NodeProto
    functions: list[FunctionProto] = field(default_factory=list)
    tensors: dict[str, TensorProto] = field(default_factory=dict)
    """Initializers of the result that they read."""


class ProvenBodies:
    """Puts what the result does into the bodies of the original's nodes, where rules that round were applied."""

    def __init__(self, original: ModelProto, result: ModelProto, trace: ConversionTrace) -> None:
        self._own_functions = {function_key(function) for function in original.functions}
        self._functions = {function_key(function): function for function in result.functions}
        self._rounding = _rounding_functions(result.functions, trace)
        self.rounds = bool(self._rounding) or any(map(_has_rounded, trace.scopes.values()))
        """Whether anything rounds, so that bodies may be replaced."""

    def replaced(self, pair: ScopePair, aligned: Aligned, binding: Binding) -> Replaced:
        """A node, with the attributes of a call, and with what rounds in its bodies replaced."""
        node = resolved(aligned.node, binding)
        if not self.rounds or not any(subgraphs(node)):
            return Replaced(node)
        copy = NodeProto()
        copy.CopyFrom(node)
        replacement = _Replacement(self._own_functions, self._functions, self._rounding, binding, Replaced(copy))
        replacement.edit(pair, aligned, copy)
        return replacement.done if replacement.done.functions else Replaced(node)


@dataclass
class _Replacement:
    own_functions: Collection[FunctionKey]
    functions: Mapping[FunctionKey, FunctionProto]
    rounding: Collection[FunctionKey]
    binding: Binding
    done: Replaced
    names: dict[FunctionKey, str] = field(default_factory=dict)

    def edit(self, pair: ScopePair, aligned: Aligned, node: NodeProto) -> None:
        """Replace what rounds in the bodies of `node`, a copy of the aligned one."""
        graphs = dict(subgraphs(node))
        for child in pair.children(aligned):
            if any(scope_differences(child, self.own_functions)):
                continue  # nothing has been proven there by itself
            graph = graphs[child.attribute]
            nodes = []
            for inner, copy in zip(child.aligned, graph.node, strict=True):
                if self._is_replaced(child, inner):
                    nodes.append(self._call(child, inner))
                else:
                    self.edit(child, inner, copy)
                    nodes.append(copy)
            kept = [NodeProto.FromString(one.SerializeToString()) for one in nodes]
            del graph.node[:]
            graph.node.extend(kept)

    def _is_replaced(self, pair: ScopePair, aligned: Aligned) -> bool:
        if aligned.site is None:
            return called_function_key(aligned.node) in self.rounding
        defined = {name for node in aligned.after for name in node.output}
        used = {name for name in aligned.node.output if name} & pair.used
        return aligned.site.ulps > 0 and used <= defined and not pair.joined(aligned)

    def _call(self, pair: ScopePair, aligned: Aligned) -> NodeProto:
        """A call of a function that does what stands in the place of a node."""
        nodes = [NodeProto.FromString(resolved(one, self.binding).SerializeToString()) for one in aligned.after]
        defined: set[str] = set()
        read: dict[str, None] = {}
        for node in nodes:
            read.update(dict.fromkeys(sorted(names_read(node) - defined)))
            defined.update(node.output)
        own = names_read(aligned.node)
        constants = {name: pair.added_constants[name] for name in read if name not in own}
        inside = {id(one): one for one in constants.values() if isinstance(one, NodeProto)}
        self.done.tensors.update({name: one for name, one in constants.items() if isinstance(one, TensorProto)})
        given = [name for name in read if not isinstance(constants.get(name), NodeProto)]
        outputs = [name for name in aligned.node.output if name in defined and name]
        function = FunctionProto(domain=DOMAIN, name=f"site_{len(self.done.functions)}", input=given, output=outputs)
        self.done.functions.append(function)
        function.opset_import.extend(_imports(pair.target))
        function.node.extend([*inside.values(), *nodes])
        self._take_over_functions(function.node)
        return NodeProto(domain=DOMAIN, op_type=function.name, input=given, output=outputs)

    def _take_over_functions(self, nodes: Iterable[NodeProto]) -> None:
        """Let nodes call copies of the result's functions, as the original's may have the same names."""
        for node in _all_nodes(nodes):
            key = called_function_key(node)
            if key not in self.functions:
                continue
            if key not in self.names:
                self.names[key] = f"function_{len(self.names)}"
                function = FunctionProto()
                function.CopyFrom(self.functions[key])
                function.domain, function.name = DOMAIN, self.names[key]
                function.ClearField("overload")
                function.opset_import.append(OperatorSetIdProto(domain=DOMAIN, version=1))
                self.done.functions.append(function)
                self._take_over_functions(function.node)
            node.domain, node.op_type = DOMAIN, self.names[key]
            node.ClearField("overload")


def _imports(opsets: Mapping[str, int]) -> list[OperatorSetIdProto]:
    return [OperatorSetIdProto(domain=domain, version=opset) for domain, opset in {**opsets, DOMAIN: 1}.items()]


def _all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for _, graph in subgraphs(node):
            yield from _all_nodes(graph.node)


def _has_rounded(scope: ScopeTrace) -> bool:
    return any(site.ulps for site in scope.sites)


def _rounding_functions(functions: Iterable[FunctionProto], trace: ConversionTrace) -> set[FunctionKey]:
    """The functions of the result in which a rule rounded, or that call such a function."""
    known = list(functions)
    roots = {root_path(path) for path, scope in trace.scopes.items() if _has_rounded(scope)}
    found = {function_key(function) for function in known if function_path(function) in roots}
    while True:
        callers = {
            function_key(function)
            for function in known
            if any(called_function_key(node) in found for node in _all_nodes(function.node))
        }
        if callers <= found:
            return found
        found |= callers
