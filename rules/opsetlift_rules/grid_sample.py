"""Sampling by a grid.

GridSample  16: introduced · 20: any number of spatial axes; bilinear, bicubic are called linear, cubic · 22: +bfloat16
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from opsetlift.rulebook.rule import Fallback, Introduction, Step, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.dimensions import Size, named
from opsetlift_rules.helpers.sampling import (
    Rows,
    Weigh,
    confined_by_border,
    confined_by_centers,
    confined_by_edges,
    confined_by_zeros,
    cubic_weights,
    linear_weights,
    nearest_on,
    neighbours_on,
)

_NEWER_NAMES = {"bilinear": "linear", "bicubic": "cubic"}
_OLDER_NAMES = {new: old for old, new in _NEWER_NAMES.items()}
_NARROW = ("float16", "bfloat16")

# The text gives no coefficient; this one is that of PyTorch, to which the text refers, and of onnxruntime.
_CUBIC_COEFFICIENT = -0.75

_ULPS = 16
_BECAUSE = "a kernel may add the neighbours' terms in another order"


def rename_the_mode(site: Site) -> None:
    """Rename the modes bilinear (the default) and bicubic of GridSample-16 to linear and cubic of version 20."""
    mode = site.attribute("mode", "bilinear")
    site.remove_attribute("mode")
    if mode != "bilinear":
        site.set_attribute("mode", _NEWER_NAMES.get(mode, mode))


def rename_the_mode_or_decompose(site: Site) -> None:
    """Rename the mode of GridSample-20 for GridSample-16, or decompose a node with another rank than 4."""
    if site.rank(0, because="below opset 20 GridSample accepts only inputs of rank 4") != 4:
        decompose_grid_sample(site)
        return
    mode = site.attribute("mode", "linear")
    site.remove_attribute("mode")
    if mode != "linear":
        site.set_attribute("mode", _OLDER_NAMES.get(mode, mode))


def sample_bfloat16_in_float(site: Site) -> None:
    """Compute GridSample-22 of bfloat16, which GridSample-20 does not take, in float."""
    dtypes = [site.dtype(position) for position in (0, 1)]
    if "bfloat16" not in dtypes:
        return
    op = site.op
    values = [
        op.Cast(name, to="float") if dtype == "bfloat16" else name
        for name, dtype in zip(site.inputs, dtypes, strict=True)
    ]
    sampled = site.op.copy(*values)
    site.replace(op.Cast(sampled, to="bfloat16") if dtypes[0] == "bfloat16" else sampled)


def decompose_grid_sample(site: Site) -> None:
    """Replace GridSample-16: gather, weight and sum the neighbours of each point.

    X [N, C, *spatial] of any dtype, float grid [N, *output, rank]; the result is [N, C, *output].
    """
    op = site.op_at(opsets.ALLOWZERO)
    dtype, grid_dtype = site.dtype(0), site.dtype(1)
    mode = _NEWER_NAMES.get(site.attribute("mode", "linear"), site.attribute("mode", "linear"))
    precision = "double" if "double" in (dtype, grid_dtype) else "float"
    compute_dtype = dtype if mode == "nearest" else _compute_dtype(site, dtype, mode)
    data = op.Cast(site.input(0), to=compute_dtype) if compute_dtype != dtype else site.input(0)
    grid = op.Cast(site.input(1), to=precision) if grid_dtype != precision else site.input(1)

    rows = Rows(site, op, data, compute_dtype)
    rank = len(rows.spatial)
    confine = _confine(site)
    axes = []
    for axis, length in enumerate(rows.spatial):
        # The grid lists the coordinates from the innermost axis to the outermost.
        position = site.constant(rank - 1 - axis, "int64", "coordinate")
        points = _places(site, op, op.Gather(grid, position, axis=-1), length, precision)
        bring = partial(confine, site, op, length=length, dtype=precision)
        if mode == "nearest":
            axes.append(nearest_on(site, op, points, precision, bring))
        else:
            axes.append(neighbours_on(site, op, points, precision, bring, _weigh(site, op, mode, precision)))
    leading = rank + 1
    terms = rows.read(axes, leading)
    summed = list(range(leading, leading + rank))
    if mode == "nearest":
        value = op.Squeeze(terms, site.constant(summed, "int64"))
    else:
        site.rounds()
        value = op.ReduceSum(terms, site.constant(summed, "int64"), keepdims=0)
    value = op.Transpose(value, perm=[0, leading, *range(1, leading)])
    site.replace(op.Cast(value, to=dtype) if compute_dtype != dtype else value)


def _compute_dtype(site: Site, dtype: str, mode: str) -> str:
    if dtype in ("float", "double"):
        return dtype
    if dtype not in _NARROW:
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                f"{mode} interpolation of {dtype} truncates averages, and the result depends on the order of "
                "additions in the runtime"
            ),
        )
    return "float"


def _weigh(site: Site, op: Operators, mode: str, dtype: str) -> Weigh:
    if mode not in ("linear", "cubic"):
        site.refuse(Why.INVALID_MODEL, f"the specification defines no mode {mode!r}")
    if mode == "linear":
        return Weigh(1, lambda distance: linear_weights(site, op, distance, dtype))
    return Weigh(2, lambda distance: cubic_weights(site, op, distance, dtype, _CUBIC_COEFFICIENT))


def _confine(site: Site) -> Callable[..., tuple[str, str | None]]:
    mode = site.attribute("padding_mode", "zeros")
    if mode == "reflection":
        return confined_by_centers if site.attribute("align_corners", 0) else confined_by_edges
    if mode not in ("zeros", "border"):
        site.refuse(Why.INVALID_MODEL, f"the specification defines no padding_mode {mode!r}")
    return confined_by_zeros if mode == "zeros" else confined_by_border


def _places(site: Site, op: Operators, normalized: str, length: Size, dtype: str) -> str:
    """Map -1 .. 1 to the centers of the outermost elements, or to their outer edges."""
    one, two = (site.constant(number, dtype, "number") for number in (1, 2))
    whole = site.folded(lambda: op.Cast(named(site, length), to=dtype))
    shifted = op.Add(normalized, one)
    if site.attribute("align_corners", 0):
        last = site.folded(lambda: op.Sub(whole, one))
        return str(op.Mul(op.Div(shifted, two), last))
    return str(op.Div(op.Sub(op.Mul(shifted, whole), one), two))


_RENAME_THE_MODE_OR_DECOMPOSE = rounding(
    rename_the_mode_or_decompose,
    ulps=_ULPS,
    when="inputs of another rank than 4 are sampled, and the mode is not nearest",
    because=_BECAUSE,
)

STEPS = [
    Step("GridSample", 16, 20, up=rename_the_mode, down=_RENAME_THE_MODE_OR_DECOMPOSE),
    Step("GridSample", 20, 22, up=unchanged, down=sample_bfloat16_in_float),
]

_DECOMPOSE_GRID_SAMPLE = rounding(decompose_grid_sample, ulps=_ULPS, when="the mode is not nearest", because=_BECAUSE)

INTRODUCTIONS = [
    Introduction("GridSample", 16, down=_DECOMPOSE_GRID_SAMPLE),
]

FALLBACKS = [
    Fallback("GridSample", _DECOMPOSE_GRID_SAMPLE),
]
