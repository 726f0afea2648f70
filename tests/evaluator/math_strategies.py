"""Legal nodes of the operators that compute, drawn at random: the operator's version decides attributes and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from hypothesis import strategies as st

from tests.evaluator.onnxruntime_judge import OneNode
from tests.evaluator.tensor_strategies import Draw, axis, ints, numbers, shapes
from tests.evaluator.verdict import schemas

NUMPY_NAMES = {"float": "float32", "double": "float64"}
JUDGED = ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
"""The numeric dtypes that numpy and onnxruntime's Python interface share."""


def dtypes_of(operator: str, opset: int, variable: str = "T") -> list[str]:
    """What the schema in force takes for a type variable, as far as it can be judged."""
    versions = schemas("", operator)
    schema = versions[max(version for version in versions if version <= opset)]
    (allowed,) = (c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == variable)
    names = [name.removeprefix("tensor(").removesuffix(")") for name in allowed]
    return sorted({NUMPY_NAMES.get(name, name) for name in names} & {*JUDGED, "bool"})


def values(draw: Draw, shape: list[int], dtype: str, special: bool = True) -> Any:
    """Small numbers of either sign, multiples of 1/4; NaN, infinities and -0 among floats."""
    if dtype == "bool":
        return numpy.asarray(numbers(draw, shape, "int32") > 0)
    drawn = numbers(draw, shape, "float32" if dtype == "float16" else dtype, special)
    return numpy.asarray(drawn).astype(dtype)


def broadcast_shapes(draw: Draw, count: int) -> list[list[int]]:
    """Shapes that broadcast to one: leading dimensions dropped, others set to 1."""
    whole = shapes(draw)
    result = []
    for _ in range(count):
        kept = whole[draw(st.integers(0, len(whole))) if draw(st.booleans()) else 0 :]
        result.append([draw(st.sampled_from([1, size, size])) for size in kept])
    return result


def unary(operator: str, variable: str = "T", **attributes: st.SearchStrategy[Any]) -> Callable[[int], Any]:
    """A node with one input of any shape; an attribute is left out or drawn."""

    @st.composite
    def strategy(draw: Draw, opset: int) -> OneNode:
        dtype = draw(st.sampled_from(dtypes_of(operator, opset, variable)))
        chosen = {name: draw(value) for name, value in attributes.items() if draw(st.booleans())}
        return OneNode(operator, opset, [values(draw, shapes(draw), dtype)], chosen)

    return strategy


def binary(operator: str, variable: str = "T", divisor: bool = False) -> Callable[[int], Any]:
    """Two operands of one dtype with numpy's broadcasting; the divisor of integers is never 0."""

    @st.composite
    def strategy(draw: Draw, opset: int) -> OneNode:
        dtype = draw(st.sampled_from(dtypes_of(operator, opset, variable)))
        first, second = (values(draw, shape, dtype) for shape in broadcast_shapes(draw, 2))
        if divisor and second.dtype.kind in "iu":
            second = numpy.where(second == 0, 1, second).astype(dtype)
        return OneNode(operator, opset, [first, second])

    return strategy


def variadic(operator: str) -> Callable[[int], Any]:
    @st.composite
    def strategy(draw: Draw, opset: int) -> OneNode:
        dtype = draw(st.sampled_from(dtypes_of(operator, opset)))
        count = draw(st.integers(1, 3))
        every = broadcast_shapes(draw, count) if opset >= 8 else [shapes(draw)] * count
        return OneNode(operator, opset, [values(draw, shape, dtype) for shape in every])

    return strategy


@st.composite
def power(draw: Draw, opset: int) -> OneNode:
    dtype = draw(st.sampled_from(dtypes_of("Pow", opset)))
    exponent_dtype = draw(st.sampled_from(dtypes_of("Pow", opset, "T1"))) if opset >= 12 else dtype
    first, second = broadcast_shapes(draw, 2)
    base, exponent = values(draw, first, dtype), values(draw, second, exponent_dtype)
    if base.dtype.kind == "i":
        # Negative and huge powers of integers are no integers, or none of their dtype.
        exponent = numpy.where(numpy.isfinite(exponent), numpy.abs(exponent) % 5, 0).astype(exponent_dtype)
    return OneNode("Pow", opset, [base, exponent])


@st.composite
def modulo(draw: Draw, opset: int) -> OneNode:
    case = draw(binary("Mod", divisor=True)(opset))
    floating = case.inputs[0].dtype.kind == "f"
    return OneNode("Mod", opset, case.inputs, {"fmod": 1 if floating else draw(st.integers(0, 1))})


@st.composite
def where(draw: Draw, opset: int) -> OneNode:
    condition, first, second = broadcast_shapes(draw, 3)
    dtype = draw(st.sampled_from(["float32", "float64", "int32", "int64", "uint8", "bool"]))
    return OneNode(
        "Where", opset, [values(draw, condition, "bool"), *(values(draw, s, dtype) for s in (first, second))]
    )


@st.composite
def bit_shift(draw: Draw, opset: int) -> OneNode:
    case = draw(binary("BitShift")(opset))
    dtype = case.inputs[0].dtype
    amount = numpy.asarray(case.inputs[1] % dtype.type(8 * dtype.itemsize))
    return OneNode("BitShift", opset, [case.inputs[0], amount], {"direction": draw(st.sampled_from(["LEFT", "RIGHT"]))})


@st.composite
def clip(draw: Draw, opset: int) -> OneNode:
    dtype = draw(st.sampled_from(dtypes_of("Clip", opset)))
    data = values(draw, shapes(draw), dtype)
    low, high = (draw(st.none() | st.integers(-3, 3)) for _ in range(2))
    if opset < 11:
        bounds = {"min": low, "max": high}
        return OneNode("Clip", opset, [data], {key: float(value) for key, value in bounds.items() if value is not None})
    given = [None if value is None else numpy.array(value).astype(dtype) for value in (low, high)]
    while given and given[-1] is None:
        given.pop()
    return OneNode("Clip", opset, [data, *given])


@st.composite
def prelu(draw: Draw, opset: int) -> OneNode:
    dtype = draw(st.sampled_from(dtypes_of("PRelu", opset)))
    shape = shapes(draw, least=1)
    slope = [draw(st.sampled_from([1, size])) for size in shape[draw(st.integers(0, len(shape))) :]]
    return OneNode("PRelu", opset, [values(draw, shape, dtype), values(draw, slope, dtype, special=False)])


@st.composite
def cast(draw: Draw, opset: int) -> OneNode:
    source, target = (draw(st.sampled_from([*JUDGED, "bool", "object"][: 13 if opset >= 9 else 12])) for _ in range(2))
    shape = shapes(draw)
    if source == "object":
        data = numpy.array(
            [str(number) for number in numpy.asarray(numbers(draw, shape, "int32")).reshape(-1)], object
        ).reshape(shape)
        if target != "object" and numpy.dtype(target).kind == "f" and data.size:
            data.reshape(-1)[0] = draw(st.sampled_from(["NaN", "INF", "+inf", "-INF", "3.25", "1e3", "-2.5E-1"]))
    else:
        data = values(draw, shape, source, special=target == "object" or numpy.dtype(target).kind == "f")
        if target != "object" and data.dtype.kind == "f" and numpy.dtype(target).kind == "u":
            data = numpy.asarray(numpy.abs(data))  # out of range is undefined
    number = 8 if target == "object" else int(_element_type(target))
    return OneNode("Cast", opset, [data], {"to": number})


def _element_type(dtype: str) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)))


def reduction(operator: str, input_since: int = 18) -> Callable[[int], Any]:
    @st.composite
    def strategy(draw: Draw, opset: int) -> OneNode:
        dtype = draw(st.sampled_from(dtypes_of(operator, opset)))
        shape = shapes(draw, least=1)
        data = values(draw, shape, dtype)
        keepdims = draw(st.integers(0, 1))
        chosen = None
        if shape and draw(st.booleans()):
            low = -len(shape) if opset >= 11 else 0
            chosen = draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
            chosen = [index + draw(st.sampled_from([0, low])) for index in chosen]
        if opset < input_since:
            return OneNode(operator, opset, [data], {"keepdims": keepdims, **({"axes": chosen} if chosen else {})})
        attributes = {"keepdims": keepdims, "noop_with_empty_axes": draw(st.integers(0, 1))}
        extra = [draw(st.sampled_from([[], [ints([])]]))][0] if chosen is None else [ints(chosen)]
        return OneNode(operator, opset, [data, *extra], attributes)

    return strategy


def arg(operator: str) -> Callable[[int], Any]:
    @st.composite
    def strategy(draw: Draw, opset: int) -> OneNode:
        dtype = draw(st.sampled_from(dtypes_of(operator, opset)))
        shape = shapes(draw, least_rank=1, least=1)
        attributes = {"axis": axis(draw, len(shape), opset >= 11), "keepdims": draw(st.integers(0, 1))}
        if opset >= 12:
            attributes["select_last_index"] = draw(st.integers(0, 1))
        return OneNode(operator, opset, [values(draw, shape, dtype, special=False)], attributes)

    return strategy


@st.composite
def cumulative_sum(draw: Draw, opset: int) -> OneNode:
    dtype = draw(st.sampled_from(dtypes_of("CumSum", opset, "T")))
    shape = shapes(draw, least_rank=1)
    along = numpy.array(axis(draw, len(shape), True), draw(st.sampled_from(["int32", "int64"])))
    attributes = {"exclusive": draw(st.integers(0, 1)), "reverse": draw(st.integers(0, 1))}
    return OneNode("CumSum", opset, [values(draw, shape, dtype, special=False), along], attributes)


def normalizing(operator: str) -> Callable[[int], Any]:
    @st.composite
    def strategy(draw: Draw, opset: int) -> OneNode:
        dtype = draw(st.sampled_from(dtypes_of(operator, opset)))
        shape = shapes(draw, least_rank=1, least=1)
        attributes = {"axis": axis(draw, len(shape), opset >= 11)}
        return OneNode(operator, opset, [values(draw, shape, dtype, special=False)], attributes)

    return strategy


@st.composite
def lp_normalization(draw: Draw, opset: int) -> OneNode:
    case = draw(normalizing("LpNormalization")(opset))
    return OneNode("LpNormalization", opset, case.inputs, {**case.attributes, "p": draw(st.integers(1, 2))})


@st.composite
def matmul(draw: Draw, opset: int) -> OneNode:
    dtype = draw(st.sampled_from(dtypes_of("MatMul", opset)))
    first, second = _product_shapes(draw)
    return OneNode("MatMul", opset, [values(draw, s, dtype, special=False) for s in (first, second)])


def _product_shapes(draw: Draw) -> tuple[list[int], list[int]]:
    rows, inner, columns = (draw(st.integers(1, 4)) for _ in range(3))
    batch = shapes(draw, greatest_rank=2, least=1, greatest=3)
    other = [draw(st.sampled_from([1, size])) for size in batch[draw(st.integers(0, len(batch))) :]]
    first, second = [*batch, rows, inner], [*other, inner, columns]
    if draw(st.booleans()) and draw(st.booleans()):
        first = [inner]
    elif draw(st.booleans()) and draw(st.booleans()):
        second = [inner]
    return first, second


@st.composite
def gemm(draw: Draw, opset: int) -> OneNode:
    dtype = draw(st.sampled_from(dtypes_of("Gemm", opset)))
    rows, inner, columns = (draw(st.integers(1, 4)) for _ in range(3))
    attributes: dict[str, Any] = {name: draw(st.integers(0, 1)) for name in ("transA", "transB")}
    first = [inner, rows] if attributes["transA"] else [rows, inner]
    second = [columns, inner] if attributes["transB"] else [inner, columns]
    third = draw(st.sampled_from([[rows, columns], [1, columns], [rows, 1], [columns], [1], []]))
    if numpy.dtype(dtype).kind == "f":
        attributes.update({name: draw(st.sampled_from([0.5, 1.0, -2.0])) for name in ("alpha", "beta")})
    inputs = [values(draw, shape, dtype, special=False) for shape in (first, second, third)]
    if opset >= 11 and draw(st.booleans()):
        inputs.pop()
    return OneNode("Gemm", opset, inputs, attributes)


@st.composite
def einsum(draw: Draw, opset: int) -> OneNode:
    equation, ranks = draw(
        st.sampled_from(
            [
                ("ij,jk->ik", ["ij", "jk"]),
                ("ij,jk", ["ij", "jk"]),
                ("bij , bjk -> bik", ["bij", "bjk"]),
                ("ii->i", ["ii"]),
                ("ij->ji", ["ij"]),
                ("ij->", ["ij"]),
                ("ba", ["ba"]),
                ("i,j->ij", ["i", "j"]),
                ("...ij,...jk->...ik", ["xij", "xjk"]),
                ("ij,jk,kl->il", ["ij", "jk", "kl"]),
                ("Ai,iA", ["Ai", "iA"]),
            ]
        )
    )
    sizes = {letter: draw(st.integers(1, 3)) for letter in sorted(set("".join(ranks)))}
    dtype = draw(st.sampled_from(["float32", "float64", "int32", "int64"]))
    inputs = [values(draw, [sizes[letter] for letter in term], dtype, special=False) for term in ranks]
    return OneNode("Einsum", opset, inputs, {"equation": equation})


@st.composite
def determinant(draw: Draw, opset: int) -> OneNode:
    size = draw(st.integers(1, 4))
    shape = [*shapes(draw, greatest_rank=2, least=1, greatest=3), size, size]
    return OneNode("Det", opset, [values(draw, shape, "float32", special=False)])


def _scale(draw: Draw, shape: list[int], dtype: str = "float32") -> Any:
    return numpy.array(
        [draw(st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.0])) for _ in range(int(numpy.prod(shape)))], dtype
    ).reshape(shape)


@st.composite
def quantize(draw: Draw, opset: int) -> OneNode:
    dtype = draw(st.sampled_from(["uint8", "int8", "uint16", "int16"] if opset >= 21 else ["uint8", "int8"]))
    shape = shapes(draw, least_rank=1, least=1)
    real = draw(st.sampled_from(["float32", "float16"] if opset >= 19 else ["float32"]))
    data = (values(draw, shape, real, special=False) * numpy.float32(9)).astype(real)
    attributes, parameter = _granularity(draw, opset, shape)
    inputs = [data, _scale(draw, parameter, real)]
    if draw(st.booleans()):
        inputs.append(values(draw, parameter, dtype))
    return OneNode("QuantizeLinear", opset, inputs, attributes)


@st.composite
def dequantize(draw: Draw, opset: int) -> OneNode:
    dtype = draw(st.sampled_from(["uint8", "int8", "int32", *(["uint16", "int16"] if opset >= 21 else [])]))
    shape = shapes(draw, least_rank=1, least=1)
    attributes, parameter = _granularity(draw, opset, shape)
    real = draw(st.sampled_from(["float32", "float16"] if opset >= 19 else ["float32"]))
    inputs = [values(draw, shape, dtype), _scale(draw, parameter, real)]
    if dtype != "int32" and draw(st.booleans()):
        inputs.append(values(draw, parameter, dtype))
    return OneNode("DequantizeLinear", opset, inputs, attributes)


def _granularity(draw: Draw, opset: int, shape: list[int]) -> tuple[dict[str, Any], list[int]]:
    """Attributes, and the shape of scale and zero point: per tensor, per axis or blocked."""
    kind = draw(st.sampled_from(["tensor", "axis", "block"][: 1 if opset < 13 else 2 if opset < 21 else 3]))
    if kind == "tensor":
        return {}, []
    along = axis(draw, len(shape), True)
    if kind == "axis":
        return {"axis": along}, [shape[along]]
    block = draw(st.integers(1, shape[along]))
    blocked = list(shape)
    blocked[along] = -(-shape[along] // block)
    return {"axis": along, "block_size": block}, blocked


@st.composite
def dynamic_quantize(draw: Draw, opset: int) -> OneNode:
    data = values(draw, shapes(draw, least=1), "float32", special=False)
    data.reshape(-1)[0] = 5  # where all is 0, the scale divides 0 by 0
    return OneNode("DynamicQuantizeLinear", opset, [data], output_count=3)


@st.composite
def matmul_integer(draw: Draw, opset: int) -> OneNode:
    first, second = _product_shapes(draw)
    inputs = [values(draw, shape, draw(st.sampled_from(["uint8", "int8"]))) for shape in (first, second)]
    if len(first) == 2 and len(second) == 2 and draw(st.booleans()):
        inputs.append(values(draw, draw(st.sampled_from([[], [first[0]]])), inputs[0].dtype.name))
        inputs.append(values(draw, draw(st.sampled_from([[], [second[1]]])), inputs[1].dtype.name))
    return OneNode("MatMulInteger", opset, inputs)


@st.composite
def qlinear_matmul(draw: Draw, opset: int) -> OneNode:
    first, second = _product_shapes(draw)
    inputs: list[Any] = []
    for shape in (first, second, None):
        dtype = draw(st.sampled_from(["uint8", "int8"]))
        if shape is not None:
            inputs.append(values(draw, shape, dtype))
        inputs += [_scale(draw, []), values(draw, [], dtype)]
    return OneNode("QLinearMatMul", opset, inputs)
