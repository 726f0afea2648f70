"""What rules often ask of a site."""

from __future__ import annotations

from typing import Any

from opsetlift.rulebook.site.site import Site
from opsetlift.specification.dtypes import dtype_name, element_type
from opsetlift.support.refusal import SiteRefused, Why


def has_attribute(site: Site, name: str) -> bool:
    """Whether the node sets an attribute, also where it refers to a parameter of the function around it."""
    return any(attribute.name == name for attribute in site.node.attribute)


def pop_attribute(site: Site, name: str, default: Any = None) -> Any:
    """Remove an attribute and return its value; arguments and errors are those of `Site.attribute`."""
    value = site.attribute(name, default)
    site.remove_attribute(name)
    return value


def dtype_attribute(site: Site, name: str, default: str = "") -> str:
    """The dtype that an attribute names, by number or, as before opset 6, in words.

    Args:
        site: The node.
        name: The attribute.
        default: What to return where the node does not set it.

    Raises:
        SiteRefused: onnx has no such dtype.
    """
    value = site.attribute(name, is_of_any_kind=True)
    if value is None:
        return default
    try:
        if isinstance(value, (int, str)):
            return dtype_name(element_type(value) if isinstance(value, str) else value)
    except ValueError:
        pass
    raise SiteRefused(Why.INVALID_MODEL, f"the attribute {name!r} is {value!r}, which is not an ONNX dtype")


def is_constant(site: Site, value: str | int) -> bool:
    """Whether a value is the same in every run. Refuses a function's parameter."""
    return site.content(value) is not None


def known_shape(site: Site, value: str | int) -> list[int] | None:
    """The shape of a tensor, all numbers; None where a dimension is not known."""
    shape = site.shape(value)
    dims = [dim for dim in shape or () if isinstance(dim, int)]
    return dims if shape is not None and len(dims) == len(shape) else None


def static_shape(site: Site, value: str | int, *, because: str = "") -> list[int]:
    """The shape of a tensor, all numbers.

    Args:
        site: The node.
        value: A name, or the position of an input.
        because: What the shape is needed for, for the refusal.

    Raises:
        SiteRefused: A dimension or the rank is not known.
    """
    shape = site.shape(value)
    name = value if isinstance(value, str) else site.input(value)
    reason = because or "the conversion depends on it"
    if shape is None:
        site.refuse(Why.SHAPE_UNKNOWN, f"the shape of {name!r} cannot be inferred, and {reason}")
    dims = [dim for dim in shape if isinstance(dim, int)]
    if len(dims) < len(shape):
        shown = ", ".join("?" if dim is None else str(dim) for dim in shape)
        site.refuse(Why.SHAPE_UNKNOWN, f"the shape of {name!r} is only known as [{shown}], and {reason}")
    return dims


def list_length(site: Site, value: str | int, *, because: str = "") -> int:
    """The number of elements of a list: a tensor of rank 1.

    Args:
        site: The node.
        value: A name, or the position of an input.
        because: What the length is needed for, for the refusal.

    Raises:
        SiteRefused: The length or the rank is not known, or it is no list.
    """
    shape = static_shape(site, value, because=because)
    if len(shape) != 1:
        name = value if isinstance(value, str) else site.input(value)
        site.refuse(Why.INVALID_MODEL, f"{name!r} must be a list, but it is of rank {len(shape)}")
    return shape[0]
