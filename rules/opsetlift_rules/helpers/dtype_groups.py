"""Groups of dtypes, and the wider dtypes in which narrow ones are computed."""

from __future__ import annotations

FLOATING = frozenset(["float16", "bfloat16", "float", "double"])
"""The floats of arithmetic; those of 8 bits and less are for storage."""

FIRST_FLOATS = ("float", "double", "float16")
"""The floats of opset 1, all that many of its operators take."""

NARROW_INTEGERS = frozenset(["int8", "uint8", "int16", "uint16"])
"""Integers that fit into int32, in which casting back drops the higher bits, as overflow does."""

COMPUTED_IN = {
    "int8": "int32",
    "uint8": "int32",
    "int16": "int32",
    "uint16": "int32",
    "float16": "float",
    "bfloat16": "float",
}
"""The dtypes in which narrow numbers are summed and multiplied."""

COMPARED_IN = {
    "int8": "float",
    "uint8": "float",
    "int16": "float",
    "uint16": "float",
    "int32": "double",
    "uint32": "double",
}
"""Floats that hold every value of an integer dtype, and hence keep the order. None holds 64 bits."""
