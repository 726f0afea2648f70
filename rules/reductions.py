"""Reductions to extremes and means.

ReduceMin   11: axes may be negative · 12: +int8 +uint8 · 13: +bfloat16 · 18: axes attribute -> input · 20: +bool
ReduceMean  11: axes may be negative · 13: +bfloat16 · 18: axes attribute -> input
ReduceSum   11: axes may be negative · 13: +bfloat16, axes attribute -> input
"""

from __future__ import annotations

from converter.refusal import Why
from converter.rule import Step, exact_cast, unchanged
from converter.site import Operators, Site

_LARGEST = {"int8": 127, "uint8": 255}

# A mean of means divides once per reduced dimension, a mean once; each division and each sum of a block of numbers may
# round the other way. Measured against the largest magnitude this stays within a few units per dimension.
_MEAN_OF_MEANS_ULPS = 8


def axes_become_input(site: Site) -> None:
    """Absent and empty axes both mean every axis, on either side."""
    axes = site.pop_attribute("axes")
    if axes:
        site.append_input(site.constant_int64(axes))


def axes_become_attribute(site: Site) -> None:
    """The inverse; `noop_with_empty_axes` disappears, and makes an Identity of a node without axes."""
    is_noop_if_empty = bool(site.pop_attribute("noop_with_empty_axes", 0))
    axes_name = site.input(1)
    axes = site.constant_value(axes_name)
    if axes_name and axes is None:
        _reduce_conditionally(site, axes_name, is_noop_if_empty)
        return
    site.remove_input(1)
    if axes is not None and axes.size:
        site.set_attribute("axes", axes.reshape(-1).tolist())
    elif is_noop_if_empty:
        site.replace(site.op.Identity(site.input(0)))


def _reduce_conditionally(site: Site, axes: str, is_noop_if_empty: bool) -> None:
    """Axes that are computed at run time: one reduction per dimension, done if the axes name it.

    From the last dimension to the first, so that without keepdims a dimension keeps its number until its turn comes.
    """
    rank = site.rank(0, because="each dimension needs a reduction of its own where the axes are computed at run time")
    operator, keepdims = site.node.op_type, site.attribute("keepdims", 1)
    if operator == "ReduceMean":
        if site.dtype(0) not in ("float", "double", "float16", "bfloat16"):
            site.refuse(
                Why.NO_EQUIVALENT, "a mean of integer means is another number, and the axes are computed at run time"
            )
        site.rounds(_MEAN_OF_MEANS_ULPS, "a mean over several dimensions becomes a mean of means")
    op = site.op
    reduces_all = None
    if (not is_noop_if_empty and site.shape(axes) in (None, [0], [None])) or isinstance(
        (site.shape(axes) or [0])[0], str
    ):
        reduces_all = op.Equal(op.Size(axes), site.scalar(0, "int64"))
    if is_noop_if_empty:
        reduces_all = None
    value = site.input(0)
    for dimension in reversed(range(rank)):
        names_it = _contains(site, op, axes, (dimension, dimension - rank))
        if reduces_all is not None:
            names_it = op.Or(names_it, reduces_all)

        def reduced(inner: Operators, value: str = value, dimension: int = dimension) -> list[str]:
            return [getattr(inner, operator)(value, axes=[dimension], keepdims=keepdims)]

        def kept(inner: Operators, value: str = value) -> list[str]:
            return [inner.Identity(value)]

        value = op.If(names_it, then_branch=site.subgraph(reduced), else_branch=site.subgraph(kept))
    site.replace(value)


def _contains(site: Site, op: Operators, axes: str, numbers: tuple[int, ...]) -> str:
    """Whether a vector of axes holds one of the numbers. A sum, since over no elements it is 0 (a maximum is not)."""
    counts = [
        op.ReduceSum(op.Cast(op.Equal(axes, site.constant_int64([number])), to="int64"), keepdims=0)
        for number in numbers
    ]
    return str(op.Cast(op.Add(*counts), to="bool"))


def axes_count_from_front(site: Site) -> None:
    """Below 11 axes are not negative."""
    axes = site.attribute("axes")
    if not axes or min(axes) >= 0:
        return
    rank = site.rank(0, because="negative axes have to be counted from the front below opset 11")
    if any(not -rank <= axis < rank for axis in axes):
        site.refuse(Why.INVALID_MODEL, f"axes {axes} go beyond the rank {rank} of {site.input(0)!r}")
    counted = [axis % rank for axis in axes]
    if len(set(counted)) < len(counted):
        site.refuse(Why.INVALID_MODEL, f"axes {axes} name a dimension of {site.input(0)!r} twice")
    site.set_attribute("axes", counted)


def minimum_of_8_bits_travels_wider(site: Site) -> None:
    """The minimum over no elements is the dtype's largest value, which a plain detour through int32 would not give.

    Where a reduced dimension may be 0, float carries the values: there the minimum is +inf, which Clip brings down.
    """
    dtype = site.dtype(0)
    if dtype not in _LARGEST:
        return
    if _is_never_empty(site):
        site.carry("int32")
        return
    op = site.op
    wide = site.copy(op.Cast(site.input(0), to="float"))
    clipped = op.Clip(wide, None, site.scalar(_LARGEST[dtype], "float", "largest"))
    site.replace(op.Cast(clipped, to=dtype))


def _is_never_empty(site: Site) -> bool:
    shape = site.shape(0)
    if shape is None:
        return False
    axes = site.attribute("axes") or range(len(shape))
    return all(isinstance(shape[axis], int) and shape[axis] != 0 for axis in axes if -len(shape) <= axis < len(shape))


_AXES = "11 states the range of axes, [-r, r-1], where 1 is silent; up, every axis that was legal stays what it was"
_EDITORIAL = "12 left out, and 13 put back, the sentences on rank 0 and on the empty set; nothing else differs"

STEPS = [
    Step("ReduceMin", 1, 11, up=unchanged, down=axes_count_from_front, because=_AXES),
    Step("ReduceMin", 11, 12, up=unchanged, down=minimum_of_8_bits_travels_wider, because=_EDITORIAL),
    Step("ReduceMin", 12, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ReduceMin", 13, 18, up=axes_become_input, down=axes_become_attribute),
    Step("ReduceMin", 18, 20, up=unchanged, down=exact_cast("bool", through="uint8"), because="20 adds bool"),
    Step("ReduceMean", 1, 11, up=unchanged, down=axes_count_from_front, because=_AXES),
    Step("ReduceMean", 11, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ReduceMean", 13, 18, up=axes_become_input, down=axes_become_attribute),
    Step("ReduceSum", 1, 11, up=unchanged, down=axes_count_from_front, because=_AXES),
    Step("ReduceSum", 11, 13, up=axes_become_input, down=axes_become_attribute),
]
