"""Large models with weights in them are read by parts: as protobuf reads them, without a second copy."""

from __future__ import annotations

import io
import random
import tracemalloc
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto

from opsetlift.model.files import ModelFileError, load_model, loading, reading_by_parts, wire
from opsetlift.model.files.reading_by_parts import read_by_parts
from testing.random_messages import random_model
from testing.small_models import weighted_model

LARGE = 100


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_by_parts, "LARGE", LARGE)
    monkeypatch.setattr(loading, "BY_PARTS", 1)


def read(content: bytes) -> ModelProto | None:
    return read_by_parts(io.BytesIO(content), len(content), ModelProto.FromString)


@pytest.mark.parametrize("seed", range(60))
def test_the_model_is_that_of_protobuf(seed: int) -> None:
    model = random_model(seed)
    content = model.SerializeToString()
    is_large = any(tensor.ByteSize() >= LARGE for tensor in model.graph.initializer)
    found = read(content)
    assert (found is not None) == is_large
    assert found is None or found.SerializeToString() == content


@pytest.mark.parametrize("seed", range(20))
def test_of_damaged_bytes_nothing_else_is_read_than_protobuf_reads(seed: int) -> None:
    source, content = random.Random(seed), random_model(seed).SerializeToString()
    for _ in range(40):
        damaged = bytearray(content[: source.randrange(len(content))] if source.random() < 0.3 else content)
        for _ in range(source.choice((0, 1, 3))):
            if damaged:
                damaged[source.randrange(min(len(damaged), 400))] = source.randrange(256)
        try:
            expected = ModelProto.FromString(bytes(damaged)).SerializeToString()
        except DecodeError:
            expected = None
        try:
            found = read(bytes(damaged))
        except DecodeError:
            found = None
        assert found is None or found.SerializeToString() == expected


def test_graphs_that_are_to_be_merged_and_unknown_fields_are_those_of_protobuf() -> None:
    unknown = b"\xfa\x3e\x03new"  # field 1007, three bytes
    content = large_model().SerializeToString()
    assert read(content + content) is None
    found = read(unknown + content + unknown)
    assert found is not None
    assert found.SerializeToString() == ModelProto.FromString(unknown + content + unknown).SerializeToString()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x80" * 11, "does not end"),
        (b"\x0a", "does not end"),
        (b"\x0a\x05abc", "longer than its message"),
        (b"\x0b", "kind 3"),
        (b"\x02\x00", "number 0"),
        (b"\x82\x80\x80\x80\x10\x00", "number 536870912"),
        (b"\x8a\x80\x80\x80\x80\x00\x00", "does not end"),
        (b"\x0a\x80\x80\x80\x80\x80\x00", "does not end"),
    ],
)
def test_what_is_no_wire_format_has_no_fields(content: bytes, what: str) -> None:
    with pytest.raises(wire.NotWireFormatError, match=what):
        list(wire.fields(io.BytesIO(content), 0, len(content)))
    assert read(content) is None


@pytest.mark.parametrize("padding", range(6))
@pytest.mark.parametrize("position", [0, 1], ids=["tag", "length"])
def test_tags_and_lengths_may_be_as_long_as_protobuf_takes_them(position: int, padding: int) -> None:
    model = large_model()
    tensor = model.graph.initializer[-1].SerializeToString()
    head = [b"\x2a", wire.varint(len(tensor))]
    *start, last = head[position]
    head[position] = bytes([*start, last | 0x80, *[0x80] * padding, 0])
    graph = model.graph.SerializeToString() + b"".join(head) + tensor
    content = b"\x3a" + wire.varint(len(graph)) + graph
    try:
        expected = ModelProto.FromString(content)
    except DecodeError:
        expected = None
    assert read(content) == expected


def test_the_error_of_a_damaged_file_is_that_of_a_small_one(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(large_model().SerializeToString()[:-3])
    with pytest.raises(ModelFileError, match="truncated or damaged"):
        load_model(path)


def test_loading_holds_the_bytes_of_one_weight_at_a_time(tmp_path: Path) -> None:
    model, path = large_model(1 << 20), tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    tracemalloc.start()
    try:
        found = load_model(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == model
    assert peak < 3 << 20


def large_model(size: int = LARGE) -> ModelProto:
    model = weighted_model()
    for number in range(8):
        content = bytes([number]) * size
        model.graph.initializer.add(name=f"w{number}", data_type=TensorProto.UINT8, dims=[size], raw_data=content)
    return model
