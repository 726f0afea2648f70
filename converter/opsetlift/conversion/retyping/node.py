"""One node with other dtypes: which of its operands may change, and which attributes have to change with them.

Type constraints say what an operand may be. Where the dtype of an output comes from an attribute, onnx's type inference
is asked whether another value of that attribute makes the output what it has to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import onnx
from onnx import AttributeProto, NodeProto, TensorProto, TypeProto, shape_inference
from onnx.defs import OpSchema
from onnx.numpy_helper import to_array

from opsetlift.conversion.retyping.changes import DoesNotFit, changed_type, retyped_tensor, set_type
from opsetlift.specification.dtypes import dtype_name, element_type, type_of_spelling, type_string
from opsetlift.specification.history import Definition
from opsetlift.support.onnx_errors import ONNX_ERRORS


@dataclass(frozen=True)
class Surroundings:
    """What onnx's inference asks for beside the types of a node's inputs."""

    imports: Mapping[str, int]
    constants: Mapping[str, TensorProto]
    """Those among the inputs, in the dtype in which the node is to read them."""
    types: Mapping[str, TypeProto]
    """The types of the inputs, with shapes, as they were; of use where there are constants to go with them."""


class Retyper:
    """Changes dtypes in the attributes of nodes."""

    def __init__(self, changes: Mapping[str, str], ir_version: int) -> None:
        self._changes = changes
        self._numbers = {element_type(old): element_type(new) for old, new in changes.items()}
        self._ir_version = ir_version
        self._known: dict[object, dict[int, str] | None] = {}

    def retyped(
        self,
        node: NodeProto,
        definition: Definition,
        types: Sequence[str | None],
        expected: Mapping[str, str],
        hoped: Mapping[str, str],
        around: Surroundings,
    ) -> tuple[NodeProto, dict[str, str]] | None:
        """The node for inputs of `types`, and the types of the outputs in `expected` and `hoped` that it has then.

        `expected` says what outputs have to be, by their names; `hoped` what others may be if an attribute says so.
        None where onnx infers something else for it.
        """
        best: tuple[NodeProto, dict[str, str]] | None = None
        for candidate in self._candidates(node, definition):
            found = self._infer(candidate, definition, types, around)
            if found is None:
                continue
            if any(found.get(name, wanted) != wanted for name, wanted in expected.items()):
                continue
            given = {**expected, **{name: found[name] for name in hoped if name in found}}
            if best is None or _reached(given, hoped) > _reached(best[1], hoped):
                best = candidate, given
            if _reached(given, hoped) == len(hoped):
                break
        return best

    def _candidates(self, node: NodeProto, definition: Definition) -> Iterator[NodeProto]:
        """The node with its tensors in the new dtypes, as it is, and with each number that may stand for a dtype."""
        retyped = self._with_tensors(node)
        if retyped is not None:
            yield retyped
        yield _copy(node)
        given = {attribute.name: attribute for attribute in node.attribute}
        for name, attribute in definition.schema.attributes.items():
            if attribute.type != OpSchema.AttrType.INT:
                continue
            stated = given[name].i if name in given else attribute.default_value.i
            is_open = name not in given and not attribute.default_value.name
            for old, new in self._numbers.items():
                if (is_open or stated == old) and not (name in given and given[name].ref_attr_name):
                    copy = _copy(node)
                    kept = [one for one in copy.attribute if one.name != name]
                    del copy.attribute[:]
                    copy.attribute.extend(kept)
                    copy.attribute.add(name=name, type=AttributeProto.INT, i=new)
                    yield copy

    def _with_tensors(self, node: NodeProto) -> NodeProto | None:
        """The node with tensors and types in its attributes changed; None where there are none, or one does not fit."""
        copy = _copy(node)
        is_changed = False
        for attribute in copy.attribute:
            if attribute.type == AttributeProto.TENSOR and attribute.t.data_type in self._numbers:
                new = self._changes[dtype_name(attribute.t.data_type)]
                try:
                    attribute.t.CopyFrom(retyped_tensor(attribute.t, to_array(attribute.t), new))
                except DoesNotFit:
                    return None
                is_changed = True
            elif attribute.type == AttributeProto.TYPE_PROTO and (
                new_type := changed_type(type_string(attribute.tp), self._changes)
            ):
                set_type(attribute.tp, new_type)
                is_changed = True
        return copy if is_changed else None

    def _infer(
        self, node: NodeProto, definition: Definition, types: Sequence[str | None], around: Surroundings
    ) -> dict[str, str] | None:
        """The output types that onnx infers; None where it finds a fault.

        Without constants that it may read, nodes that differ in their names only are asked about once.
        """
        if around.constants:
            return self._asked(node, definition, types, around)
        attributes = tuple(attribute.SerializeToString() for attribute in node.attribute)
        key = (id(definition), attributes, tuple(types), tuple(map(bool, node.output)), tuple(around.imports.items()))
        if key not in self._known:
            found = self._asked(node, definition, types, around)
            position = {name: position for position, name in enumerate(node.output)}
            self._known[key] = None if found is None else {position[name]: spelt for name, spelt in found.items()}
        known = self._known[key]
        return None if known is None else {node.output[position]: spelt for position, spelt in known.items()}

    def _asked(
        self, node: NodeProto, definition: Definition, types: Sequence[str | None], around: Surroundings
    ) -> dict[str, str] | None:
        known = {
            name: _with_type(around.types.get(name), spelt)
            for name, spelt in zip(node.input, types, strict=True)
            if name
        }
        opsets = [onnx.OperatorSetIdProto(domain=domain, version=opset) for domain, opset in around.imports.items()]
        try:
            if definition.infers_through_body:
                return _inferred_through_body(node, known, opsets, self._ir_version)
            inferred = shape_inference.infer_node_outputs(
                definition.schema,
                node,
                known,
                dict(around.constants),
                opset_imports=opsets,
                ir_version=self._ir_version,
            )
        except ONNX_ERRORS:
            return None
        return {name: spelt for name, found in inferred.items() if (spelt := type_string(found))}


def _inferred_through_body(
    node: NodeProto, known: Mapping[str, TypeProto], opsets: Sequence[onnx.OperatorSetIdProto], ir_version: int
) -> dict[str, str]:
    """The output types where onnx works them out from what the operator's function body does."""
    graph = onnx.GraphProto(name="node", node=[node])
    for name, kind in known.items():
        graph.input.add(name=name).type.CopyFrom(kind)
    for name in filter(None, node.output):
        graph.output.add(name=name)
    model = onnx.ModelProto(ir_version=ir_version, graph=graph, opset_import=opsets)
    inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    return {info.name: spelt for info in inferred.graph.output if (spelt := type_string(info.type))}


def _with_type(known: TypeProto | None, spelt: str | None) -> TypeProto:
    result = TypeProto()
    if known is not None:
        result.CopyFrom(known)
    elif spelt is not None:
        result = type_of_spelling(spelt) or result
    if spelt is not None and type_string(result) not in (None, spelt):
        set_type(result, spelt)
    return result


def _reached(given: Mapping[str, str], hoped: Mapping[str, str]) -> int:
    return sum(given.get(name) == wanted for name, wanted in hoped.items())


def _copy(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy
