"""Fourier transforms, windows and the mel scale.

DFT                                       17: introduced · 20: axis attribute -> input, the last signal axis by default
STFT                                      17: introduced
HannWindow, HammingWindow, BlackmanWindow 17: introduced
MelWeightMatrix                           17: introduced
"""

from __future__ import annotations

import math
from functools import partial

from opsetlift.rulebook.rule import Fallback, Introduction, RuleLike, Step, as_rule, rounding
from opsetlift.rulebook.site import Operators, Site, dtype_attribute, pop_attribute
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import counted_from_front, gather_within, make_axis_non_negative
from opsetlift_rules.helpers.dimensions import Size, named, numbers_up_to, product, reshaped, size

_ULPS = 32
_BECAUSE = (
    "computed as a product with the DFT matrix in double and rounded once; a kernel may use a fast Fourier transform"
)


def move_axis_to_an_input(site: Site) -> None:
    """Move the axis of DFT-17, 1 by default, to an input of DFT-20."""
    site.set_input(2, site.constant(pop_attribute(site, "axis", 1), "int64", "axis"))


def move_axis_to_an_attribute(site: Site) -> None:
    """Move the axis of DFT-20 to the attribute of DFT-17; with an axis computed at run time, use nested Ifs."""
    if not site.input(2):
        site.set_attribute("axis", -2)
        return
    axis = site.constant_value(2)
    if axis is not None:
        site.remove_input(2)
        site.set_attribute("axis", int(axis.reshape(())))
        return
    rank = site.rank(0, because="the axis is computed at run time, so each axis needs a node of its own")
    attributes = {name: site.attribute(name) for name in ("inverse", "onesided")}

    def along(number: int, op: Operators) -> list[str]:
        if number == rank - 2:
            return [op.DFT(*site.inputs[:2], axis=number, **attributes)]
        places = (site.constant(place, "int64", "place") for place in (number, number - rank))
        is_this = op.Or(*(op.Equal(site.input(2), place) for place in places))
        this = site.op.subgraph(lambda inner: [inner.DFT(*site.inputs[:2], axis=number, **attributes)])
        return [op.If(is_this, then_branch=this, else_branch=site.op.subgraph(partial(along, number + 1)))]

    site.replace(*along(0, site.op))


def compute_dft_with_matmul(site: Site) -> None:
    """Replace DFT-17 with MatMul: each row along the axis times the matrix of cosines and sines, in double."""
    op = site.op_at(opsets.ALLOWZERO)
    dtype, rank = site.dtype(0), site.rank(0, because="the axis of the transform is counted from the front")
    (axis,) = counted_from_front(site, [site.attribute("axis", 1)], rank, name="axis")
    onesided, inverse = (bool(site.attribute(name, 0)) for name in ("onesided", "inverse"))
    parts = _parts(site, rank)
    whole = size(site, op, site.input(0), axis)
    is_real_result = onesided and inverse
    length = _length(site, op, whole, is_real_result)
    bins = _half(site, op, length) if onesided and not inverse else length
    rows = _lesser(site, op, whole, _half(site, op, length) if is_real_result else length)

    value = op.Cast(site.input(0), to="double") if dtype != "double" else site.input(0)
    if rows != whole:
        start, axes = site.constant([0], "int64", "start"), site.constant([axis], "int64")
        value = op.Slice(value, start, op.Unsqueeze(named(site, rows), site.constant([0], "int64")), axes)
    perm = [*(other for other in range(rank - 1) if other != axis), axis, rank - 1]
    head = [size(site, op, site.input(0), other) for other in perm[:-2]]
    value = reshaped(site, op, op.Transpose(value, perm=perm), [*head, product(site, op, [rows, parts])])
    matrix = site.folded(
        lambda: _matrix(site, op, (rows, parts), (bins, 1 if is_real_result else 2), length, inverse),
        "transform",
    )
    value = reshaped(site, op, op.MatMul(value, matrix), [*head, bins, 1 if is_real_result else 2])
    value = op.Transpose(value, perm=[perm.index(position) for position in range(rank)])
    site.replace(op.Cast(value, to=dtype) if dtype != "double" else value)


def _parts(site: Site, rank: int) -> int:
    """1 for real numbers, 2 for complex ones."""
    parts = (site.shape(0) or [None])[-1] if rank else None
    if parts not in (1, 2):
        site.refuse(
            Why.SHAPE_UNKNOWN,
            (
                f"the last dimension of {site.input(0)!r} cannot be inferred; it distinguishes real (1) from "
                "complex (2) numbers"
            ),
        )
    return int(parts)


def _length(site: Site, op: Operators, whole: Size, is_real_result: bool) -> Size:
    if site.input(1):
        known = site.constant_value(1)
        if known is not None:
            return int(known.reshape(()))
        return site.input(1) if site.dtype(1) == "int64" else str(op.Cast(site.input(1), to="int64"))
    if not is_real_result:
        return whole
    if isinstance(whole, int):
        return 2 * (whole - 1)
    two, one = (site.constant(number, "int64", "number") for number in (2, 1))
    return str(op.Mul(two, op.Sub(whole, one)))


def _half(site: Site, op: Operators, length: Size) -> Size:
    """The number of bins of a real signal's spectrum that determine the others."""
    if isinstance(length, int):
        return length // 2 + 1
    two, one = (site.constant(number, "int64", "number") for number in (2, 1))
    return str(op.Add(op.Div(length, two), one))


def _lesser(site: Site, op: Operators, first: Size, second: Size) -> Size:
    if isinstance(first, int) and isinstance(second, int):
        return min(first, second)
    return first if first == second else str(op.Min(named(site, first), named(site, second)))


def _matrix(
    site: Site,
    op: Operators,
    source: tuple[Size, int],
    result: tuple[Size, int],
    length: Size,
    inverse: bool,
) -> str:
    """[rows * parts, bins * parts]: what each part of each row adds to each part of each bin."""
    (rows, parts), (bins, result_parts) = source, result

    def number(value: float) -> str:
        return site.constant(value, "double", "number")

    row, column = (numbers_up_to(site, op, count) for count in (rows, bins))
    turns = op.Mul(op.Unsqueeze(row, site.constant([1], "int64")), column)
    whole = op.Cast(named(site, length), to="double")
    fraction = op.Div(op.Cast(op.Mod(turns, named(site, length)), to="double"), whole)
    angle = op.Mul(fraction, number(2 * math.pi))
    cosine, sine = op.Cos(angle), op.Sin(angle)
    if inverse:
        scale = op.Div(number(1), whole)
        if result_parts == 1:
            # A bin in the left half also counts for its mirror image in the right half.
            twice = op.Cast(op.Mul(row, site.constant(2, "int64", "two")), to="double")
            is_alone = op.Or(op.Equal(twice, number(0)), op.Equal(twice, whole))
            weights = op.Mul(op.Where(is_alone, number(1), number(2)), scale)
            scale = op.Unsqueeze(weights, site.constant([1], "int64"))
        cosine, sine = op.Mul(cosine, scale), op.Neg(op.Mul(sine, scale))
    last = site.constant([2], "int64")
    # Forward: (re + i im) * (cos - i sin).
    blocks = [[cosine, op.Neg(sine)], [sine, cosine]]
    stacked = [
        op.Concat(*(op.Unsqueeze(one, last) for one in block[:result_parts]), axis=2) for block in blocks[:parts]
    ]
    second = site.constant([1], "int64")
    joined = op.Concat(*(op.Unsqueeze(one, second) for one in stacked), axis=1)
    shape = [product(site, op, [rows, parts]), product(site, op, [bins, result_parts])]
    return reshaped(site, op, joined, shape)


def compute_stft_with_matmul(site: Site) -> None:
    """Replace STFT-17: gather the frames, multiply them by the window, then by the DFT matrix.

    Float signal [batch, length, 1 or 2 parts], window [frame_length]; the result is [batch, frames, bins, 2].
    """
    op = site.op_at(opsets.ALLOWZERO)
    dtype = site.dtype(0)
    parts = _parts(site, site.rank(0))
    signal, window = (
        op.Cast(site.input(one), to="double") if site.input(one) and dtype != "double" else site.input(one)
        for one in (0, 2)
    )
    batch, whole = (size(site, op, site.input(0), axis) for axis in (0, 1))
    step = _number(site, op, 1)
    length = size(site, op, site.input(2), 0) if window else whole
    if site.input(3):
        length = _number(site, op, 3)
    count = _frames(site, op, whole, length, step)

    def places() -> str:
        starts = op.Mul(numbers_up_to(site, op, count), named(site, step))
        return str(op.Add(op.Unsqueeze(starts, site.constant([1], "int64")), numbers_up_to(site, op, length)))

    frames = gather_within(site, signal, site.folded(places, "places"), axis=1)
    if window:
        frames = op.Mul(frames, op.Unsqueeze(window, site.constant([1], "int64")))
    bins = _half(site, op, length) if site.attribute("onesided", 1) else length
    matrix = site.folded(lambda: _matrix(site, op, (length, parts), (bins, 2), length, False), "transform")
    flat = reshaped(site, op, frames, [batch, count, product(site, op, [length, parts])])
    result = reshaped(site, op, op.MatMul(flat, matrix), [batch, count, bins, 2])
    site.replace(op.Cast(result, to=dtype) if dtype != "double" else result)


def _number(site: Site, op: Operators, position: int) -> Size:
    known = site.constant_value(position)
    if known is not None:
        return int(known.reshape(()))
    return site.input(position) if site.dtype(position) == "int64" else str(op.Cast(site.input(position), to="int64"))


def _frames(site: Site, op: Operators, whole: Size, length: Size, step: Size) -> Size:
    if isinstance(whole, int) and isinstance(length, int) and isinstance(step, int):
        return (whole - length) // step + 1
    room = op.Sub(named(site, whole), named(site, length))
    return str(op.Add(op.Div(room, named(site, step)), site.constant(1, "int64", "one")))


def _window(*coefficients: float) -> RuleLike:
    """The rule for a window of a0 - a1 cos(t) + a2 cos(2t), in float as in the operator's function body."""

    def compute_window_from_cosines(site: Site) -> None:
        known = site.constant_value(site.output(0))
        if known is not None:
            site.replace(site.constant(known, hint="window"))
            return
        op = site.op_at(opsets.ALLOWZERO)

        def number(value: float) -> str:
            return site.constant(value, "float", "number")

        count = _number(site, op, 0)
        steps = op.Cast(named(site, count), to="float")
        if not site.attribute("periodic", 1):
            steps = op.Sub(steps, number(1))
        numbers = op.Cast(numbers_up_to(site, op, count), to="float")
        angle = op.Mul(numbers, op.Div(number(2 * math.pi), steps))
        a0, a1, *more = coefficients
        value = op.Sub(number(a0), op.Mul(number(a1), op.Cos(angle)))
        for a2 in more:
            value = op.Add(value, op.Mul(number(a2), op.Cos(op.Mul(angle, number(2)))))
        to = dtype_attribute(site, "output_datatype", "float")
        site.replace(op.Cast(value, to=to) if to != "float" else value)

    return as_rule(compute_window_from_cosines)


def fold_constant_weights(site: Site) -> None:
    """Replace MelWeightMatrix-17 with a constant.

    The result is [dft_length // 2 + 1, num_mel_bins], from five scalars.
    """
    known = site.constant_value(site.output(0))
    if known is None:
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                "the edges of the bands are rounded down to whole bins, and below opset 17 the last digits "
                "of powers would decide the bin: make the inputs constant"
            ),
        )
    site.replace(site.constant(known, hint="weights"))


STEPS = [
    Step("DFT", 17, 20, up=move_axis_to_an_input, down=move_axis_to_an_attribute),
]

INTRODUCTIONS = [
    Introduction("DFT", 17, down=rounding(compute_dft_with_matmul, ulps=_ULPS, because=_BECAUSE)),
    Introduction("STFT", 17, down=rounding(compute_stft_with_matmul, ulps=_ULPS, because=_BECAUSE)),
    Introduction("HannWindow", 17, down=_window(0.5, 0.5)),
    Introduction("HammingWindow", 17, down=_window(25 / 46, 21 / 46)),
    Introduction("BlackmanWindow", 17, down=_window(0.42, 0.5, 0.08)),
    Introduction("MelWeightMatrix", 17, down=fold_constant_weights),
]

FALLBACKS = [
    Fallback("DFT", make_axis_non_negative),
]
