"""onnx's own verdict, in one sentence: `onnx.checker` in full, with shape inference, on a copy without weights."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import onnx.checker
import onnx.shape_inference
from google.protobuf.message import EncodeError
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto

from opsetlift.model.files.copying import copy_with_tensors
from opsetlift.model.files.errors import ModelFileError, ResultRejected, one_line
from opsetlift.model.files.external_data import ExternalData
from opsetlift.model.files.foreign_operators import foreign_operators, set_apart
from opsetlift.model.files.inference_in_parts import infer_in_parts, needs_parts
from opsetlift.model.files.tensors import all_tensors, is_external, stored_bytes
from opsetlift.model.inlined_calls import with_calls_inlined
from opsetlift.model.scopes import Container, imported_opsets, operators_of, subgraphs
from opsetlift.specification.dtypes import dtype_name
from opsetlift.specification.history import Definition, canonical_domain, definition
from opsetlift.support.onnx_errors import ONNX_ERRORS

LARGEST_KEPT_TENSOR = 4096
"""Bytes. Shape inference reads shapes, axes and the like; what is larger is a weight."""

_Operators = Collection[tuple[str, str]]
"""By domain and name."""

_NOWHERE = "#weight"
"""onnx.checker does not look for external data at a location that begins with "#"."""


def check_model(
    model: ModelProto, base_dir: str | os.PathLike[str] = "", *, original: ModelProto | None = None
) -> list[str]:
    """Raises ModelFileError where onnx.checker, shape inference included, does not accept a model of any size.

    External data is looked for in `base_dir`; without it, the values in it stay unknown. `original` is what the model
    was made from: where that is not accepted either, the sentence is about it; where it is, this is
    ResultRejected. Shapes that the original declares
    falsely, which runtimes pass over, are let through: the sentence that is given back says so. Where inference at the
    original's opset did not notice, those of values inside `model` are forgotten. Nodes of operators that ONNX does not
    have are passed over, where the original has them, too.
    """
    try:
        return _checked(model, base_dir, original)
    except ModelFileError:
        foreign = foreign_operators(original or model)
        if not foreign:
            raise
    return _checked(model, base_dir, original, foreign)


def fault_found(model: ModelProto, base_dir: str | os.PathLike[str] = "") -> str:
    """What `check_model` says of a model that was not converted; "" where it is accepted."""
    try:
        check_model(model, base_dir, original=model)
    except ModelFileError as fault:
        return str(fault)
    return ""


def _checked(
    model: ModelProto, base_dir: str | os.PathLike[str], original: ModelProto | None, foreign: _Operators = ()
) -> list[str]:
    try:
        _check(model, base_dir, foreign)
    except ModelFileError as error:
        if original is None:
            raise
        fault = _complaint(original, base_dir, foreign)
        if fault is None:
            if _is_accepted(model, base_dir, foreign, outputs_too=False):
                _forget_shapes(model.graph, outputs_too=False)
                return []
            if not _is_accepted(model, base_dir, foreign, outputs_too=True):
                raise ResultRejected(f"the original is valid, but the result is not: {error}") from error
        elif not all(_is_accepted(one, base_dir, foreign, outputs_too=True) for one in (original, model)):
            raise fault from None
        return [f"the model declares a shape that differs from the inferred one; it was kept: {fault or error}"]
    return []


def _complaint(model: ModelProto, base_dir: str | os.PathLike[str], foreign: _Operators) -> ModelFileError | None:
    try:
        _check(model, base_dir, foreign)
    except ModelFileError as fault:
        return fault
    return None


def _is_accepted(
    model: ModelProto, base_dir: str | os.PathLike[str], foreign: _Operators, *, outputs_too: bool
) -> bool:
    """Whether the model is accepted without the shapes that it declares of values inside it, and of its outputs."""
    copied = without_weights(model, base_dir)
    _forget_shapes(copied.graph, outputs_too=outputs_too)
    return _complaint(copied, base_dir, foreign) is None


def _forget_shapes(graph: GraphProto, *, outputs_too: bool) -> None:
    for info in (*graph.value_info, *(graph.output if outputs_too else ())):
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    for node in graph.node:
        for _, subgraph in subgraphs(node):
            _forget_shapes(subgraph, outputs_too=True)


def _check(model: ModelProto, base_dir: str | os.PathLike[str], foreign: _Operators) -> None:
    if not foreign and _can_be_given(model):
        with _in_one_sentence():
            onnx.checker.check_model(model, full_check=True)
        return
    copied = without_weights(model, base_dir)
    set_apart(copied, foreign)
    incomplete = _complete_interface(copied)
    for container in (copied.graph, *copied.functions):
        _spell_out_defaults(container, imported_opsets(getattr(container, "opset_import", copied.opset_import)))
    with _in_one_sentence():
        flat = with_calls_inlined(copied)
        if _has_nodes_without_inference(copied):
            # Of what such a node gives nothing is known to onnx, which blames those that read it.
            onnx.checker.check_model(copied)
            onnx.shape_inference.infer_shapes(copied, check_type=True)
            return
        is_inferred_here = incomplete or flat is not None or needs_parts(copied)
        onnx.checker.check_model(copied, full_check=not is_inferred_here)
        if incomplete:
            copied = without_weights(model, base_dir)
            set_apart(copied, foreign)
            flat = flat and with_calls_inlined(copied)
        if is_inferred_here and not (flat is not None and _is_inferred(flat)):
            _infer(copied)


def _can_be_given(model: ModelProto) -> bool:
    """Whether onnx.checker can be given the model as it is, of which a copy would leave out and fill in nothing."""
    graph, opsets = model.graph, imported_opsets(model.opset_import)
    if model.functions or not graph.name or any(map(_lacks_shape, (*graph.input, *graph.output))):
        return False
    for spelt, operator in operators_of(graph.node):
        domain = canonical_domain(spelt)
        found = definition(domain, operator, opsets.get(domain, 0))
        if found is None or found.takes_subgraphs or found.infers_through_body or _is_without_inference(found):
            return False
    return all(_is_small(tensor) and not is_external(tensor) for tensor in all_tensors(model))


def _has_nodes_without_inference(model: ModelProto) -> bool:
    """Whether there are such of first versions of operators, as models up to opset 5 have them, or of Compress."""
    opsets = imported_opsets(model.opset_import)
    found = (
        definition(domain, operator, opsets.get(domain, 0))
        for spelt, operator in operators_of(model.graph.node)
        for domain in [canonical_domain(spelt)]
    )
    return any(one is not None and _is_without_inference(one) for one in found)


def _is_without_inference(one: Definition) -> bool:
    schema = one.schema
    return not (schema.domain or schema.has_type_and_shape_inference_function or one.infers_through_body)


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    """Raises ModelFileError, with one sentence, for what onnx raises in the block."""
    try:
        yield
    except EncodeError as error:
        raise ModelFileError("the model cannot be written: it is nested too deeply, or too large") from error
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        raise ModelFileError(f"onnx does not accept the model: {_sentence(error)}") from error


def _infer(model: ModelProto) -> None:
    if needs_parts(model):
        infer_in_parts(model)
    else:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


def _is_inferred(model: ModelProto) -> bool:
    """Whether types follow without a fault, of which only inference of the model as it is can tell the place."""
    try:
        _infer(model)
    except ONNX_ERRORS:
        return False
    return True


def without_weights(model: ModelProto, base_dir: str | os.PathLike[str] = "") -> ModelProto:
    """A copy without the data of large tensors, and with that of small external ones brought in where it is found."""
    external_data = ExternalData(Path(base_dir)) if base_dir else None

    def fill(tensor: TensorProto, target: TensorProto) -> None:
        if external_data is not None and is_external(tensor) and _is_small(tensor):
            target.raw_data = external_data.read(tensor)
            return
        target.data_location = TensorProto.EXTERNAL
        target.external_data.add(key="location", value=_NOWHERE)

    return copy_with_tensors(model, lambda tensor: _is_small(tensor) and not is_external(tensor), fill)


def _is_small(tensor: TensorProto) -> bool:
    size = stored_bytes(tensor)
    return size is None or size <= LARGEST_KEPT_TENSOR


def _complete_interface(model: ModelProto) -> bool:
    """Fill in, on a copy, what the checker insists on and no runtime does; says whether shapes were missing."""
    model.graph.name = model.graph.name or "graph"
    missing = list(filter(_lacks_shape, (*model.graph.input, *model.graph.output)))
    for value in missing:
        value.type.tensor_type.shape.SetInParent()
    return bool(missing)


def _lacks_shape(value: ValueInfoProto) -> bool:
    return value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape")


def _spell_out_defaults(container: Container, opsets: Mapping[str, int]) -> None:
    """Write the defaults of attributes down: onnx infers types through function bodies without passing them on."""
    found = {
        (spelt, operator): definition(domain, operator, opsets.get(domain, 0))
        for spelt, operator in operators_of(container.node)
        for domain in [canonical_domain(spelt)]
    }
    if not any(one is None or one.takes_subgraphs or one.infers_through_body for one in found.values()):
        return
    for node in container.node:
        one = found[node.domain, node.op_type]
        if one is not None and not one.takes_subgraphs and not one.infers_through_body:
            continue
        for _, graph in subgraphs(node):
            _spell_out_defaults(graph, opsets)
        if one is not None and one.infers_through_body:
            given = {attribute.name for attribute in node.attribute}
            defaults = (attribute.default_value for attribute in one.schema.attributes.values())
            node.attribute.extend(value for value in defaults if value.name and value.name not in given)


def _sentence(error: Exception) -> str:
    """What onnx says, without its C++ trimmings, and with the innermost node that it names."""
    text = str(error)
    message, *_ = re.split(r"\n\n?==> Context|\n\n", text, maxsplit=1)
    nodes = re.findall(r"Bad node spec for node\. Name: (.*?) OpType: (\w+)", text)
    message = re.sub(r"\[\w+Error\]\s*:?\s*|Inference error\(s\): ", "", message)
    message = re.sub(r"\(op_type:(\w+)(?:, node name: ([^)]*))?\):?", r"\1 \2:", message)
    message = one_line(re.sub(r"(?<=elem type: )\((\d+)\) vs \((\d+)\)", _dtype_names, message))
    for name, operator in nodes[-1:]:
        if operator not in message:
            return f"{operator} {name!r}: {message}"
        if name and name not in message:
            return f"{message} (node {name!r})"
    return message


def _dtype_names(numbers: re.Match[str]) -> str:
    known = TensorProto.DataType.values()
    return " vs ".join(dtype_name(int(one)) if int(one) in known and int(one) else one for one in numbers.groups())
