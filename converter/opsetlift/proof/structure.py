"""The first half of the argument: outside the sites, the original and the result are the same, byte for byte.

What may differ: the nodes that the trace names, initializers that it names as added or dropped, inputs that it names as
added, which have a default, notes that it names as moved, `opset_import` of the domains that onnx has definitions of,
`ir_version`, functions that nothing calls any more, and `value_info` of values
that a site defines or that are gone. Everything else is compared, fields that the installed onnx does not know
included.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from numpy.typing import NDArray
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto
from onnx.helper import make_tensor_type_proto

from opsetlift.evaluator import sparse_tensor_value, tensor_value
from opsetlift.model.scopes import (
    GRAPH_PATH,
    Container,
    FunctionKey,
    called_function_key,
    function_key,
    function_path,
    imported_opsets,
    subgraphs,
)
from opsetlift.proof.dataflow import flow_differences, name_clashes
from opsetlift.proof.scopes import ScopePair, describe, original_paths, paired_scopes
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.specification.history import display_domain, histories
from opsetlift.support.protobuf import is_repeated

_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
_NO_OPSETS: Mapping[str, int] = {}


def structural_differences(
    original: ModelProto, result: ModelProto, trace: ConversionTrace, pairs: Iterable[ScopePair] | None = None
) -> list[str]:
    """Every difference outside the sites, a sentence each, with its path; empty where there is none.

    Args:
        original: The model before.
        result: The model after.
        trace: Which nodes became which.
        pairs: Their scopes, where somebody has paired them already.
    """
    return list(_differences(original, result, trace, list(pairs or paired_scopes(original, result, trace))))


def _differences(
    original: ModelProto, result: ModelProto, trace: ConversionTrace, pairs: Sequence[ScopePair]
) -> Iterator[str]:
    for field in _differing_fields(original, result, {"graph", "functions", "opset_import", "ir_version"}):
        yield f"model: {field} differs"
    yield from _opset_differences(
        "model",
        imported_opsets(original.opset_import),
        imported_opsets(result.opset_import),
        _opsets_of_functions(original),
    )
    yield from _function_differences(original, result, trace)
    functions = {function_key(function) for function in original.functions}
    unpaired = trace.scopes.keys() - {pair.path for pair in pairs}
    for unknown in sorted(unpaired - original_paths(original) if unpaired else ()):
        yield f"{unknown}: the trace names this scope, and the original does not have it"
    for pair in pairs:
        if not pair.in_site:
            yield from scope_differences(pair, functions)
        if pair.parent is None:
            yield from name_clashes(pair)


def _differing_fields(one: Message, other: Message, ignored: Collection[str] = ()) -> Iterator[str]:
    """The fields in which two messages of one type differ."""
    for field in one.DESCRIPTOR.fields:
        if field.name in ignored:
            continue
        values = getattr(one, field.name), getattr(other, field.name)
        if is_repeated(field):
            same = len(values[0]) == len(values[1]) and all(map(_same, *values))
        elif field.has_presence:
            given = one.HasField(field.name), other.HasField(field.name)
            same = given[0] == given[1] and (not given[0] or _same(*values))
        else:
            same = _same(*values)
        if not same:
            yield field.name
    if _unknown_fields(one) != _unknown_fields(other):
        yield "a field that the installed onnx does not know"


def _same(one: Any, other: Any) -> bool:
    return _bytes(one) == _bytes(other) if isinstance(one, Message) else bool(one == other)


def _bytes(message: Message) -> bytes:
    return bytes(message.SerializeToString(deterministic=True))


def _unknown_fields(message: Message) -> list[Any]:
    return [(field.field_number, field.wire_type, _plain(field.data)) for field in UnknownFieldSet(message)]


def _plain(data: Any) -> Any:
    if isinstance(data, UnknownFieldSet):
        return [(field.field_number, field.wire_type, _plain(field.data)) for field in data]
    return data


def _opsets_of_functions(model: ModelProto) -> dict[str, int]:
    """What a model may come to import itself, once functions are inlined."""
    return {
        domain: opset
        for function in model.functions
        for domain, opset in imported_opsets(function.opset_import).items()
    }


def _opset_differences(
    path: str, source: Mapping[str, int], target: Mapping[str, int], inlined: Mapping[str, int] = _NO_OPSETS
) -> Iterator[str]:
    convertible = {domain for domain, _ in histories()}
    for domain in sorted({*source, *target} - convertible):
        if source.get(domain, inlined.get(domain) if domain in target else None) != target.get(domain):
            yield (
                f"{path}: the opset of {display_domain(domain)} went from {source.get(domain)} to "
                f"{target.get(domain)}, and nothing is known of what that changes"
            )


def _function_differences(original: ModelProto, result: ModelProto, trace: ConversionTrace) -> Iterator[str]:
    before = {function_key(function): function for function in original.functions}
    after = {function_key(function): function for function in result.functions}
    if not before and not after:
        return
    called = {
        called_function_key(node) for container in (result.graph, *result.functions) for node in _all_nodes(container)
    }
    for key in before.keys() | after.keys():
        name = ":".join(filter(None, key))
        if key not in after:
            if key in called:
                yield f"function:{name}: the function is gone, and something still calls it"
        elif key not in before:
            if function_path(after[key]) in trace.added_functions:
                continue  # each of its calls is a site
            yield f"function:{name}: the function has been added"
        else:
            ignored = {"node", "opset_import", "value_info"}
            for field in _differing_fields(before[key], after[key], ignored):
                yield f"function:{name}: {field} differs"
            yield from _opset_differences(
                f"function:{name}", imported_opsets(before[key].opset_import), imported_opsets(after[key].opset_import)
            )
    kept = [key for key in before if key in after]
    if kept != [key for key in after if key in before]:
        yield "model: the functions are in another order"


def _all_nodes(container: Container) -> Iterator[NodeProto]:
    for node in container.node:
        yield node
        for _, graph in subgraphs(node):
            yield from _all_nodes(graph)


def scope_differences(pair: ScopePair, functions: Collection[FunctionKey]) -> Iterator[str]:
    """What differs in one scope outside its sites, and where its sites do not fit in; a sentence each.

    Args:
        pair: The scope of the original and its counterpart.
        functions: The functions of the original.
    """
    if pair.problem:
        yield f"{pair.path}: {pair.problem}"
        return
    for aligned in pair.aligned:
        if aligned.site is None and not aligned.is_same:
            for what in _node_differences(aligned.node, aligned.after[0]):
                where = f"{pair.path}: node {aligned.position} ({describe(aligned.node)})"
                yield f"{where} differs in {what}, and no rule did that"
    original, result = pair.original, pair.result
    if isinstance(original, GraphProto) and isinstance(result, GraphProto):
        ignored = {"node", "initializer", "sparse_initializer", "value_info"}
        if pair.path != GRAPH_PATH:
            anew = pair.trace.declared_values
            if _says_no_more(original.input, result.input):
                ignored.add("input")
            if _says_no_more(_without_types(original.output, anew), _without_types(result.output, anew)):
                ignored.add("output")
        if pair.trace.added_inputs:
            ignored.add("input")
            yield from _input_differences(pair, original, result)
        for field in _differing_fields(original, result, ignored):
            yield f"{pair.path}: {field} differs"
        yield from _initializer_differences(pair, original, result)
    yield from _value_info_differences(pair)
    yield from flow_differences(pair, functions)


def _node_differences(one: NodeProto, other: NodeProto) -> Iterator[str]:
    """What differs, the insides of subgraphs left out: those are scopes of their own."""
    attributes = one.attribute, other.attribute
    if not any(attribute.type in _GRAPHS for attribute in one.attribute):
        yield ", ".join(_differing_fields(one, other))
        return
    yield from _differing_fields(one, other, {"attribute"})
    if [attribute.name for attribute in attributes[0]] != [attribute.name for attribute in attributes[1]]:
        yield "its attributes"
        return
    for before, after in zip(*attributes, strict=True):
        ignored = {"g", "graphs"} if before.type in _GRAPHS and len(before.graphs) == len(after.graphs) else set()
        yield from (f"attribute {before.name!r}" for _ in _differing_fields(before, after, ignored))


def _input_differences(pair: ScopePair, original: GraphProto, result: GraphProto) -> Iterator[str]:
    """Nothing is added but inputs with an initializer as default, of its type, that no caller could give before."""
    added = [info for info in result.input if info.name in pair.trace.added_inputs]
    kept = [info for info in result.input if info.name not in pair.trace.added_inputs]
    if list(map(_bytes, kept)) != list(map(_bytes, original.input)):
        yield f"{pair.path}: input differs"
    tensors = {tensor.name: tensor for tensor in result.initializer}
    for info in added:
        tensor = tensors.get(info.name)
        if tensor is None:
            yield f"{pair.path}: input {info.name!r} has been added, and has no default"
        elif info.type != make_tensor_type_proto(tensor.data_type, list(tensor.dims)):
            yield f"{pair.path}: input {info.name!r} has been added, and is not of its default's type"


def _initializer_differences(pair: ScopePair, original: GraphProto, result: GraphProto) -> Iterator[str]:
    added, dropped = pair.trace.added_initializers, pair.trace.dropped_initializers
    if densified := pair.trace.densified:
        yield from _densification_differences(pair, original, result)
        added, dropped = added | densified, dropped | densified
    for kind in ("initializer", "sparse_initializer"):
        before, names = _tensors(original, kind, dropped)
        after, others = _tensors(result, kind, added)
        if names != others:
            yield f"{pair.path}: {kind}: {_list_difference(names, others)}"
            continue
        for name, one, other in zip(names, before, after, strict=True):
            if _bytes(one) != _bytes(other):
                yield f"{pair.path}: {kind} {name!r} differs in {', '.join(_differing_fields(one, other))}"
    for name in sorted((dropped - densified) & (pair.used | {info.name for info in original.input})):
        yield f"{pair.path}: initializer {name!r} has been dropped, and it is still in use"


def _densification_differences(pair: ScopePair, original: GraphProto, result: GraphProto) -> Iterator[str]:
    sparse = {one.values.name: one for one in original.sparse_initializer}
    dense = {tensor.name: tensor for tensor in result.initializer}
    for name in sorted(pair.trace.densified):
        if name not in sparse or name not in dense:
            yield f"{pair.path}: {name!r} was to become a dense initializer"
        elif _content(tensor_value(dense[name])) != _content(sparse_tensor_value(sparse[name])):
            yield f"{pair.path}: the dense initializer {name!r} does not hold what the sparse one did"


def _content(array: NDArray[Any]) -> object:
    return array.shape, array.dtype, array.tolist() if array.dtype == object else array.tobytes()


def _tensors(graph: GraphProto, kind: str, ignored: Collection[str]) -> tuple[list[Message], list[str]]:
    """The dense or the sparse initializers of a graph, and their names, without those that are ignored."""
    tensors = getattr(graph, kind)
    names = [one.name for one in tensors] if kind == "initializer" else [one.values.name for one in tensors]
    kept = [(tensor, name) for tensor, name in zip(tensors, names, strict=True) if name not in ignored]
    return [tensor for tensor, _ in kept], [name for _, name in kept]


def _list_difference(before: Sequence[str], after: Sequence[str]) -> str:
    if lost := sorted(set(before) - set(after)):
        return f"{lost[0]!r} is gone"
    if gained := sorted(set(after) - set(before)):
        return f"{gained[0]!r} has been added"
    return "the order has changed"


def _value_info_differences(pair: ScopePair) -> Iterator[str]:
    """Of values that no site defines, what is said stays."""
    if isinstance(pair.original, FunctionProto) and not hasattr(pair.original, "value_info"):
        return
    if not pair.original.value_info and not pair.result.value_info:
        return
    trace = pair.trace
    touched: set[str] = trace.added_initializers | trace.dropped_initializers | trace.declared_values
    for aligned in pair.aligned:
        if aligned.site is not None:
            for node in (aligned.node, *aligned.after):
                touched.update(node.output)
    before = [info for info in pair.original.value_info if info.name not in touched]
    after = [info for info in pair.result.value_info if info.name not in touched]
    if not _says_no_more(before, after):
        yield f"{pair.path}: value_info of values that no site defines differs"


def _without_types(infos: Iterable[ValueInfoProto], anew: Collection[str]) -> list[ValueInfoProto]:
    """The same, but for the types of those that are declared anew, which are compared with what is computed."""
    bare = []
    for info in infos:
        bare.append(ValueInfoProto())
        bare[-1].CopyFrom(info)
        if info.name in anew:
            bare[-1].ClearField("type")
    return bare


def _says_no_more(before: Sequence[ValueInfoProto], after: Sequence[ValueInfoProto]) -> bool:
    """Whether the same is said of the same values, but for false shapes, and for open sizes that got a name each."""
    if len(before) != len(after):
        return False
    names: list[str] = []
    for old, new in zip(before, after, strict=True):
        if _bytes(new) not in (_bytes(old), _bytes(_without_shape(old)), _bytes(_with_names_of(old, new, names))):
            return False
    given = {dim.dim_param for info in before for dim in info.type.tensor_type.shape.dim}
    return len({*names, *given}) == len(names) + len(given)


def _with_names_of(info: ValueInfoProto, other: ValueInfoProto, names: list[str]) -> ValueInfoProto:
    """The same, with the names that another gives to sizes without one; these are appended to `names`."""
    named = ValueInfoProto()
    named.CopyFrom(info)
    for dim, other_dim in zip(named.type.tensor_type.shape.dim, other.type.tensor_type.shape.dim, strict=False):
        if not dim.HasField("dim_value") and not dim.dim_param and other_dim.dim_param:
            dim.dim_param = other_dim.dim_param
            names.append(dim.dim_param)
    return named


def _without_shape(info: ValueInfoProto) -> ValueInfoProto:
    bare = ValueInfoProto()
    bare.CopyFrom(info)
    if bare.type.HasField("tensor_type"):
        bare.type.tensor_type.ClearField("shape")
    return bare
