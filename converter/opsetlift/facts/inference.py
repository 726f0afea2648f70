"""The types of a node's outputs, by onnx's own inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy
from onnx import (
    AttributeProto,
    FunctionProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    TypeProto,
    shape_inference,
)

from opsetlift.facts.environment import Environment, ModelEnvironment
from opsetlift.facts.first_versions import with_types_of_first_versions
from opsetlift.facts.node_keys import content_of
from opsetlift.facts.onnxruntime_operators import types_in_onnxruntime
from opsetlift.facts.uninferred_shapes import with_uninferred_shapes
from opsetlift.facts.value_types import has_rank, is_a_type, may_be_sizes, rank_of, without_shape
from opsetlift.facts.wrongly_inferred_axes import with_axes_inferred_rightly
from opsetlift.facts.wrongly_inferred_scales import resampled_types
from opsetlift.facts.wrongly_inferred_scores import with_scores_inferred_rightly
from opsetlift.facts.wrongly_inferred_slices import with_slices_inferred_rightly
from opsetlift.facts.wrongly_inferred_spectra import with_half_spectra
from opsetlift.facts.wrongly_inferred_splits import with_splits_inferred_rightly
from opsetlift.facts.wrongly_inferred_windows import with_windows_inferred_rightly
from opsetlift.model.arrays import Array, tensor_of
from opsetlift.model.scopes import (
    FunctionKey,
    called_function_key,
    captured_names,
    overrides_operator,
    subgraphs,
    subgraphs_within,
)
from opsetlift.specification import history
from opsetlift.specification.contributed import DOMAIN as ONNXRUNTIME
from opsetlift.specification.dtypes import dtype_of_type, element_type, tensor_type_proto, type_of_spelling, type_string
from opsetlift.support.onnx_errors import ONNX_ERRORS

MOST_DIMENSIONS = 64
"""A longer vector is hardly a shape."""

_LARGEST_KEPT = 1 << 12
"""Bytes of a node, up to which what onnx infers of it is kept: walks of one model emit the same nodes again."""


def _calls_overriding(function: FunctionProto, functions: Mapping[FunctionKey, FunctionProto]) -> bool:
    nodes = chain(function.node, *(graph.node for graph in subgraphs_within(function)))
    called = (functions.get(called_function_key(node)) for node in nodes)
    return any(one is not None and overrides_operator(one) for one in called)


def inferred_types(
    model: ModelEnvironment,
    node: NodeProto,
    imports: Mapping[str, int],
    type_of: Callable[[str], TypeProto | None],
    constant: Callable[[str], Array | None] | None = None,
    placeholders: Mapping[str, Array] | None = None,
) -> Mapping[str, TypeProto]:
    """The types of a node's outputs by name, as far as those of its inputs tell, and the values of its small constants.

    `placeholders` are taken for the values of inputs, whatever those are.
    """
    found = _inferred_types(model, node, imports, type_of, constant, placeholders)
    if not model.functions or not _parameters(node):
        return found
    # onnx reads a 0, or nothing, for a parameter of the function around: shapes may depend on it, dtypes are tried.
    other = NodeProto()
    other.CopyFrom(node)
    for attribute in _parameters(other):
        if attribute.type == AttributeProto.INT:
            attribute.ref_attr_name, attribute.i = "", _OTHER_NUMBER
    others = _inferred_types(model, other, imports, type_of, constant, placeholders)
    spelt = {name: type_string(one) for name, one in found.items()}
    agreed = {name: one for name, one in spelt.items() if name not in others or type_string(others[name]) == one}
    return {name: one for name, kind in agreed.items() if kind and (one := type_of_spelling(kind)) is not None}


_OTHER_NUMBER = int(TensorProto.FLOAT16)
"""A number for parameters that stand for integers; it is that of a dtype, too, and no default."""


def _parameters(node: NodeProto) -> list[AttributeProto]:
    """The attributes of a node, and of those in its subgraphs, that refer to parameters of the function around.

    Floats are left out: no type depends on them.
    """
    nodes = [node]
    for _, graph in subgraphs(node):
        nodes += chain(graph.node, *(inner.node for inner in subgraphs_within(graph)))
    attributes = chain.from_iterable(one.attribute[:] for one in nodes)
    return [one for one in attributes if one.ref_attr_name and one.type != AttributeProto.FLOAT]


def _inferred_types(
    model: ModelEnvironment,
    node: NodeProto,
    imports: Mapping[str, int],
    type_of: Callable[[str], TypeProto | None],
    constant: Callable[[str], Array | None] | None,
    placeholders: Mapping[str, Array] | None,
) -> Mapping[str, TypeProto]:
    function = model.functions.get(called_function_key(node)) if model.functions else None
    inputs = node.input[:]
    if function is not None:
        if _calls_overriding(function, model.functions):
            return {}
        types = [type_of(name) or TypeProto() if name else TypeProto() for name in inputs]
        try:
            results = shape_inference.infer_function_output_types(function, types, node.attribute)
        except ONNX_ERRORS:
            return {}
        return dict(zip(node.output, results, strict=False))
    domain = history.canonical_domain(node.domain)
    definition = history.definition(domain, node.op_type, imports.get(domain, 0))
    if definition is None:
        return types_in_onnxruntime(node, type_of) if domain == ONNXRUNTIME else {}
    if spelt := _spelt_dtype(node):
        found = _of_dtype(spelt, (type_of(inputs[0]) if inputs else None) or TypeProto())
        return {} if found is None else {node.output[0]: found}
    if (resampled := resampled_types(node, definition, type_of, constant)) is not None:
        return resampled
    first = type_of(inputs[0]) if inputs and inputs[0] else None
    read = with_axes_inferred_rightly(
        with_windows_inferred_rightly(node), definition.since_version, first and rank_of(first)
    )
    if read is None:
        return {} if first is None else {node.output[0]: without_shape(first)}
    read = with_scores_inferred_rightly(with_splits_inferred_rightly(read, type_of, constant))
    definition = with_slices_inferred_rightly(definition)
    if definition.infers_through_body and (found_in_body := _types_through_body(read, definition, type_of)):
        return found_in_body
    question = Question(model, definition, read, imports, type_of, constant, placeholders or {})
    try:
        answer = with_half_spectra(read, question.ask(read), type_of, constant)
        answer = with_types_of_first_versions(read, definition, answer, type_of)
        return with_uninferred_shapes(read, definition, answer, type_of)
    except ONNX_ERRORS:
        # onnx cannot make sense of the node: nothing is known of its outputs.
        if not definition.takes_subgraphs:
            return {}
    try:
        # Subgraphs that are at the target already hold nodes that mean nothing at this opset.
        return question.ask(_with_declared_subgraphs(read))
    except ONNX_ERRORS:
        return {}


def _types_through_body(
    node: NodeProto, definition: history.Definition, type_of: Callable[[str], TypeProto | None]
) -> Mapping[str, TypeProto]:
    """The types of what an operator gives that ONNX defines by a function alone: of a node, onnx infers its dtype only.

    That is so of LessOrEqual-12, GreaterOrEqual-12 and MeanVarianceNormalization.
    """
    types = [type_of(name) or TypeProto() if name else TypeProto() for name in node.input]
    given = {attribute.name for attribute in node.attribute}
    defaults = [one.default_value for name, one in definition.schema.attributes.items() if name not in given]
    body = definition.function_body(node, types)
    if body is None:
        return {}
    attributes = [*node.attribute, *(one for one in defaults if one.name)]
    try:
        results = shape_inference.infer_function_output_types(body, types, attributes)
    except ONNX_ERRORS:
        return {}
    return {name: one for name, one in zip(node.output, results, strict=False) if name and is_a_type(one)}


class Question:
    """What onnx has to know of a node and its inputs to infer the types of its outputs."""

    def __init__(
        self,
        model: ModelEnvironment,
        definition: history.Definition,
        node: NodeProto,
        imports: Mapping[str, int],
        type_of: Callable[[str], TypeProto | None],
        constant: Callable[[str], Array | None] | None,
        placeholders: Mapping[str, Array],
    ) -> None:
        types = {name: type_of(name) or TypeProto() for name in node.input if name}
        if definition.takes_subgraphs:
            captured = set().union(*(captured_names(graph) for _, graph in subgraphs(node)))
            types.update({name: found for name in captured if (found := type_of(name)) is not None})
        values = dict(placeholders)
        if constant is not None:
            for name in node.input:
                if name and name not in values and may_be_sizes(types[name]):
                    value = constant(name)
                    if value is not None:
                        values[name] = value
        self._model = model
        self._definition = definition
        self._types = types
        self._values = values
        self._imports = tuple(imports.items())

    def ask(self, node: NodeProto) -> Mapping[str, TypeProto]:
        """The types of the node's outputs by name, as onnx infers them. Raises one of ONNX_ERRORS.

        Attributes that name no dtype give types that are none, which are left out.
        """
        types = tuple((name, one.SerializeToString(deterministic=True)) for name, one in self._types.items())
        values = tuple((name, content_of(value)) for name, value in self._values.items())
        key = self._definition, self._imports, node.SerializeToString(deterministic=True), types, values
        known = self._model.answers.get(key)
        if known is not None:
            return {name: TypeProto.FromString(content) for name, content in known.items()}
        answer = shape_inference.infer_node_outputs(
            self._definition.schema,
            node,
            input_types=self._types,
            input_data={name: tensor_of(value, name) for name, value in self._values.items()},
            opset_imports=_written(self._imports),
            ir_version=self._model.model.ir_version,
        )
        found = {name: one for name, one in answer.items() if is_a_type(one)}
        if len(key[2]) <= _LARGEST_KEPT:
            # Callers write into what they get.
            self._model.answers[key] = {name: one.SerializeToString() for name, one in found.items()}
        return found


@lru_cache
def _written(imports: Sequence[tuple[str, int]]) -> list[OperatorSetIdProto]:
    return [OperatorSetIdProto(domain=name, version=version) for name, version in imports]


def _spelt_dtype(node: NodeProto) -> str:
    """The dtype that a node up to opset 5 spells in words, which onnx's inference does not read; "" where none does."""
    for attribute in node.attribute:
        if attribute.name == "to" and attribute.type == AttributeProto.STRING:
            return str(attribute.s.decode(errors="replace")).lower()
    return ""


def _of_dtype(dtype: str, like: TypeProto) -> TypeProto | None:
    """A tensor of a dtype and the shape of another; None where onnx has no such dtype."""
    result = TypeProto()
    try:
        result.tensor_type.elem_type = element_type(dtype)
    except ValueError:
        return None
    if like.tensor_type.HasField("shape"):
        result.tensor_type.shape.CopyFrom(like.tensor_type.shape)
    return result


def _with_declared_subgraphs(node: NodeProto) -> NodeProto:
    """The node with subgraphs that say of which types their outputs are, and have no nodes."""
    copy = NodeProto()
    copy.CopyFrom(node)
    for _, graph in subgraphs(copy):
        del graph.node[:]
    return copy


def inferred_ranks(scope: Environment, node: NodeProto, imports: Mapping[str, int]) -> Mapping[str, TypeProto]:
    """Output types whose ranks follow from how many elements an input has, whatever their values are.

    So it is with target shapes, axes, repeats and the like: inference is asked with fallbacks for the values, and
    nothing but the ranks is taken from its answer.
    """
    lengths = {}
    for name in filter(None, node.input):
        shape = scope.shape(name) if scope.type_string(name) == "tensor(int64)" else None
        if shape is None or len(shape) != 1 or scope.constant(name) is not None:
            continue
        if isinstance(shape[0], int) and shape[0] <= MOST_DIMENSIONS:
            lengths[name] = shape[0]
    answers: list[Mapping[str, TypeProto]] = []
    for fallback in (numpy.ones, numpy.arange) if lengths else ():
        data = {name: fallback(length, dtype=numpy.int64) for name, length in lengths.items()}
        answers.append(inferred_types(scope.model, node, imports, scope.type_of, scope.constant, data))
    ranked = {}
    for name in node.output:
        found = [answer[name] for answer in answers if name in answer and has_rank(answer[name])]
        if found and len({len(one.tensor_type.shape.dim) for one in found}) == 1:
            ranked[name] = found[0]
            for dim in ranked[name].tensor_type.shape.dim:
                dim.Clear()
    return ranked


def type_told_by_outputs(
    scope: Environment, node: NodeProto, imports: Mapping[str, int], name: str
) -> TypeProto | None:
    """The type of an input whose rank nothing else tells: the only rank for which onnx infers those that outputs have.

    None where another rank would do as well, or might.
    """
    wanted = {output: len(shape) for output in node.output if output and (shape := scope.shape(output)) is not None}
    dtype = dtype_of_type(scope.type_string(name) or "")
    if not wanted or dtype is None or name not in node.input:
        return None
    fitting = []
    for rank in range(_HIGHEST_RANK + 1):
        supposed = tensor_type_proto(dtype, [None] * rank)

        def type_of(asked: str, supposed: TypeProto = supposed) -> TypeProto | None:
            return supposed if asked == name else scope.type_of(asked)

        found = inferred_types(scope.model, node, imports, type_of, scope.constant)
        if not found:
            continue  # onnx rejects a node with an input of this rank
        ranks = {output: rank_of(found[output]) if output in found else None for output in wanted}
        if all(ranks[output] in (None, size) for output, size in wanted.items()):
            if None in ranks.values():
                return None
            fitting.append(supposed)
    return fitting[0] if len(fitting) == 1 else None


_HIGHEST_RANK = 8
"""Of tensors that models have."""
