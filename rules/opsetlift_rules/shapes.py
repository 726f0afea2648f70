"""Operators that keep every element and change only the shape.

Reshape    5: shape attribute -> input, +all dtypes · 13: +bfloat16 · 14: +allowzero
Squeeze    11: axes may be negative · 13: axes attribute -> input · 21: +float8 +int4
Unsqueeze  11: axes may be negative · 13: axes attribute -> input · 21: +float8 +int4
Flatten    9: +all dtypes · 11: axis may be negative · 21: +float8 +int4
Transpose  21: +float8 +int4 · 25: texts only
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy

from opsetlift.rulebook.rule import Fallback, Step, in_turn, unchanged, widen_for_runtime, widen_values
from opsetlift.rulebook.site import (
    Dims,
    Operators,
    Site,
    has_attribute,
    is_constant,
    known_shape,
    list_length,
    pop_attribute,
    static_shape,
    widen_to_kernel,
)
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import (
    END,
    NamedAxes,
    counted_from_front,
    gather_within,
    move_axes_to_an_input,
    move_constant_axes_to_an_attribute,
)
from opsetlift_rules.helpers.dimensions import reshape_exactly
from opsetlift_rules.helpers.dtype_groups import FIRST_FLOATS
from opsetlift_rules.helpers.moving import move_elements
from opsetlift_rules.helpers.separating import put_a_sum_with_zero_before, put_maxima_before
from opsetlift_rules.helpers.zeros import zero

# Reshape


def move_shape_to_an_input(site: Site) -> None:
    """Move the shape of Reshape-1 to an input of Reshape-5."""
    site.remove_attribute("consumed_inputs")
    site.set_input(len(site.inputs), site.constant(pop_attribute(site, "shape", []), "int64", "shape"))


def move_shape_to_an_attribute(site: Site) -> None:
    """Move the shape of Reshape-5 to the attribute of Reshape-1: a constant, or the known shape of the output.

    For other types than floats, which Reshape-1 does not take, Squeeze and Unsqueeze move dimensions of size 1.
    """
    shape = _known_target(site)
    if site.dtype(0) not in FIRST_FLOATS and _dimensions_of_1_come_and_go(site, shape):
        return
    site.remove_input(1)
    site.set_attribute("shape", shape)


def _known_target(site: Site) -> list[int]:
    constant = site.constant_value(1)
    if constant is not None:
        return [int(dim) for dim in constant.reshape(-1)]
    dims = site.shape(site.output(0))
    known = None if dims is None else _with_one_inferred(dims)
    if known is None:
        shown = "not known" if dims is None else f"only known as [{', '.join(str(dim or '?') for dim in dims)}]"
        site.refuse(
            Why.INPUT_NOT_CONSTANT,
            f"Reshape has its shape as an attribute below opset 5; here it is computed at run time, and {shown}",
        )
    return known


def _with_one_inferred(dims: Dims) -> list[int] | None:
    """The dimensions as a Reshape takes them, of which one may be open; None where more are."""
    open_dims = [dim for dim in dims if not isinstance(dim, int)]
    if len(open_dims) > 1 or 0 in dims:
        return None
    return [dim if isinstance(dim, int) else -1 for dim in dims]


def _dimensions_of_1_come_and_go(site: Site, target: list[int]) -> bool:
    """Reshape with Squeeze and Unsqueeze, which take all dtypes, if only dimensions of size 1 change."""
    shape = known_shape(site, 0)
    resolved = None if shape is None else _resolved(target, shape)
    if shape is None or resolved is None or [dim for dim in resolved if dim != 1] != [dim for dim in shape if dim != 1]:
        return False
    op = site.op_at(opsets.AXES_AS_INPUTS)
    value = site.input(0)
    if gone := [position for position, dim in enumerate(shape) if dim == 1]:
        value = op.Squeeze(value, site.constant(gone, "int64"))
    if new := [position for position, dim in enumerate(resolved) if dim == 1]:
        value = op.Unsqueeze(value, site.constant(new, "int64"))
    site.replace(value)
    return True


def _resolved(target: list[int], shape: list[int]) -> list[int] | None:
    """A requested shape with 0 and -1 resolved for an input of static shape; None where it does not fit."""
    if any(dim == 0 and position >= len(shape) for position, dim in enumerate(target)):
        return None
    result = [shape[position] if dim == 0 else dim for position, dim in enumerate(target)]
    rest = math.prod(dim for dim in result if dim != -1)
    if -1 in result:
        if not rest:
            return None
        result[result.index(-1)] = math.prod(shape) // rest
    return result if math.prod(result) == math.prod(shape) else None


def remove_allowzero(site: Site) -> None:
    """Remove allowzero of Reshape-14: below it 0 copies a dimension of the input.

    A 0 that means size 0 makes the result empty: a zero, expanded to the shape.
    """
    if not pop_attribute(site, "allowzero", 0):
        return
    shape = site.constant_value(1)
    if shape is not None:
        target = [int(dim) for dim in shape.reshape(-1)]
        if 0 not in target or _copies_give_zeros(site.shape(0), target):
            return
        site.replace(_empty(site, site.op, site.input(1)))
        return
    dims = known_shape(site, 0)
    if dims is not None and all(dims):
        return
    op = site.op
    # The product of ones and zeros, in a dtype that every runtime multiplies in a reduction.
    not_zero = op.Cast(op.Cast(site.input(1), to="bool"), to="float")
    has_elements = op.Cast(op.ReduceProd(not_zero, keepdims=0), to="bool")
    if site.target < opsets.BRANCHES_OF_DIFFERENT_SHAPES:
        # There the branches of an If would have to give one shape.
        site.replace(_reshaped_and_repeated(site, op, has_elements))
        return
    data, wanted = site.inputs

    def reshaped(inner: Operators) -> list[str]:
        return [inner.Reshape(data, wanted)]

    def empty(inner: Operators) -> list[str]:
        return [_empty(site, inner, wanted)]

    site.replace(op.If(has_elements, then_branch=site.op.subgraph(reshaped), else_branch=site.op.subgraph(empty)))


def _reshaped_and_repeated(site: Site, op: Operators, has_elements: str) -> str:
    """Reshape to the shape; if it has a 0, reshape to dimensions of size 1 and repeat each as often as the shape says.

    For that the empty data gets an element.
    """
    data, wanted = site.inputs
    one = site.constant([1], "int64", "one")
    is_empty = op.Sub(one, op.Cast(has_elements, to="int64"))
    row = op.Reshape(data, site.constant([-1], "int64", "row"))
    filler = op.Tile(site.folded(lambda: str(op.Reshape(zero(site, site.dtype(0)), one)), hint="zero"), is_empty)
    shape = op.Add(wanted, op.Mul(is_empty, op.Sub(one, wanted)))
    repeats = op.Add(one, op.Mul(is_empty, op.Sub(wanted, one)))
    return str(op.Tile(op.Reshape(op.Concat(row, filler, axis=0), shape), repeats))


def _copies_give_zeros(dims: Dims | None, target: list[int]) -> bool:
    if dims is None or len(dims) < len(target):
        return False
    return all(dims[position] == 0 for position, dim in enumerate(target) if dim == 0)


def _empty(site: Site, op: Operators, shape: str) -> str:
    """A tensor of the data's dtype that has no element: of `shape`, which has a 0."""
    return str(op.Expand(zero(site, site.dtype(0)), shape))


# Squeeze and Unsqueeze


def make_axes_non_negative(site: Site) -> None:
    """Make the axes of Squeeze or Unsqueeze non-negative, as versions below 11 require.

    The axes of Unsqueeze count the dimensions of its output.
    """
    axes = site.attribute("axes")
    if not axes or min(axes) >= 0:
        return
    rank = site.rank(0, because="below opset 11 negative axes must be made non-negative")
    if site.node.op_type == "Unsqueeze":
        rank += len(axes)
    site.set_attribute("axes", counted_from_front(site, axes, rank))


def move_squeeze_axes_to_an_attribute(site: Site) -> None:
    """Move the axes of Squeeze-13 to the attribute of Squeeze-11; with axes computed at run time, use Reshape."""
    if not move_constant_axes_to_an_attribute(site):
        _reshape_by_computed_axes(site)


def _reshape_by_computed_axes(site: Site) -> None:
    because = "the axes are computed at run time"
    count = list_length(site, 1, because=because)
    rank = site.rank(0, because=because)
    op = site.op_at(opsets.ALLOWZERO)
    named = NamedAxes(site, op, site.input(1), rank).are_named()
    sizes = op.Shape(site.input(0))
    if count > 1:
        # An axis may be named twice, so that how many dimensions are left shows at run time, too.
        shape = op.Compress(sizes, op.Not(op.Cast(named, to="bool")), axis=0)
    else:
        # For each dimension that is left, the size of the one whose number among those that are kept is the same.
        is_kept = op.Sub(site.constant([1], "int64", "one"), named)
        places = site.constant(numpy.arange(1, rank - count + 1, dtype=numpy.int64)[:, None], hint="places")
        is_here = op.Cast(op.Equal(_numbered(site, op, is_kept, rank), places), to="int64")
        shape = op.ReduceSum(op.Mul(is_here, sizes), site.constant([1], "int64"), keepdims=0)
    site.replace(reshape_exactly(op, site.input(0), shape))


def convert_scalar_axes_to_a_vector(site: Site) -> None:
    """Write scalar axes of Unsqueeze-21 as a vector: 23 requires one, and ONNX's own functions pass a scalar."""
    axes = site.constant_value(1)
    if axes is not None and axes.ndim == 0:
        site.set_input(1, site.constant([int(axes)], "int64"))
    elif axes is None and site.shape(1) == []:
        site.set_input(1, site.op.Reshape(site.input(1), site.constant([1], "int64", "length")))


def _computes_its_dtype(site: Site) -> bool:
    """Whether the runtime computes the operator in the dtype of the node."""
    return site.computes(site.node.op_type, T=site.dtype(0))


def cast_or_remove_allowzero(site: Site) -> None:
    """Reshape in a wider dtype that the runtime computes; else without allowzero, or with copied sizes in numbers."""
    if not _computes_its_dtype(site) and widen_to_kernel(site):
        return
    shape, dims = site.constant_value(1), site.shape(0)
    if has_attribute(site, "allowzero") or shape is None or dims is None or len(shape) > len(dims):
        remove_allowzero(site)
        return
    sizes = [dims[place] if size == 0 else int(size) for place, size in enumerate(shape)]
    written = [size for size in sizes if isinstance(size, int)]
    if 0 not in written and len(written) == len(sizes):
        site.set_input(1, site.constant(written, "int64", "shape"))
        put_a_sum_before_a_volume(site)


def put_a_sum_before_a_volume(site: Site) -> None:
    """Put the Sum with zero before a Reshape of a volume, which runtimes keep in blocks where a Conv computes it."""
    if len(site.shape(0) or ()) > _IMAGE and not is_constant(site, 0):
        put_a_sum_with_zero_before(site)


_IMAGE = 4
"""The rank of images, for which such runtimes have kernels."""


def write_non_negative_axes(site: Site) -> None:
    """Write the axes of Squeeze, non-negative and in order, for runtimes that need them; by default all of size 1.

    A dtype that the runtime does not compute is cast to a wider one, and a scalar comes from a vector, as a runtime may
    end on several axes.
    """
    if not _computes_its_dtype(site) and widen_to_kernel(site):
        return
    if site.shape(site.output(0)) == [] and len(site.shape(0) or ()) > 1:
        vector = site.op.Reshape(site.input(0), site.constant([1], "int64", "one"))
        site.replace(site.op_at(opsets.AXES_AS_INPUTS).Squeeze(vector, site.constant([0], "int64")))
        return
    if has_attribute(site, "axes"):
        make_axes_non_negative(site)
        site.set_attribute("axes", sorted(site.attribute("axes")))
        return
    if len(site.inputs) > 1 and site.input(1):
        _write_axes_input(site)
        return
    dims = static_shape(site, 0, because="without axes all dimensions of size 1 are removed")
    axes = [axis for axis, dim in enumerate(dims) if dim == 1]
    if axes:
        site.replace(site.op_at(opsets.AXES_AS_INPUTS).Squeeze(site.input(0), site.constant(axes, "int64")))
    else:
        site.replace(site.op.Identity(site.input(0)))


def _write_axes_input(site: Site) -> None:
    axes = site.constant_value(1)
    ones = [place for place, size in enumerate(site.shape(0) or []) if size == 1]
    if axes is None and site.shape(1) == [1] and len(ones) == 1 and None not in (site.shape(0) or []):
        # No other axis can be removed.
        site.set_input(1, site.constant(ones, "int64"))
    elif axes is None:
        _reshape_by_computed_axes(site)
    elif axes.size and (axes.min() < 0 or [*axes] != sorted(axes)):
        rank = site.rank(0, because="negative axes count from the last dimension")
        axes_from_front = counted_from_front(site, axes.reshape(-1).tolist(), rank)
        site.set_input(1, site.constant(sorted(axes_from_front), "int64"))


def unsqueeze_one_axis_at_a_time(site: Site) -> None:
    """Add the dimensions of size 1 one by one, by non-negative axes, for runtimes that need one of the two.

    A dtype that the runtime does not compute is cast to a wider one.
    """
    if not _computes_its_dtype(site) and widen_to_kernel(site):
        return
    axes = site.attribute("axes")
    if axes is None:
        given = site.constant_value(1)
        axes = None if given is None else given.reshape(-1).tolist()
    if axes is None or (len(axes) == 1 and axes[0] >= 0):
        return
    rank = site.rank(0, because="negative axes must be made non-negative")
    value, op = site.input(0), site.op_at(opsets.AXES_AS_INPUTS)
    for axis in sorted(counted_from_front(site, axes, rank + len(axes))):
        value = op.Unsqueeze(value, site.constant([axis], "int64", "axes"))
    site.replace(value)


def move_unsqueeze_axes_to_an_attribute(site: Site) -> None:
    """Move the axes of Unsqueeze-13 to the attribute of Unsqueeze-11; with axes computed at run time, use Reshape."""
    if move_constant_axes_to_an_attribute(site):
        return
    because = "the axes are computed at run time"
    count = list_length(site, 1, because=because)
    rank = site.rank(0, because=because) + count
    op = site.op_at(opsets.ALLOWZERO)
    one = site.constant([1], "int64", "one")
    is_old = op.Sub(one, NamedAxes(site, op, site.input(1), rank).are_named())
    # New dimensions have the number 0, the index of the 1.
    sizes = op.Concat(one, op.Shape(site.input(0)), axis=0)
    shape = gather_within(site, sizes, _numbered(site, op, is_old, rank))
    site.replace(reshape_exactly(op, site.input(0), shape))


def _numbered(site: Site, op: Operators, is_counted: str, rank: int) -> str:
    """The dimensions that are counted, by 1 or 0 for each, numbered from 1 on; 0 for the others."""
    up_to_here = op.Mul(site.constant(numpy.tri(rank, dtype=numpy.int64), hint="up_to_here"), is_counted)
    return str(op.Mul(is_counted, op.ReduceSum(up_to_here, site.constant([1], "int64"), keepdims=0)))


# Flatten


def make_axis_non_negative(site: Site) -> None:
    """Make the axis of Flatten non-negative, as versions below 11 require; -rank is 0."""
    axis = site.attribute("axis", 1)
    if axis < 0:
        rank = site.rank(0, because="below opset 11 a negative axis must be made non-negative")
        site.set_attribute("axis", counted_from_front(site, [axis], rank, name="axis")[0])


def flatten_other_types_with_reshape(site: Site) -> None:
    """Replace Flatten-9 of types that Flatten-1 does not take with Reshape."""
    if site.dtype(0) in FIRST_FLOATS:
        return
    axis = site.attribute("axis", 1)
    sizes = known_shape(site, 0)
    op = site.op_at(opsets.ALLOWZERO)
    if sizes is not None:
        matrix = [math.prod(sizes[:axis]), math.prod(sizes[axis:])]
        site.replace(reshape_exactly(op, site.input(0), site.constant(matrix, "int64", "shape")))
        return
    shape = op.Shape(site.input(0))
    bounds = [site.constant([bound], "int64", "bound") for bound in (0, axis, END)]
    parts = [op.Slice(shape, first, last) for first, last in pairwise(bounds)]
    matrix_shape = op.Concat(*(op.ReduceProd(part, keepdims=1) for part in parts), axis=0)
    site.replace(reshape_exactly(op, site.input(0), matrix_shape))


def keep_between_reshapes_or_move_elements(site: Site) -> None:
    """Keep optimisers from moving a Transpose past what reads it; without a kernel, move its elements otherwise.

    One that moves nothing passes its input on, as some take it for one that moves. The order is written down where it
    is left out. One that gives the shape that it reads is kept apart from what is before it, as a Reshape to that is
    left out.
    """
    if not site.computes("Transpose", T=site.dtype(0)):
        move_elements(site)
        return
    op, shape = site.op, known_shape(site, 0)
    order = site.attribute("perm")
    if len(site.shape(0) or ()) == 1 or (order is not None and [*order] == [*range(len(order))]):
        site.replace(op.Identity(site.input(0)))
        return
    if order is None and site.shape(0) is not None:
        site.set_attribute("perm", [*range(len(site.shape(0) or ()))][::-1])
        return
    if shape is not None and len(shape) > _IMAGE - 1 and known_shape(site, site.output(0)) == shape:
        put_maxima_before(site)
        return
    # A size of 0 copies the size that it has.
    value = op.Reshape(site.input(0), op.Shape(site.input(0)))
    moved = op.copy(value)
    site.replace(op.Reshape(moved, op.Shape(moved)))


_AXES_1 = "11 adds negative axes; non-negative axes mean the same"
_PLAIN = "wording only"

_WITHOUT_ALLOWZERO = "without allowzero, 0 in the shape copies a dimension in both"
_VECTOR_OF_AXES = "23 says that axes are a 1D tensor"


def reshape_a_sum_or_take_the_largest_of_one(site: Site) -> None:
    """Change the shape and put a Sum before a volume; a scalar is the largest number of all, or made by Squeeze.

    Else it is kept apart from the node before.
    """
    if known_shape(site, site.output(0)) == []:
        take_the_largest_of_one(site)
        if not site.is_replaced:
            site.replace(site.op_at(opsets.AXES_AS_INPUTS).Squeeze(site.input(0)))
    elif len(site.shape(0) or ()) > _IMAGE:
        read = site.input(0)
        cast_or_remove_allowzero(site)
        if not site.is_replaced and site.input(0) == read:
            put_a_sum_before_a_volume(site)
    else:
        put_maxima_before(site)


def take_the_largest_of_one(site: Site) -> None:
    """Make a scalar of one number as the largest of all, for runtimes that give axes to what is reshaped."""
    shape, dtype = known_shape(site, 0), site.dtype(0)
    if known_shape(site, site.output(0)) != [] or not shape or math.prod(shape) != 1:
        return
    if dtype not in (*FIRST_FLOATS, "bool"):
        return
    op, value = site.op_at(opsets.AXES_OF_SUMS_AS_ATTRIBUTE), site.input(0)
    if dtype == "bool":
        number = op.ReduceMax(op.Cast(value, to="float"), keepdims=0)
        site.replace(op.Greater(number, site.constant(0.5, "float", "half")))
    else:
        site.replace(op.ReduceMax(value, keepdims=0))


STEPS = [
    Step("Reshape", 1, 5, up=move_shape_to_an_input, down=in_turn(move_shape_to_an_attribute, widen_values())),
    Step("Reshape", 13, 14, up=unchanged, down=remove_allowzero, because=_WITHOUT_ALLOWZERO),
    Step("Squeeze", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES_1),
    Step("Squeeze", 11, 13, up=move_axes_to_an_input, down=move_squeeze_axes_to_an_attribute),
    Step("Squeeze", 13, 21, up=unchanged, down=widen_values()),
    Step("Squeeze", 21, 23, up=unchanged, down=unchanged, because="23 says that axes are a 1D tensor"),
    Step("Unsqueeze", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES_1),
    Step("Unsqueeze", 11, 13, up=move_axes_to_an_input, down=move_unsqueeze_axes_to_an_attribute),
    Step("Unsqueeze", 13, 21, up=unchanged, down=widen_values()),
    Step("Unsqueeze", 21, 23, up=convert_scalar_axes_to_a_vector, down=unchanged, because=_VECTOR_OF_AXES),
    Step("Flatten", 1, 9, up=unchanged, down=flatten_other_types_with_reshape, because="9 adds dtypes"),
    Step("Flatten", 9, 11, up=unchanged, down=make_axis_non_negative, because=_AXES_1),
    Step("Flatten", 13, 21, up=unchanged, down=widen_values()),
    Step("Transpose", 13, 21, up=unchanged, down=widen_values(), because="21 states the length of perm"),
    Step("Transpose", 24, 25, up=unchanged, down=unchanged, because="25 says that perm holds axes in [0, rank-1]"),
]

FALLBACKS = [
    Fallback("Flatten", widen_for_runtime()),
    Fallback("Reshape", cast_or_remove_allowzero, otherwise=reshape_a_sum_or_take_the_largest_of_one),
    Fallback("Squeeze", write_non_negative_axes, otherwise=take_the_largest_of_one),
    Fallback("Transpose", keep_between_reshapes_or_move_elements, otherwise=put_maxima_before),
    Fallback("Unsqueeze", unsqueeze_one_axis_at_a_time),
]
