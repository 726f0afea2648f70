"""Sequences that control flow carries, as tensors: what is in its bodies works on these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from onnx import AttributeProto, GraphProto, NodeProto, TypeProto

from opsetlift.rulebook.site import Operators, Site
from opsetlift.specification.dtypes import dtype_name, tensor_type_proto
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import packed_sequences
from opsetlift_rules.helpers.packed_sequences import Packed, pack, types_of_packed

Value = str | Packed
"""A tensor, by its name, or a sequence."""


def packed(site: Site, op: Operators, value: str | int) -> Packed | None:
    """A sequence that has been replaced, as vectors; None for a value that has not been."""
    parts = site.parts(value)
    if parts is None or isinstance(parts, Packed):
        return parts
    return pack(site, op, parts, site.dtype(value).removeprefix("seq(tensor(").removesuffix("))"))


def carried_as_tensors(site: Site, op: Operators) -> list[Value]:
    """The outputs of an If or a Loop that carries its sequences as vectors: what emits it, and all in its bodies."""
    return _Body(site, {}).rewritten(op, site.node)


class _Body:
    """The values of a body that are sequences, or have another name than in the model."""

    def __init__(self, site: Site, known: Mapping[str, Value]) -> None:
        self.site = site
        self._known = dict(known)

    def value(self, op: Operators, name: str) -> Value:
        """A value, by its name in the model."""
        found = self._known.get(name) or packed(self.site, op, name)
        if found is None and self.site.dtype(name, "").startswith("seq("):
            self.site.refuse(
                Why.NO_EQUIVALENT,
                f"If and Loop do not take sequences below opset 13, and {name!r} is not built in this graph",
            )
        return found or name

    def tensor(self, op: Operators, name: str) -> str:
        """A tensor, by its name in the model."""
        found = self.value(op, name) if name else ""
        if not isinstance(found, str):
            self.site.refuse(Why.INVALID_MODEL, f"{name!r} is a sequence where a tensor belongs")
        return found

    def sequence(self, op: Operators, name: str) -> Packed:
        """A sequence, by its name in the model."""
        found = self.value(op, name)
        if isinstance(found, str):
            self.site.refuse(Why.INVALID_MODEL, f"{name!r} is a tensor where a sequence belongs")
        return found

    def results(self, op: Operators, node: NodeProto, attribute: str, inputs: Sequence[Value] = ()) -> list[Value]:
        """Emit the nodes of a body; returns its outputs."""
        graph = _graph(node, attribute)
        names = [
            one if isinstance(one, str) else op.fresh_name(info.name)
            for one, info in zip(inputs, graph.input, strict=True)
        ]
        nodes, outputs = op.given(graph, *names, keep_names=node is not self.site.node)
        sequences = {name: one for name, one in zip(names, inputs, strict=True) if isinstance(one, Packed)}
        inner = _Body(self.site, {**self._known, **sequences})
        for inside in nodes:
            inner.emit(op, inside)
        return [inner.value(op, name) for name in outputs]

    def emit(self, op: Operators, node: NodeProto) -> None:
        """Emit a node, or what stands for one that works on sequences."""
        if self._has_sequences([node]):
            for name, result in zip(node.output, self.rewritten(op, node), strict=False):
                if name:
                    self._known[name] = result
            return
        _rename([node], {old: new for old, new in self._known.items() if isinstance(new, str)})
        op.add_given(node)

    def _has_sequences(self, nodes: Iterable[NodeProto]) -> bool:
        for node in nodes:
            if node.op_type in _MAKES_SEQUENCES:
                return True
            for name in filter(None, node.input):
                if isinstance(self._known.get(name), Packed) or self.site.parts(name) is not None:
                    return True
            if any(self._has_sequences(graph.node) for graph in _graphs(node)):
                return True
        return False

    def rewritten(self, op: Operators, node: NodeProto) -> list[Value]:
        """Emit what stands for a node that works on sequences; returns its outputs."""
        rewrite = _REWRITES.get(node.op_type)
        if rewrite is None or node.domain:
            self.site.refuse(
                Why.NO_EQUIVALENT,
                f"If and Loop do not take sequences below opset 13, and {node.op_type} cannot take one in parts",
            )
        return rewrite(self, op, node)


def _graphs(node: NodeProto) -> list[GraphProto]:
    return [attribute.g for attribute in node.attribute if attribute.type == AttributeProto.GRAPH]


def _rename(nodes: Iterable[NodeProto], names: Mapping[str, str]) -> None:
    for node in nodes:
        for position, name in enumerate(node.input):
            node.input[position] = names.get(name, name)
        for graph in _graphs(node):
            _rename(graph.node, names)
            for output in graph.output:
                output.name = names.get(output.name, output.name)


def _attribute(node: NodeProto, name: str, default: int) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), default)


def _graph(node: NodeProto, name: str) -> GraphProto:
    found: GraphProto = next(attribute.g for attribute in node.attribute if attribute.name == name)
    return found


def _input(node: NodeProto, position: int) -> str:
    return node.input[position] if position < len(node.input) else ""


def _flat(values: Iterable[Value]) -> list[str]:
    return [name for one in values for name in ([one] if isinstance(one, str) else one)]


def _like(names: Iterable[str], values: Iterable[Value]) -> list[Value]:
    """Names one by one, or four by four where there is a sequence."""
    left = iter(names)
    return [next(left) if isinstance(one, str) else Packed(*(next(left) for _ in one)) for one in values]


def _empty(body: _Body, op: Operators, node: NodeProto) -> list[Value]:
    return [pack(body.site, op, [], dtype_name(_attribute(node, "dtype", 1)))]


def _construct(body: _Body, op: Operators, node: NodeProto) -> list[Value]:
    elements = [body.tensor(op, name) for name in node.input]
    return [pack(body.site, op, elements, body.site.dtype(elements[0]))]


def _insert(body: _Body, op: Operators, node: NodeProto) -> list[Value]:
    sequence, position = body.sequence(op, node.input[0]), body.tensor(op, _input(node, 2))
    return [packed_sequences.insert(body.site, op, sequence, body.tensor(op, node.input[1]), position)]


def _erase(body: _Body, op: Operators, node: NodeProto) -> list[Value]:
    sequence, position = body.sequence(op, node.input[0]), body.tensor(op, _input(node, 1))
    return [packed_sequences.erase(body.site, op, sequence, position)]


def _at(body: _Body, op: Operators, node: NodeProto) -> list[Value]:
    sequence, position = body.sequence(op, node.input[0]), body.tensor(op, node.input[1])
    return [packed_sequences.element_at(body.site, op, sequence, position)]


def _length(body: _Body, op: Operators, node: NodeProto) -> list[Value]:
    return [packed_sequences.length(body.site, op, body.sequence(op, node.input[0]))]


def _concatenate(body: _Body, op: Operators, node: NodeProto) -> list[Value]:
    axis, new_axis = _attribute(node, "axis", 0), bool(_attribute(node, "new_axis", 0))
    sequence = body.sequence(op, node.input[0])
    return [packed_sequences.concatenate(body.site, op, sequence, axis, new_axis=new_axis)]


def _split(body: _Body, op: Operators, node: NodeProto) -> list[Value]:
    split, axis = body.tensor(op, _input(node, 1)), _attribute(node, "axis", 0)
    keepdims = packed_sequences.keeps_the_axis(body.site, split, _attribute(node, "keepdims", 1))
    return [packed_sequences.split(body.site, op, body.tensor(op, node.input[0]), split, axis, keepdims=keepdims)]


def _same(body: _Body, op: Operators, node: NodeProto) -> list[Value]:
    return [body.value(op, node.input[0])]


def _branch(body: _Body, op: Operators, node: NodeProto) -> list[Value]:
    found: list[list[Value]] = []

    def build(inner: Operators, branch: str) -> list[str]:
        found.append(body.results(inner, node, branch))
        return _flat(found[-1])

    condition = body.tensor(op, node.input[0])
    branches = {
        branch: op.subgraph(lambda inner, branch=branch: build(inner, branch))
        for branch in ("then_branch", "else_branch")
    }
    one, other = found
    for name, first, second in zip(node.output, one, other, strict=True):
        if isinstance(first, str) != isinstance(second, str):
            body.site.refuse(Why.INVALID_MODEL, f"{name!r} is a sequence in one branch only")
    results = op.If(condition, outputs=len(_flat(one)), **branches)
    return _declared(body, op, [results] if isinstance(results, str) else results, one)


def _declared(body: _Body, op: Operators, names: Sequence[str], values: Sequence[Value]) -> list[Value]:
    results = _like(names, values)
    for result, value in zip(results, values, strict=True):
        if isinstance(result, Packed):
            for name, (dtype, shape) in zip(result, types_of_packed(body.site.dtype(value[0])), strict=True):
                op.declare(name, dtype, shape)
    return results


def _loop(body: _Body, op: Operators, node: NodeProto) -> list[Value]:
    graph, states = _graph(node, "body"), [body.value(op, name) for name in node.input[2:]]
    takes: list[tuple[str, Sequence[int | str | None] | None] | TypeProto] = [("int64", []), ("bool", [])]
    for info, state in zip(graph.input[2:], states, strict=True):
        takes += (
            [_type(body.site, node, info.name, info.type, state)]
            if isinstance(state, str)
            else types_of_packed(body.site.dtype(state.data))
        )
    results: list[Value] = []

    def build(inner: Operators, number: str, going: str, *names: str) -> list[str]:
        condition, *values = body.results(inner, node, "body", [number, going, *_like(names, states)])
        for position, (state, value) in enumerate(zip(states, values, strict=False)):
            if isinstance(state, str) != isinstance(value, str):
                output = graph.output[position + 1].name
                body.site.refuse(
                    Why.INVALID_MODEL,
                    f"{output!r} is a sequence, and what the loop starts with is none, or the other way round",
                )
        results.extend(values)
        return [*_flat([condition]), *_flat(values)]

    converted = op.subgraph(build, takes=takes)
    count, going = (body.tensor(op, _input(node, position)) for position in (0, 1))
    names = op.Loop(count, going, *_flat(states), body=converted, outputs=len(_flat(results)))
    return _declared(body, op, [names] if isinstance(names, str) else names, results)


def _type(site: Site, node: NodeProto, name: str, declared: TypeProto, state: str) -> TypeProto:
    """The type of a tensor that a Loop carries."""
    found = site.type_inside("body", name) if node is site.node else None
    if found is not None or declared.HasField("tensor_type"):
        return found or declared
    return tensor_type_proto(site.dtype(state), None)


_MAKES_SEQUENCES = {"SequenceEmpty": _empty, "SequenceConstruct": _construct, "SplitToSequence": _split}

_REWRITES = {
    **_MAKES_SEQUENCES,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceAt": _at,
    "SequenceLength": _length,
    "ConcatFromSequence": _concatenate,
    "Identity": _same,
    "If": _branch,
    "Loop": _loop,
}
