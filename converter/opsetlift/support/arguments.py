"""What callers give, checked: whole numbers, Python's and numpy's, and objects of a kind."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TypeVar

import numpy

Given = TypeVar("Given")


def whole_number(value: object, what: str, *, least: int | None = None) -> int:
    """A number as an int, numpy's integers included.

    Raises TypeError for a bool, a text, a fraction or anything else, ValueError for a number below `least`.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{what} must be an integer, not {value!r}") from None
    if least is not None and number < least:
        raise ValueError(f"{what} must be {least} or more, not {number}")
    return number


def whole_number_or_none(value: object, what: str, *, least: int | None = None) -> int | None:
    """`whole_number`, where None stands for none."""
    return None if value is None else whole_number(value, what, least=least)


def truth_value(value: object, what: str) -> bool:
    """A truth value as a bool, numpy's included. Raises TypeError for anything else: every text is true to Python."""
    if not isinstance(value, (bool, numpy.bool_)):
        raise TypeError(f"{what} must be True or False, not {value!r}")
    return bool(value)


def of_kind(value: Given, kind: type, what: str, shown: str) -> Given:
    """The value, an instance of `kind`. Raises TypeError for any other, which says what is wanted."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be {shown}, not {type(value).__name__}")
    return value


def opsets_of(to: object) -> dict[str, int] | None:
    """The opsets by domain that `to` asks for: one for ai.onnx, or a mapping. Raises TypeError."""
    if to is None:
        return None
    if not isinstance(to, Mapping):
        return {"": whole_number(to, "the opset to convert to")}
    for domain in to:
        if not isinstance(domain, str):
            raise TypeError(f"the keys of `to` must be domain names, not {domain!r}")
    if len({domain or "ai.onnx" for domain in to}) < len(to):
        raise TypeError("`to` names ai.onnx twice: as '' and as 'ai.onnx'")
    return {domain: whole_number(opset, f"the opset of {domain or 'ai.onnx'!r}") for domain, opset in to.items()}
