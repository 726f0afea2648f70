"""Models with large weights are written by parts: the bytes are those that protobuf writes, without a second copy."""

from __future__ import annotations

import io
import random
import tracemalloc
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import EncodeError, Message
from onnx import ModelProto, TensorProto

from opsetlift.model.files import ModelFileError, save_model, writing_by_parts
from opsetlift.model.files.writing_by_parts import write_by_parts
from opsetlift.support.protobuf import is_repeated
from testing.small_models import weighted_model

FLOATS, STRINGS = {FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE}, {FieldDescriptor.TYPE_STRING}


def filled(message: Message, source: random.Random, depth: int = 4) -> None:
    """Give a message random values of random fields, whether they make sense together or not."""
    for field in message.DESCRIPTOR.fields:
        if source.random() < 0.4:
            continue
        for _ in range(source.choice((0, 1, 1, 2, 5)) if is_repeated(field) else 1):
            if field.message_type is not None:
                if depth:
                    there = getattr(message, field.name)
                    filled(there.add() if is_repeated(field) else there, source, depth - 1)
                continue
            value = value_of(field, source)
            if is_repeated(field):
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)


def value_of(field: FieldDescriptor, source: random.Random) -> object:
    if field.enum_type is not None:
        return source.choice(field.enum_type.values).number
    if field.type in FLOATS:
        return source.choice((0.0, 1.5, -2.0))
    if field.type in STRINGS:
        return source.choice(("", "x", "a name" * 30))
    if field.type == FieldDescriptor.TYPE_BYTES:
        return source.randbytes(source.choice((0, 1, 127, 128, 300, 20_000)))
    return source.choice((0, 1, 127, 128, 2**31 - 1))


def random_model(seed: int) -> ModelProto:
    """A model of random content, some of whose initializers hold raw data of the size that their shape tells."""
    source, model = random.Random(seed), ModelProto()
    filled(model, source)
    for number in range(source.randrange(1, 5)):
        size = source.choice((1, 100, 127, 128, 16_383, 16_384, 70_000))
        tensor = TensorProto(
            name=f"w{number}", data_type=TensorProto.UINT8, dims=[size], raw_data=source.randbytes(size)
        )
        tensor.doc_string = source.choice(("", "text" * 100))
        tensor.metadata_props.add(key="k", value="v" * source.randrange(200))
        model.graph.initializer.insert(source.randrange(len(model.graph.initializer) + 1), tensor)
    return model


@pytest.mark.parametrize("seed", range(60))
def test_the_bytes_are_those_of_protobuf(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing_by_parts, "LARGE", 100)
    model, file = random_model(seed), io.BytesIO()
    is_large = any(len(tensor.raw_data) >= 100 for tensor in model.graph.initializer)
    assert write_by_parts(model, file) == is_large
    assert file.getvalue() == (model.SerializeToString() if is_large else b"")


def test_unknown_fields_are_left_to_protobuf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing_by_parts, "LARGE", 1)
    unknown = b"\xfa\x3e\x03new"  # field 1007, three bytes
    for name in ("model", "graph", "tensor"):
        model = weighted_model()
        {"model": model, "graph": model.graph, "tensor": model.graph.initializer[0]}[name].MergeFromString(unknown)
        file = io.BytesIO()
        is_done = write_by_parts(model, file)
        assert file.getvalue() == (model.SerializeToString() if is_done else b"")
        assert is_done == (name == "tensor" and len(model.graph.initializer) > 1)


def test_a_model_without_large_weights_is_left_to_protobuf() -> None:
    file = io.BytesIO()
    assert not write_by_parts(weighted_model(), file)
    assert not file.getvalue()


def test_what_is_too_large_for_a_protobuf_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    model, file = large_model(), io.BytesIO()
    monkeypatch.setattr(writing_by_parts, "PROTOBUF_LIMIT", model.ByteSize() - 1)
    with pytest.raises(EncodeError):
        write_by_parts(model, file)
    assert not file.getvalue()


def test_a_file_that_would_be_too_large_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing_by_parts, "PROTOBUF_LIMIT", 1000)
    with pytest.raises(ModelFileError, match=r"model\.onnx: the model cannot be written in the protobuf form"):
        save_model(large_model(), tmp_path / "model.onnx")
    assert not [*tmp_path.iterdir()]


def test_saving_holds_one_weight_at_a_time(tmp_path: Path) -> None:
    model = large_model()
    tracemalloc.start()
    try:
        save_model(model, tmp_path / "model.onnx")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * writing_by_parts.LARGE + (1 << 20)
    assert (tmp_path / "model.onnx").read_bytes() == model.SerializeToString()


def large_model() -> ModelProto:
    """Eight weights of the smallest size that is written by itself."""
    model, size = weighted_model(), writing_by_parts.LARGE
    for number in range(8):
        content = bytes([number]) * size
        model.graph.initializer.add(name=f"w{number}", data_type=TensorProto.UINT8, dims=[size], raw_data=content)
    return model
