"""The operators of ai.onnx.ml that prepare features: selection, scaling, imputation, encoding."""

from __future__ import annotations

import numpy

from opsetlift.evaluator.kernels.accumulation import total
from opsetlift.evaluator.kernels.ml_scores import one_of
from opsetlift.evaluator.kernels.numeric import is_float
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

_DOMAIN = "ai.onnx.ml"


@kernel("ArrayFeatureExtractor", since=(1,), domain=_DOMAIN)
def array_feature_extractor(call: Call, x: Array, y: Array) -> Array:
    """ArrayFeatureExtractor-1: Columns of x.

    x [*shape, features] of any dtype of the version, int64 indices [n]. [features] counts as one row: the output is
    [1, n], as the operator's shape inference has it.
    """
    if x.ndim == 0:
        call.fail("the input must have at least one axis")
    indices = y.reshape(-1)
    if indices.size and not (indices.min() >= 0 and indices.max() < x.shape[-1]):
        call.fail(f"the indices must be in [0, {x.shape[-1]})")
    return numpy.take(x[None] if x.ndim == 1 else x, indices, axis=-1)


@kernel("Binarizer", since=(1,), domain=_DOMAIN)
def binarizer(call: Call, x: Array) -> Array:
    """Binarizer-1: 1 above the threshold, else 0; numbers [*shape]."""
    return numpy.asarray(x > call.attributes["threshold"]).astype(x.dtype)


@kernel("FeatureVectorizer", since=(1,), domain=_DOMAIN)
def feature_vectorizer(call: Call, *inputs: Array) -> Array:
    """FeatureVectorizer-1: Matrices joined by their columns.

    Numbers [N, C], or [C] for [1, C]. The output is float32 [N, sum of C].
    """
    matrices = [x[None] if x.ndim == 1 else x for x in inputs]
    if any(matrix.ndim != 2 or matrix.shape[0] != matrices[0].shape[0] for matrix in matrices):
        call.fail("all inputs must be 2-D (1-D ones are [1, C]) with equal first dimensions")
    sizes = call.attributes.get("inputdimensions")
    if sizes and list(sizes) != [matrix.shape[1] for matrix in matrices]:
        call.fail(f"inputdimensions {list(sizes)} must be the sizes of the inputs")
    return numpy.concatenate(matrices, axis=1).astype(numpy.float32)


@kernel("Imputer", since=(1,), domain=_DOMAIN)
def imputer(call: Call, x: Array) -> Array:
    """Imputer-1: x [*shape, features] with one value replaced by others.

    The attributes name the value to replace, and one value to take, or one for each feature.
    """
    kind = ("imputed_value_floats", "replaced_value_float")
    if not is_float(x.dtype):
        kind = ("imputed_value_int64s", "replaced_value_int64")
    name, imputed = one_of(call, "imputed_value_floats", "imputed_value_int64s")
    if name != kind[0]:
        call.fail(f"{kind[0]} should be defined for {x.dtype}")
    values = numpy.array(imputed).astype(x.dtype)
    features = x.shape[-1] if x.ndim else 1
    if values.size not in (1, features):
        call.fail(f"{name} must have 1 element or one per feature ({features}), not {values.size}")
    replaced = x.dtype.type(call.attributes[kind[1]])
    missing = x != x if replaced != replaced else x == replaced
    return numpy.where(missing, values, x)


@kernel("Normalizer", since=(1,), domain=_DOMAIN)
def normalizer(call: Call, x: Array) -> Array:
    """Normalizer-1: Rows divided by their norm.

    L1 and L2 divide by the norms of those names, as both onnx.reference and onnxruntime do. The formulas in the text
    ("X / sum(X)", "sqrt(X^2 / sum(X^2)}") are the same for positive values and lose the signs of others.

    Args:
        call: norm is MAX, L1 or L2.
        x: Numbers [N, C] or [C].

    Returns:
        float32, of the shape of x.
    """
    if x.ndim not in (1, 2):
        call.fail(f"the input must have the shape [N,C] or [C], not {list(x.shape)}")
    norm = call.attributes["norm"]
    wide = x.astype(numpy.float64)
    if norm == "MAX":
        divisor = wide.max(axis=-1, keepdims=True, initial=-numpy.inf)
    elif norm == "L1":
        divisor = total(numpy.abs(wide), (wide.ndim - 1,), keepdims=True)
    elif norm == "L2":
        divisor = numpy.sqrt(total(numpy.square(wide), (wide.ndim - 1,), keepdims=True))
    else:
        call.fail(f"norm must be MAX, L1 or L2, not {norm!r}")
    return numpy.where(divisor == 0, wide, wide / divisor).astype(numpy.float32)


@kernel("OneHotEncoder", since=(1,), domain=_DOMAIN)
def one_hot_encoder(call: Call, x: Array) -> Array:
    """OneHotEncoder-1: 1 for the category of each element, else 0.

    x [*shape], numbers or strings like the categories. The output is float32 [*shape, categories].
    """
    name, categories = one_of(call, "cats_int64s", "cats_strings")
    if (x.dtype == object) != (name == "cats_strings"):
        call.fail(f"{name} cannot encode this type of input")
    if x.dtype == object:
        known = numpy.array(categories, dtype=object)
    else:
        known, x = numpy.array(categories, numpy.int64), x.astype(numpy.int64)
    encoded = numpy.asarray(x[..., None] == known)
    if not call.attributes["zeros"] and not encoded.any(axis=-1).all():
        call.fail("a category is not found and zeros is false")
    return encoded.astype(numpy.float32)


@kernel("Scaler", since=(1,), domain=_DOMAIN)
def scaler(call: Call, x: Array) -> Array:
    """Scaler-1: (x - offset) * scale, in float32.

    Numbers [*shape, features]; offset and scale have one value, or one for each feature.
    """
    features = x.shape[-1] if x.ndim else 1
    parameters = []
    for name, neutral in (("offset", 0.0), ("scale", 1.0)):
        values = numpy.array(call.attributes.get(name) or [neutral], numpy.float64)
        if values.size not in (1, features):
            call.fail(f"{name} must have 1 element or one per feature ({features}), not {values.size}")
        parameters.append(values)
    offset, scale = parameters
    return numpy.asarray((x.astype(numpy.float64) - offset) * scale).astype(numpy.float32)
