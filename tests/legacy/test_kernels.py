"""The dtypes that onnxruntime.toml has kernels for are those for which each release loads a model of one node.

Releases that are installed are asked (`python -m tests.legacy.runtimes`); a release that is to be added to the file is
measured in the same way.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import ModelProto, NodeProto, helper
from onnx.defs import OpSchema

from opsetlift.specification import history
from opsetlift.specification.dtypes import dtype_of_type, element_type, tensor_type_proto
from opsetlift.specification.history import AI_ONNX, AI_ONNX_ML, Definition
from opsetlift.targets import Target, find_target, has_kernel
from tests.legacy import runtimes

_PROGRAM = """
import json, sys
import onnxruntime
options = onnxruntime.SessionOptions()
for name in ("log_severity_level", "session_log_severity_level"):
    try:
        setattr(options, name, 4)
    except Exception:
        pass
for line in open(sys.argv[1]):
    try:
        onnxruntime.InferenceSession(line.strip(), options)
        said = ""
    except Exception as error:
        said = str(error)
    print(json.dumps([line.strip(), said]), flush=True)
"""

_MISSING = ("Could not find an implementation", "NOT_IMPLEMENTED")

_VALUES: dict[str, Any] = {"INT": 1, "INTS": [1], "FLOAT": 1.0, "FLOATS": [1.0], "STRING": "a", "STRINGS": ["a"]}
_OF_OPERATORS: dict[str, dict[str, Any]] = {
    "BitShift": {"direction": "LEFT"},
    "Concat": {"axis": 0},
    "Einsum": {"equation": "ij,ij->ij"},
    "LRN": {"size": 1},
    "Pad": {"pads": [0, 0]},
    **{operator: {"kernel_shape": [2, 2]} for operator in ("AveragePool", "LpPool", "MaxPool", "MaxUnpool")},
    **{operator: {"hidden_size": 2} for operator in ("GRU", "LSTM", "RNN")},
}
_NOT_ASKED = frozenset(
    [
        *("ConstantOfShape", "EyeLike", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"),
        *("Cast", "Mod", "Resize", "Clip", "MeanVarianceNormalization", "CenterCropPad", "Range", "OneHot"),
        *("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"),
    ]
)
"""Operators whose dtypes hang on attributes or on inputs that may be left out, and function bodies that take fewer
dtypes than their operators: measured by hand."""

_LOST_LATER = frozenset(["MaxUnpool", "Unique"])
"""Operators of which a later release has fewer kernels: the file has those that none has lost."""

_MOST_COMBINATIONS = 200


def _dtypes(definition: Definition) -> Iterator[dict[str, str]]:
    """What the type variables of an operator may stand for together."""
    allowed = {
        variable: sorted(
            dtype
            for one in types
            if (dtype := dtype_of_type(one)) and dtype.startswith(("float", "double", "int", "uint", "bool", "string"))
            if dtype not in ("float16", "int2", "uint2", "int4", "uint4")
            and not dtype.startswith(("float4", "float6", "float8"))
        )
        for variable, types in definition.types_by_variable.items()
    }
    found = itertools.product(*allowed.values())
    for dtypes in itertools.islice(found, _MOST_COMBINATIONS):
        yield dict(zip(allowed, dtypes, strict=True))


def _node(definition: Definition, dtypes: dict[str, str], domain: str, opset: int) -> ModelProto:
    """A model of one node, with the inputs and outputs that it cannot do without."""
    schema = definition.schema
    required = [one for one in schema.inputs if one.option != OpSchema.FormalParameterOption.Optional]
    given = [one for one in schema.outputs if one.option != OpSchema.FormalParameterOption.Optional]
    attributes = {
        name: _VALUES[attribute.type.name]
        for name, attribute in schema.attributes.items()
        if attribute.required and attribute.type.name in _VALUES
    }
    attributes.update(_OF_OPERATORS.get(schema.name, {}))
    node: NodeProto = helper.make_node(
        schema.name,
        [one.name for one in required],
        [f"{one.name}_out" for one in given],
        domain=domain,
        **{name: value for name, value in attributes.items() if name in schema.attributes},
    )
    graph = onnx.GraphProto(name="g", node=[node])
    for parameters, infos, suffix in ((required, graph.input, ""), (given, graph.output, "_out")):
        for one in parameters:
            dtype = dtypes.get(one.type_str) or dtype_of_type(one.type_str) or "float"
            infos.add(name=f"{one.name}{suffix}").type.CopyFrom(tensor_type_proto(dtype, None))
            assert element_type(dtype)
    imports = [helper.make_opsetid(domain, opset)]
    if domain:
        imports.append(helper.make_opsetid(AI_ONNX, 7))
    return helper.make_model(graph, opset_imports=imports, ir_version=4)


def _cases(target: Target) -> Iterator[tuple[str, bool, ModelProto]]:
    for domain, operator, since in sorted(target.kernels):
        taken = target.opsets[domain]
        found = history.history(domain, operator)
        assert found is not None
        opset = max(since, taken.first)
        if opset not in taken or found.since_version(opset) != since or operator in _NOT_ASKED or domain == AI_ONNX_ML:
            continue
        for dtypes in _dtypes(found.definitions[since]):
            name = "_".join([operator, str(since), *dtypes.values()])
            expected = has_kernel(domain, operator, opset, dtypes, target)
            yield name, expected, _node(found.definitions[since], dtypes, domain, opset)


@pytest.mark.parametrize("version", runtimes.VERSIONS)
def test_kernels_are_those_of_the_release(version: str, tmp_path: Path) -> None:
    if not runtimes.python_of(version).exists():
        pytest.skip(f"onnxruntime {version} is not installed: python -m tests.legacy.runtimes {version}")
    expected: dict[str, bool] = {}
    for name, has, model in _cases(find_target(f"onnxruntime=={version}")):
        path = tmp_path / f"{name}.onnx"
        onnx.save(model, path)
        expected[str(path)] = has
    listed = tmp_path / "models.txt"
    listed.write_text("\n".join(expected))
    command = [str(runtimes.python_of(version)), "-c", _PROGRAM, str(listed)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    answers = dict(json.loads(line) for line in ended.stdout.splitlines())
    assert len(answers) > 100, ended.stderr
    wrong = {
        Path(path).stem: said or "it loads"
        for path, said in answers.items()
        # What is refused for another reason says nothing of kernels.
        if (any(one in said for one in _MISSING) and expected[path])
        or (not said and not expected[path] and Path(path).stem.split("_")[0] not in _LOST_LATER)
    }
    assert not wrong
