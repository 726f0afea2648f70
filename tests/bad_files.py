"""Files that are no usable models, by readable names: what makes each, and words of the sentence that it must get."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy
import onnx
from onnx import TensorProto, numpy_helper

from testing.small_models import externalise, minimum_model, nested_model, weighted_model


class Bad(NamedTuple):
    """One kind of bad input: what makes the files, and words of the sentence that it must get."""

    make: Callable[[Path], Path | None]
    words: str


FILES: dict[str, Bad] = {}


def bad_file(words: str) -> Callable[[Callable[[Path], Path | None]], None]:
    """A maker of the file to convert; it may return another path than "in.onnx"."""

    def register(make: Callable[[Path], Path | None]) -> None:
        FILES[make.__name__] = Bad(make, words)

    return register


def content(data: bytes, name: str = "in.onnx") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return write


FILES |= {
    "missing file": Bad(lambda folder: folder / "in.onnx", "no such file"),
    "missing folder": Bad(lambda folder: folder / "none" / "in.onnx", "no such file"),
    "folder": Bad(lambda folder: folder, "this is a folder"),
    "empty file": Bad(content(b""), "the file is empty"),
    "zeros": Bad(content(bytes(1000)), "not an ONNX model"),
    "random bytes": Bad(content(numpy.random.default_rng(0).bytes(1000)), "not an ONNX model"),
    "plain text": Bad(content(b"hello, I am a model\n"), "not an ONNX model"),
    "truncated in a field": Bad(content(weighted_model().SerializeToString()[:-20]), "truncated or damaged"),
    "git lfs pointer": Bad(content(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), "Git LFS pointer"),
    "zip archive": Bad(content(b"PK\x03\x04\x14\x00\x00\x00"), "zip archive"),
    "gzip": Bad(content(b"\x1f\x8b\x08\x00\x00\x00"), "gzip"),
    "web page": Bad(content(b"<!DOCTYPE html><title>404</title>"), "web page"),
    "onnxruntime format": Bad(content(b"\x18\x00\x00\x00ORTM\x00\x00\x00\x00"), "onnxruntime's own format"),
    "graph without a model": Bad(content(minimum_model().graph.SerializeToString()), "holds no graph"),
    "tensor": Bad(content(numpy_helper.from_array(numpy.zeros((2, 3)), "w").SerializeToString()), "not an ONNX model"),
    "broken json": Bad(content(b'{"irVersion": "8", ', "in.json"), "JSON form"),
    "json of something else": Bad(content(b'{"name": "package", "version": "1.0"}', "in.json"), "JSON form"),
    "json nested without end": Bad(content(b"[" * 100_000, "in.json"), "JSON form"),
    "broken protobuf text": Bad(content(b"ir_version: 8\ngraph { node {", "in.textproto"), "protobuf text form"),
    "unknown field in protobuf text": Bad(content(b"ir_version: 8\nlayers: 3", "in.txtpb"), "no field named"),
    "protobuf text not in utf-8": Bad(content(b"\xff\xfe\x00", "in.textproto"), "not text"),
    "broken onnx text": Bad(content(b"<ir_version: 8>\nagraph (", "in.onnxtxt"), "textual form"),
    "path too long": Bad(lambda folder: folder / ("x" * 5000), "cannot be read"),
}


@bad_file("not a regular file")
def named_pipe(folder: Path) -> None:
    os.mkfifo(folder / "in.onnx")


@bad_file("no such file")
def dangling_link(folder: Path) -> None:
    (folder / "in.onnx").symlink_to("nowhere.onnx")


@bad_file("cannot be read")
def link_to_itself(folder: Path) -> None:
    (folder / "in.onnx").symlink_to("in.onnx")


@bad_file("nested more deeply than protobuf allows")
def nested_beyond_protobuf(folder: Path) -> None:
    (folder / "in.onnx").write_bytes(nested_model(60).SerializeToString())


@bad_file("nested more than 30 deep")
def nested_in_text(folder: Path) -> Path:
    onnx.save(nested_model(60), folder / "in.textproto")
    return folder / "in.textproto"


@bad_file("a name that is not UTF-8")
def name_that_is_not_text(folder: Path) -> None:
    data = minimum_model().SerializeToString().replace(b"smallest", b"small\xffst")
    (folder / "in.onnx").write_bytes(data)


@bad_file("text in a producer_name that is not UTF-8")
def producer_that_is_not_text(folder: Path) -> None:
    model = minimum_model()
    model.producer_name = "producer"
    (folder / "in.onnx").write_bytes(model.SerializeToString().replace(b"producer", b"\xffroducer"))


def _external(folder: Path, **entries: str | None) -> None:
    """Writes a model with external data, some of its entries changed or (None) left out."""
    model = externalise(weighted_model(), folder)
    tensor = model.graph.initializer[0]
    known = {entry.key: entry.value for entry in tensor.external_data} | entries
    del tensor.external_data[:]
    for key, value in known.items():
        if value is not None:
            tensor.external_data.add(key=key, value=value)
    (folder / "in.onnx").write_bytes(model.SerializeToString())


FILES |= {
    "external data missing": Bad(lambda folder: _external(folder, location="gone.bin"), "'gone.bin' does not exist"),
    "external data without a file": Bad(lambda folder: _external(folder, location=None), "names no file"),
    "external data by an absolute path": Bad(lambda folder: _external(folder, location="/etc/passwd"), "absolute path"),
    "external data on a drive": Bad(lambda folder: _external(folder, location="C:\\weights.bin"), "absolute path"),
    "external data above the folder": Bad(
        lambda folder: _external(folder, location="../../etc/passwd"), "not a plain path below the model's folder"
    ),
    "external data is a folder": Bad(lambda folder: _external(folder, location="."), "not a regular file"),
    "external data with a null character": Bad(lambda folder: _external(folder, location="a\0b"), "not a plain path"),
    "external data past the end": Bad(lambda folder: _external(folder, offset="8"), "ends at byte 32 of 'weights.bin'"),
    "external data far past the end": Bad(lambda folder: _external(folder, offset=str(2**62)), "which has 24"),
    "external data of another length": Bad(lambda folder: _external(folder, length="8"), "has 8 bytes"),
    "external data at a negative offset": Bad(lambda folder: _external(folder, offset="-4"), "impossible offset: '-4'"),
    "external data of no length": Bad(lambda folder: _external(folder, length="all"), "impossible length: 'all'"),
}


@bad_file("a link that leads out of the model's folder")
def external_data_through_a_link(folder: Path) -> None:
    _external(folder, location="link.bin")
    (folder / "link.bin").symlink_to("/etc/passwd")


@bad_file("a link that leads out of the model's folder")
def external_data_through_a_linked_folder(folder: Path) -> None:
    _external(folder, location="parts/passwd")
    (folder / "parts").symlink_to("/etc")


@bad_file("not a regular file")
def external_data_from_a_pipe(folder: Path) -> None:
    _external(folder, location="pipe")
    os.mkfifo(folder / "pipe")


@bad_file("holds strings, which cannot be external data")
def external_strings(folder: Path) -> None:
    model = externalise(weighted_model(), folder)
    model.graph.initializer[0].data_type = TensorProto.STRING
    (folder / "in.onnx").write_bytes(model.SerializeToString())


@bad_file("states its location twice")
def two_locations(folder: Path) -> None:
    model = externalise(weighted_model(), folder)
    model.graph.initializer[0].external_data.add(key="location", value="other.bin")
    (folder / "in.onnx").write_bytes(model.SerializeToString())
