"""What a file holds beside its nodes: IR versions, opset imports, metadata, unknown fields, external data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
from google.protobuf.message import Message
from onnx import ModelProto, NodeProto, external_data_helper
from onnx.helper import make_opsetid

from testing.cases import Case
from testing.transforms.constants import as_constants, initializer
from testing.transforms.functions import in_function
from testing.transforms.transform import Transform, copied, ensure_ir_version, rewritten

UNKNOWN_FIELD = b"\xfa\xff\x01\x07unknown"
"""Field 4095, of seven bytes, which no message of ONNX has."""


def in_ir_version_3(case: Case) -> Case | None:
    """The oldest IR version with opsets, whose initializers are all inputs."""
    model = case.model
    if model.functions or model.graph.sparse_initializer or model.ir_version == 3:
        return None
    model = copied(model)
    model.ir_version = 3
    inputs = {info.name for info in model.graph.input}
    for tensor in model.graph.initializer:
        if tensor.name not in inputs:
            model.graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            )
    return rewritten(case, model)


def with_domain_spelt_out(case: Case) -> Case | None:
    """The domain of imports and nodes is written "ai.onnx"."""
    model = copied(case.model)
    for entry in model.opset_import:
        entry.domain = entry.domain or "ai.onnx"
    for node in model.graph.node:
        node.domain = node.domain or "ai.onnx"
    return rewritten(case, model)


def with_import_twice(case: Case) -> Case | None:
    """One import of ai.onnx more, at another opset; the last one counts, as in onnxruntime."""
    model = copied(case.model)
    imports = list(model.opset_import)
    del model.opset_import[:]
    model.opset_import.extend([make_opsetid("", 2), *imports])
    return rewritten(case, model)


def with_imports_of_what_nothing_uses(case: Case) -> Case | None:
    """Domains that no node is of."""
    model = copied(case.model)
    known = {entry.domain for entry in model.opset_import}
    for domain in {"ai.onnx.ml", "somebody.else"} - known:
        model.opset_import.append(make_opsetid(domain, 1))
    return rewritten(case, model)


def with_metadata(case: Case) -> Case | None:
    """Doc strings and metadata everywhere, on a function too where the test can be one."""
    model = copied((in_function(case) or case).model)
    ensure_ir_version(model, 10)
    model.doc_string = "about the model"
    model.graph.doc_string = "about the graph"
    onnx.helper.set_model_props(model, {"kept": "of the model"})
    _note(model.graph, "of the graph")
    for container in (model.graph, *model.functions):
        for number, node in enumerate(container.node):
            node.doc_string = f"about {container.name} {number}"
            _note(node, node.doc_string)
    for function in model.functions:
        function.doc_string = "about the function"
        _note(function, "of the function")
    for info in (*model.graph.input, *model.graph.output):
        info.doc_string = f"about {info.name}"
        _note(info, f"of {info.name}")
    return rewritten(case, model)


def _note(message: Message, text: str) -> None:
    entry = message.metadata_props.add()
    entry.key, entry.value = "kept", text


def _notes(message: Message) -> tuple[str, dict[str, str]]:
    return message.doc_string, {entry.key: entry.value for entry in message.metadata_props}


def _nodes(model: ModelProto) -> list[NodeProto]:
    return [node for container in (model.graph, *model.functions) for node in container.node]


def complaint_about_metadata(case: Case, converted: ModelProto) -> str:
    """What got lost of doc strings and metadata."""
    before = case.model
    pairs: list[tuple[Message, Message]] = [(before, converted), (before.graph, converted.graph)]
    pairs += zip(before.functions, converted.functions, strict=True)
    pairs += zip(before.graph.input, converted.graph.input, strict=True)
    pairs += zip(before.graph.output, converted.graph.output, strict=True)
    for one, other in pairs:
        if _notes(one) != _notes(other):
            return f"{_notes(one)} became {_notes(other)}"
    found = [_notes(node) for node in _nodes(converted)]
    lost = [_notes(node) for node in _nodes(before) if _notes(node) not in found]
    return f"no node says {lost[0]} any more" if lost and converted.graph.node else ""


def with_unknown_fields(case: Case) -> Case | None:
    """A field of a newer onnx on the model, its graph, inputs, outputs, initializers and functions."""
    constant = as_constants(initializer, but_first=True)(case) or case
    constant = in_function(constant) or constant
    model = copied(constant.model)
    for message in (model.graph, *model.graph.input, *model.graph.output, *model.graph.initializer, *model.functions):
        message.MergeFromString(UNKNOWN_FIELD)
    model.MergeFromString(UNKNOWN_FIELD)
    return rewritten(constant, model)


def complaint_about_unknown_fields(case: Case, converted: ModelProto) -> str:
    """What lost its unknown field; an initializer may be gone altogether, once its value is an attribute."""
    graph = converted.graph
    for message in (converted, graph, *graph.input, *graph.output, *converted.functions):
        if not _has_unknown_field(message):
            return f"a {type(message).__name__} lost its unknown field"
    names = {tensor.name for tensor in case.model.graph.initializer}
    kept = [tensor for tensor in graph.initializer if tensor.name in names]
    lost = [tensor.name for tensor in kept if not _has_unknown_field(tensor)]
    return f"the initializer {lost[0]} lost its unknown field" if lost else ""


def _has_unknown_field(message: Message) -> bool:
    """Whether the message itself carries it: it is found still when what lies deeper is gone."""
    content = message.SerializeToString()
    shallow = type(message)()
    shallow.MergeFromString(content)
    for field, _ in message.ListFields():
        shallow.ClearField(field.name)
    return UNKNOWN_FIELD in shallow.SerializeToString()


@cache
def _folder() -> TemporaryDirectory[str]:
    """A folder for external data, which goes when the process ends."""
    return TemporaryDirectory(prefix="transformed-")


def with_external_data(*, but_first: bool) -> Callable[[Case], Case | None]:
    """Constants whose bytes are in a file."""

    def apply(case: Case) -> Case | None:
        constant = as_constants(initializer, but_first=but_first)(case)
        if constant is None:
            return None
        model = copied(constant.model)
        file = f"{case.name.replace('/', '_')}{'_but_first' if but_first else ''}.data"
        (Path(_folder().name) / file).unlink(missing_ok=True)
        external_data_helper.convert_model_to_external_data(
            model, all_tensors_to_one_file=True, location=file, size_threshold=0
        )
        model = external_data_helper.write_external_data_tensors(model, _folder().name)
        moved = rewritten(constant, model)
        return Case(moved.name, model, moved.data_sets, moved.rtol, moved.atol, _folder().name)

    return apply


FILES = (
    Transform("in_ir_version_3", in_ir_version_3),
    Transform("with_domain_spelt_out", with_domain_spelt_out),
    Transform("with_import_twice", with_import_twice, is_legal=False),
    Transform("with_imports_of_what_nothing_uses", with_imports_of_what_nothing_uses),
    Transform("with_metadata", with_metadata, complaint_about_metadata),
    Transform("with_unknown_fields", with_unknown_fields, complaint_about_unknown_fields),
    Transform("external_data_of_all_but_first", with_external_data(but_first=True)),
    Transform("external_data_of_all", with_external_data(but_first=False)),
)
