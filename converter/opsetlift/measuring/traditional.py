"""Nodes of operators of ai.onnx.ml of which ONNX has no tests, as converters of scikit-learn and others write them.

Their operands are few, so that a case tells of the operator and its dtypes: one pipeline has several of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy
from onnx import ModelProto, parser

from opsetlift.model.arrays import Array

_FOREST = """nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [1, 0, 0],
    nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0],
    nodes_falsenodeids = [2, 0, 0]"""
_TARGETS = "target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 0], target_weights = [1.0, 2.0]"
_CLASSES = """class_treeids = [0, 0, 0, 0, 0, 0], class_nodeids = [1, 1, 1, 2, 2, 2], class_ids = [0, 1, 2, 0, 1, 2],
    class_weights = [0.75, 0.25, 0.5, 0.125, 0.875, 0.5]"""
_VECTORS = "support_vectors = [1.0, 2.0, 3.0, -1.0], rho = [0.125]"
_KERNEL = 'kernel_type = "{}", kernel_params = [0.5, 0.25, 2.0]'
_LINEAR = "coefficients = [1.0, -2.0, 0.5, 0.25], intercepts = [0.125, -0.5]"

_ROWS = numpy.array([[1, 2], [-3, 1], [0, 4]], numpy.float32)
_WORDS = numpy.array([["a", "b"], ["b", "c"]], object)

_NODES: tuple[tuple[str, Array], ...] = (
    ("y = Imputer <imputed_value_floats = [1.5, 2.0], replaced_value_float = 0.0> (x)", _ROWS),
    ("y = Imputer <imputed_value_int64s = [7], replaced_value_int64 = 0> (x)", _ROWS.astype(numpy.int64)),
    *((f'y = Normalizer <norm = "{norm}"> (x)', _ROWS) for norm in ("MAX", "L1", "L2")),
    ("y = Scaler <offset = [0.5, 1.0], scale = [2.0, 0.25]> (x)", _ROWS),
    ("y = Scaler <offset = [0.5], scale = [2.0]> (x)", _ROWS),
    ("y = OneHotEncoder <cats_int64s = [1, 0, 4]> (x)", _ROWS.astype(numpy.int64)),
    ('y = OneHotEncoder <cats_strings = ["a", "b"]> (x)', _WORDS),
    ('y = LabelEncoder <keys_strings = ["a", "b"], values_floats = [0.5, 2.0]> (x)', _WORDS),
    *(
        (f'y = LinearRegressor <targets = 2, {_LINEAR}, post_transform = "{transform}"> (x)', _ROWS)
        for transform in ("NONE", "LOGISTIC", "SOFTMAX")
    ),
    *(
        (f'l, y = LinearClassifier <{_LINEAR}, {labels}, post_transform = "{transform}"> (x)', _ROWS)
        for labels in ("classlabels_ints = [3, 5]", 'classlabels_strings = ["a", "b"]')
        for transform in ("NONE", "LOGISTIC", "SOFTMAX")
    ),
    *(
        (
            f"y = SVMRegressor <{_KERNEL.format(kernel)}, coefficients = [1.0, -0.5], n_supports = 2, {_VECTORS}> (x)",
            _ROWS,
        )
        for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID")
    ),
    *(
        (
            f"l, y = SVMClassifier <{_KERNEL.format(kernel)}, coefficients = [1.0, -0.5], vectors_per_class = [1, 1], "
            f"classlabels_ints = [3, 5], {_VECTORS}{probabilities}> (x)",
            _ROWS,
        )
        for kernel in ("LINEAR", "RBF")
        for probabilities in ("", ", prob_a = [-1.5], prob_b = [0.25]")
    ),
    (f"y = TreeEnsembleRegressor <{_FOREST}, {_TARGETS}, n_targets = 1> (x)", _ROWS),
    *(
        (f"l, y = TreeEnsembleClassifier <{_FOREST}, {_CLASSES}, {labels}> (x)", _ROWS)
        for labels in ("classlabels_int64s = [3, 5, 7]", 'classlabels_strings = ["a", "b", "c"]')
    ),
)


def traditional_models() -> Iterator[tuple[ModelProto, Array]]:
    """Models of one node, each with the value of its one input."""
    for node, value in _NODES:
        outputs, _, rest = node.partition(" = ")
        declared = ", ".join(f"float {name}" for name in outputs.split(", "))
        head = '<ir_version: 8, opset_import: ["": 15, "ai.onnx.ml": 2]> traditional (float x)'
        yield parser.parse_model(f"{head} => ({declared}) {{ {outputs} = ai.onnx.ml.{rest} }}"), value
