"""The tests of the installed onnx: models with inputs and the outputs that its authors expect."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnx.backend.test
from google.protobuf.message import DecodeError
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import load_model_tests

FOLDERS = ("simple", "pytorch-converted", "pytorch-operator")


@dataclass(frozen=True)
class Case:
    """One model with its data sets, each a list of inputs and a list of outputs in the order of the graph."""

    name: str
    model: onnx.ModelProto
    data_sets: list[tuple[list[Any], list[Any]]] = field(repr=False)
    rtol: float = 1e-3
    atol: float = 1e-7
    base_dir: str = ""
    """The folder of the model's external data, if it has any."""

    @property
    def operator(self) -> str:
        """The operator that the case is about: its first node's."""
        return self.model.graph.node[0].op_type if self.model.graph.node else "no node"

    @property
    def opset(self) -> int:
        """The opset of ai.onnx; 0 where the model imports none."""
        return next((entry.version for entry in self.model.opset_import if entry.domain in ("", "ai.onnx")), 0)

    def inputs(self, data_set: int = 0) -> dict[str, Any]:
        """The inputs of a data set by name: arrays, lists of arrays, or None."""
        initialized = {tensor.name for tensor in self.model.graph.initializer}
        names = [info.name for info in self.model.graph.input if info.name not in initialized]
        return dict(zip(names, map(_decoded, self.data_sets[data_set][0]), strict=False))

    def expected(self, data_set: int = 0) -> list[Any]:
        """The expected outputs of a data set, in the order of the graph's outputs."""
        return [_decoded(value) for value in self.data_sets[data_set][1]]


def _decoded(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


@cache
def node_cases() -> tuple[Case, ...]:
    """onnx.backend.test.case.node, which computes its expected outputs while it is collected."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    return tuple(
        Case(case.name, case.model, [(list(i), list(o)) for i, o in case.data_sets], case.rtol, case.atol)
        for case in found
        if case.model is not None and case.data_sets is not None
    )


@cache
def folder_cases() -> tuple[Case, ...]:
    """The suites of model files."""
    found = [test for folder in FOLDERS for test in load_model_tests(kind=folder)]
    return tuple(
        _read_case(test.name, Path(test.model_dir), test.rtol, test.atol)
        for test in found
        if test.model_dir is not None
    )


def cases_of_releases(root: Path) -> tuple[Case, ...]:
    """The tests in unpacked wheels of other onnx releases, a folder each below `root`; duplicates once.

    Left out are the few whose values are not of the types that their models declare, or that onnx cannot read any more.
    """
    found: dict[bytes, Case | None] = {}
    for file in sorted(root.rglob("data/*/*/model.onnx")):
        content = hashlib.sha256(file.read_bytes()).digest()
        if content not in found:
            release = file.relative_to(root).parts[0]
            try:
                found[content] = _read_case(f"{file.parent.name}@{release}", file.parent, 1e-3, 1e-7)
            except (TypeError, ValueError, DecodeError):
                found[content] = None
    return tuple(case for case in found.values() if case)


def light_cases() -> dict[str, Path]:
    """The networks of onnx's tests, with weights computed by their graphs: name -> model file."""
    folder = Path(onnx.backend.test.__file__).parent / "data" / "light"
    return {file.stem: file for file in sorted(folder.glob("*.onnx"))}


def read_light_case(file: Path) -> Case:
    """A network with the input that onnx's test runner makes for it, a ramp."""
    model = onnx.load(file)
    initialized = {tensor.name for tensor in model.graph.initializer}
    inputs = [info for info in model.graph.input if info.name not in initialized]
    shapes = [[size.dim_value for size in info.type.tensor_type.shape.dim] for info in inputs]
    ramps = [(numpy.arange(numpy.prod(shape)).reshape(shape) / numpy.prod(shape)) for shape in shapes]
    expected = onnx.load_tensor(file.with_name(f"{file.stem}_output_0.pb"))
    return Case(file.stem, model, [([ramp.astype(numpy.float32) for ramp in ramps], [expected])])


def _read_case(name: str, folder: Path, rtol: float, atol: float) -> Case:
    model = onnx.load(folder / "model.onnx")
    data_sets = [
        (
            _read_values(data, "input", [info.type for info in model.graph.input]),
            _read_values(data, "output", [info.type for info in model.graph.output]),
        )
        for data in sorted(folder.glob("test_data_set_*"))
    ]
    return Case(name, model, data_sets, rtol, atol)


def _read_values(folder: Path, kind: str, types: list[onnx.TypeProto]) -> list[Any]:
    files = [folder / f"{kind}_{index}.pb" for index in range(len(types))]
    return [_read_value(file, declared) for file, declared in zip(files, types, strict=True) if file.exists()]


def _read_value(file: Path, declared: onnx.TypeProto) -> Any:
    match declared.WhichOneof("value"):
        case "sequence_type":
            return numpy_helper.to_list(onnx.SequenceProto.FromString(file.read_bytes()))
        case "optional_type":
            return numpy_helper.to_optional(onnx.OptionalProto.FromString(file.read_bytes()))
    return numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes()))
