"""The kinds of things that callers give for a model, and how a result is given back in the same kind.

What belongs to a package that is not needed otherwise is told by that package being imported already, or by its
attributes: nothing is imported to find out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

from onnx import ModelProto

from opsetlift.model.files import ModelFileError, check_tensors, form_of, load_model, model_bytes, model_from, reason

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs
    import onnx_ir


@runtime_checkable
class Readable(Protocol):
    """A file that is open for reading bytes."""

    def read(self) -> bytes:
        """Everything that is left."""
        ...


@runtime_checkable
class Exported(Protocol):
    """What `torch.onnx.export` returns, a `torch.onnx.ONNXProgram`."""

    exported_program: Any
    model: Any
    """An `onnx_ir.Model`."""


_Stored: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | Readable"
Model: TypeAlias = "ModelProto | _Stored | gs.Graph | onnx_ir.Model | Exported"
"""Whatever is taken for a model."""


def _as_it_is(model: ModelProto) -> ModelProto:
    return model


@dataclass(frozen=True)
class Opened:
    """A model that was given.

    Attributes:
        model: The model. It belongs to the caller.
        base_dir: The folder of its external data; "" where none is known.
        give_back: Makes of a result what was given.
    """

    model: ModelProto
    base_dir: str
    give_back: Callable[[ModelProto], Any] = _as_it_is


def opened(given: Model, base_dir: str = "") -> Opened:
    """The model that a caller gives.

    Args:
        given: A ModelProto, a path, bytes, an open file, a `gs.Graph`, an `onnx_ir.Model` or an `ONNXProgram`.
        base_dir: The folder of the external data; by default that of the file.

    Raises:
        ModelFileError: It cannot be read, or the data of a tensor does not fit its shape.
        TypeError: It is nothing of this.
    """
    found = _opened(given, base_dir)
    if not isinstance(given, (str, os.PathLike)):  # of files, `load_model` has told
        check_tensors(found.model, Path(found.base_dir) if found.base_dir else None)
    return found


def _opened(given: Model, base_dir: str) -> Opened:
    if isinstance(given, ModelProto):
        return Opened(given, base_dir)
    if isinstance(given, (str, os.PathLike)):
        return Opened(load_model(Path(given)), base_dir or str(Path(given).absolute().parent))
    if isinstance(given, (bytes, bytearray, memoryview)):
        model = model_from(bytes(given), "the bytes", folder=Path(base_dir) if base_dir else None)
        return Opened(model, base_dir, model_bytes)
    if _is_graph(given):
        from opsetlift.normalizer import to_graph, to_model

        return Opened(to_model(given, in_order=True), base_dir, partial(to_graph, base_dir=base_dir))
    if _is_ir_model(given):
        return _of_ir_model(given, base_dir)
    if isinstance(given, Exported) and _is_ir_model(given.model):
        found = _of_ir_model(given.model, base_dir)
        return Opened(
            found.model, found.base_dir, partial(_program, found.give_back, type(given), given.exported_program)
        )
    if isinstance(given, Readable):
        return _of_file(given, base_dir)
    kinds = "a ModelProto, a path, bytes, an open file, a gs.Graph, an onnx_ir.Model or a torch.onnx.ONNXProgram"
    raise TypeError(f"a model must be {kinds}, not {type(given).__name__}")


def _is_graph(given: object) -> TypeGuard[gs.Graph]:
    graphsurgeon = sys.modules.get("onnx_graphsurgeon")
    return graphsurgeon is not None and isinstance(given, graphsurgeon.Graph)


def _is_ir_model(given: object) -> TypeGuard[onnx_ir.Model]:
    ir = sys.modules.get("onnx_ir")
    return ir is not None and isinstance(given, ir.Model)


def _of_ir_model(given: onnx_ir.Model, base_dir: str) -> Opened:
    import onnx_ir

    folders = {
        os.path.abspath(value.const_value.base_dir)
        for graph in given.graphs()
        for value in graph.initializers.values()
        if isinstance(value.const_value, onnx_ir.ExternalTensor) and value.const_value.base_dir
    }
    if not base_dir and len(folders) > 1:
        raise ModelFileError(f"the model's external data lies in {len(folders)} folders; load it first")
    folder = base_dir or next(iter(folders), "")
    return Opened(onnx_ir.to_proto(given), folder, partial(ir_model, base_dir=folder))


def ir_model(model: ModelProto, base_dir: str) -> onnx_ir.Model:
    """A model as an `onnx_ir.Model`, whose external data lies in a folder."""
    import onnx_ir

    made = onnx_ir.from_proto(model)
    if base_dir:
        onnx_ir.external_data.set_base_dir(made.graph, base_dir)
    return made


def _program(make: Callable[[ModelProto], Any], kind: type[Any], exported_program: Any, model: ModelProto) -> Any:
    """Another program: one that has run keeps a session of its model."""
    return kind(make(model), exported_program)


def _of_file(given: Readable, base_dir: str) -> Opened:
    try:
        content: object = given.read()
    except (OSError, ValueError) as error:  # ValueError: the file is closed, or was decoded as text
        raise ModelFileError(f"the open file cannot be read: {reason(error)}") from error
    if not isinstance(content, bytes):
        raise ModelFileError(f"the open file gives {type(content).__name__}, not bytes: open it in binary mode")
    name = getattr(given, "name", None)
    if not isinstance(name, str) or not os.path.isfile(name):
        return Opened(model_from(content, "the open file", folder=Path(base_dir) if base_dir else None), base_dir)
    folder = base_dir or str(Path(name).absolute().parent)
    return Opened(model_from(content, name, form=form_of(Path(name)), folder=Path(folder)), folder)
