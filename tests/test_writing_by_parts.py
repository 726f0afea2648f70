"""Models with large weights are written by parts: the bytes are those that protobuf writes, without a second copy."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import pytest
from google.protobuf.message import EncodeError
from onnx import ModelProto, TensorProto

from opsetlift.model.files import ModelFileError, save_model, writing_by_parts
from opsetlift.model.files.writing_by_parts import write_by_parts
from testing.random_messages import random_model
from testing.small_models import weighted_model


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
