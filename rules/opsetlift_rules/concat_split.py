"""Tensors joined along an axis, and taken apart again.

Concat  4: axis required, was 1 by default, +all dtypes · 11: axis may be negative · 13: +bfloat16
Split   2: lengths by attribute only, +all dtypes · 11: axis may be negative · 13: lengths attribute -> input,
        +bfloat16 · 18: +num_outputs, the last part may be smaller
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, groupby, pairwise

from opsetlift.rulebook.rule import Fallback, Step, in_turn, unchanged, widen_values
from opsetlift.rulebook.site import Operators, Site, has_attribute, is_constant, pop_attribute, widen_to_kernel
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.attributes import replace_with_attributes
from opsetlift_rules.helpers.axes import counted_from_front
from opsetlift_rules.helpers.counting import endless
from opsetlift_rules.helpers.dtype_groups import FIRST_FLOATS, FLOATING


def write_default_axis(site: Site) -> None:
    """Write axis=1, the default of Concat-1: Concat-4 requires the attribute."""
    if not has_attribute(site, "axis"):
        site.set_attribute("axis", 1)


def make_axis_non_negative(site: Site) -> None:
    """Make the axis of Concat or Split non-negative, as versions below 11 require."""
    axis = site.attribute("axis", 0)
    if axis >= 0:
        return
    values = [*filter(None, site.inputs), *filter(None, site.node.output)]
    known = next((value for value in values if site.shape(value) is not None), values[0])
    rank = site.rank(known, because="below opset 11 a negative axis must be made non-negative")
    site.set_attribute("axis", counted_from_front(site, [axis], rank, name="axis")[0])


def concatenate_what_has_elements(site: Site) -> None:
    """Leave out what has no elements along the axis, which some runtimes do not join; else, change the axis.

    Where the run decides what has elements, a Loop joins it, or does not run. What is joined with itself is another
    value the second time, which optimisers do not take for one.
    """
    axis, rank = site.attribute("axis", 1), site.rank(0, because="the axis is counted from the front")
    (place,) = counted_from_front(site, [axis], rank, name="axis")
    joined = [one for one in site.inputs if (site.shape(one) or [None] * rank)[place] != 0]
    has_repeats, dtype = len({*joined}) < len(joined), site.dtype(0)
    if joined and len(joined) < len(site.inputs):
        site.replace(site.op.copy(*joined) if len(joined) > 1 else site.op.Identity(*joined))
    elif has_repeats and dtype in FIRST_FLOATS and site.computes("Max", T=dtype):
        site.replace(site.op.copy(*_each_named_once(site)))
    elif axis >= 0 and not all(_has_elements(site, one, place) for one in joined):
        site.replace(_joined_in_loops(site, place))
    else:
        concatenate_along_the_last_axis(site, axis, place, rank)


def _each_named_once(site: Site) -> Iterator[str]:
    op, value_before = site.op_at(opsets.BFLOAT16), dict.fromkeys(site.inputs, "")
    for value in site.inputs:
        last = value_before[value]
        value_before[value] = op.Max(last, last) if last else value
        yield value_before[value]


def _has_elements(site: Site, value: str, axis: int) -> bool:
    dims = site.shape(value)
    return dims is not None and isinstance(dims[axis], int) and dims[axis] != 0


def _joined_in_loops(site: Site, axis: int) -> str:
    """The inputs, each joined with those before it; neighbours of known sizes at once."""
    parts: list[tuple[str, bool]] = []
    for has_elements, group in groupby(site.inputs, lambda value: _has_elements(site, value, axis)):
        values = list(group)
        if has_elements and len(values) > 1:
            values = [site.op.copy(*values)]
        parts += [(value, has_elements) for value in values]
    (joined, is_known), *others = parts
    for part, has_elements in others:
        open_ones = [value for value, known in ((joined, is_known), (part, has_elements)) if not known]
        joined, is_known = _join_two(site, site.op, (joined, part), open_ones, axis), is_known or has_elements
    return joined


def _join_two(site: Site, op: Operators, values: tuple[str, str], open_ones: list[str], axis: int) -> str:
    """Join two values; where one of the open ones turns out to have no elements, the result is the other value.

    The Loop runs once or not at all: its state may change its shape, unlike what branches of an If give below opset 11.
    """
    if not open_ones:
        # By the copies a runtime's data tell that this runs only where both have elements.
        return str(op.copy(*map(op.Identity, values), axis=axis))
    one, *others = open_ones
    other = values[1] if one == values[0] else values[0]
    dtype, dims = site.dtype(0), list(site.shape(0) or [])
    dims[axis] = None

    def both(inner: Operators, number: str, going: str, state: str) -> list[str]:
        return [going, _join_two(site, inner, values, others, axis)]

    size = op.Gather(op.Shape(one), site.constant(axis, "int64", "axis"), axis=0)
    runs = op.Cast(op.Cast(size, to="bool"), to="int64")
    body = site.op.subgraph(both, takes=[("int64", ()), ("bool", ()), (dtype, dims)])
    joined = str(op.Loop(runs, endless(site), other, body=body))
    site.op.declare(joined, dtype, dims)
    return joined


def concatenate_along_the_last_axis(site: Site, axis: int, place: int, rank: int) -> None:
    """Make the axis non-negative; where it is, join along the last axis, between two transpositions.

    For runtimes that join other values than they should along an axis before it. Along the last axis, copies are
    joined: some runtimes take an input of the model otherwise.
    """
    op = site.op
    if axis < 0 or place == rank - 1:
        is_copied = place == rank - 1 and site.dtype(0) in FLOATING
        copies = [op.Identity(one) if is_copied and not is_constant(site, one) else one for one in site.inputs]
        site.replace(op.copy(*copies, axis=place))
        return
    perm = list(range(rank))
    perm[place], perm[-1] = perm[-1], perm[place]
    moved = [
        op.Transpose(value, perm=perm)
        if (known := site.content(value)) is None
        else site.constant(known.transpose(perm))
        for value in site.inputs
    ]
    site.replace(op.Transpose(op.Concat(*moved, axis=rank - 1), perm=perm))


def move_optional_lengths_to_an_attribute(site: Site) -> None:
    """Move the lengths of Split-1 from the optional input to the attribute, the only place in Split-2.

    The text of version 1 has the input as floats.
    """
    if site.input(1):
        lengths = site.constant_value(1)
        if lengths is None:
            site.refuse(
                Why.INPUT_NOT_CONSTANT,
                f"the lengths become an attribute at opset {site.opset}, but {site.input(1)!r} is computed at run time "
                "or can be overridden by a caller",
            )
        site.remove_input(1)
        site.set_attribute("split", [int(length) for length in lengths.reshape(-1)])


def write_the_axis(site: Site) -> None:
    """Write axis=0, the default of Split-2: Split-1 has none."""
    if not has_attribute(site, "axis"):
        site.set_attribute("axis", 0)


def split_other_types_with_slice(site: Site) -> None:
    """Replace Split-2 of types that Split-1 does not take with Slice-1, which takes all."""
    lengths = site.attribute("split") or _equal_lengths(site)
    if site.dtype(0) in FIRST_FLOATS or lengths is None:
        return
    axis = site.attribute("axis", 0)
    ends = list(accumulate(lengths))
    op = site.op
    site.replace(
        *(
            op.Slice(site.input(0), axes=[axis], starts=[end - length], ends=[end])
            for end, length in zip(ends, lengths, strict=True)
        )
    )


def split_with_slice(site: Site) -> None:
    """Split in a type that the runtime supports, or else with one Slice for each part; say which axis it is, first."""
    if not has_attribute(site, "axis"):
        replace_with_attributes(site, axis=0)
        return
    if site.shape(0) is not None:
        make_axis_non_negative(site)
    if not site.computes("Split", T=site.dtype(0)) and widen_to_kernel(site):
        return
    if site.input(1) and not is_constant(site, 1):
        _slices_of_computed_lengths(site)
        return
    known = site.constant_value(1) if site.input(1) else None
    lengths = site.attribute("split") if known is None else known.reshape(-1).tolist()
    dimension, count = _dimension(site), len(site.node.output)
    if not lengths and dimension is not None:
        # Rounded up: from 18 on the last part may be smaller.
        full = -(-dimension // count)
        lengths = [max(0, min(full, dimension - place * full)) for place in range(count)]
    if not lengths:
        return
    ends = list(accumulate(lengths))
    op, axis = site.op_at(opsets.BFLOAT16), site.constant([site.attribute("axis", 0)], "int64")
    bounds = [site.constant([bound], "int64", "bound") for bound in [0, *ends]]
    site.replace(*(op.Slice(site.input(0), start, end, axis) for start, end in pairwise(bounds)))


def _dimension(site: Site) -> int | None:
    """The size of the axis that is split, if known."""
    dims = site.shape(0)
    axis = site.attribute("axis", 0)
    dim = dims[axis] if dims is not None and -len(dims) <= axis < len(dims) else None
    return dim if isinstance(dim, int) else None


def _equal_lengths(site: Site) -> list[int] | None:
    dimension, count = _dimension(site), len(site.node.output)
    return None if dimension is None else [dimension // count] * count


def move_lengths_to_an_input(site: Site) -> None:
    """Move the lengths of Split-11 from the attribute to an input of Split-13."""
    if has_attribute(site, "split"):
        site.set_input(len(site.inputs), site.constant(pop_attribute(site, "split"), "int64", "split"))


def move_lengths_to_an_attribute(site: Site) -> None:
    """Move the lengths of Split-13 to the attribute of Split-11; with lengths computed at run time, Slice each part."""
    if not site.input(1):
        site.remove_input(1)
        return
    lengths = site.constant_value(1)
    if lengths is not None and lengths.min(initial=0) < 0 and not site.is_in_subgraph:
        site.refuse(Why.INVALID_MODEL, f"the lengths of the parts are {lengths.tolist()}; none can be negative")
    # Of the attribute, runtimes look at the lengths when they load the model, whether the node ever runs or not.
    if lengths is not None and lengths.min(initial=0) >= 0:
        site.remove_input(1)
        site.set_attribute("split", lengths.reshape(-1).tolist())
        return
    _slices_of_computed_lengths(site)


def _slices_of_computed_lengths(site: Site) -> None:
    op = site.op_at(opsets.BFLOAT16)
    data, split = site.inputs
    bounds = [site.constant([bound], "int64", "bound") for bound in range(len(site.node.output) + 1)]
    sums = [op.ReduceSum(op.Slice(split, bounds[0], bound), keepdims=1) for bound in bounds]
    axis = site.constant([site.attribute("axis", 0)], "int64")
    site.replace(*(op.Slice(data, start, end, axis) for start, end in pairwise(sums)))


def write_the_number_of_outputs(site: Site) -> None:
    """Add num_outputs, which Split-18 requires of a node without lengths.

    A dimension of size 0 gets lengths instead: onnxruntime takes no more parts than elements.
    """
    if site.input(1):
        return
    site.remove_input(1)
    if _dimension(site) == 0:
        site.set_input(len(site.inputs), site.constant([0] * len(site.node.output), "int64", "split"))
    else:
        site.set_attribute("num_outputs", len(site.node.output))


def replace_the_number_of_outputs_with_lengths(site: Site) -> None:
    """Replace num_outputs of Split-18 with lengths where the parts may differ: Split-13 makes equal parts only."""
    count = pop_attribute(site, "num_outputs")
    if count is None:
        return
    if count != len(site.node.output):
        site.refuse(Why.INVALID_MODEL, f"num_outputs is {count}, but the node has {len(site.node.output)} outputs")
    dimension = _dimension(site)
    if dimension is not None:
        length = -(-dimension // count)
        last = dimension - length * (count - 1)
        if last < 0 and not site.is_in_subgraph:
            site.refuse(
                Why.INVALID_MODEL,
                (
                    f"a dimension of size {dimension} cannot be split into {count} parts of which only the "
                    "last is smaller"
                ),
            )
        if last != length:
            site.set_input(len(site.inputs), site.constant([length] * (count - 1) + [last], "int64", "split"))
        return
    if count == 1:
        return
    op = site.op
    axis = site.attribute("axis", 0)
    size = op.Gather(op.Shape(site.input(0)), site.constant([axis], "int64"), axis=0)
    # Rounded up: at least one less than a further part.
    length_ = op.Div(op.Add(size, site.constant([count - 1], "int64")), site.constant([count], "int64"))
    last_ = op.Sub(size, op.Mul(length_, site.constant([count - 1], "int64")))
    others = op.Tile(length_, site.constant([count - 1], "int64", "repeats"))
    site.set_input(len(site.inputs), op.Concat(others, last_, axis=0))


_NEGATIVE = "11 adds negative axes; non-negative axes mean the same"

_SPLIT_OTHER_TYPES_WITH_SLICE = in_turn(write_the_axis, split_other_types_with_slice, widen_values())

STEPS = [
    Step("Concat", 1, 4, up=write_default_axis, down=widen_values()),
    Step("Concat", 4, 11, up=unchanged, down=make_axis_non_negative, because=_NEGATIVE),
    Step("Split", 1, 2, up=move_optional_lengths_to_an_attribute, down=_SPLIT_OTHER_TYPES_WITH_SLICE),
    Step("Split", 2, 11, up=unchanged, down=make_axis_non_negative, because=_NEGATIVE),
    Step("Split", 11, 13, up=move_lengths_to_an_input, down=move_lengths_to_an_attribute),
    Step("Split", 13, 18, up=write_the_number_of_outputs, down=replace_the_number_of_outputs_with_lengths),
]

FALLBACKS = [
    Fallback("Concat", concatenate_what_has_elements),
    Fallback("Split", split_with_slice),
]
