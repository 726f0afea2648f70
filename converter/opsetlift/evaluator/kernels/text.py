"""StringNormalizer, StringConcat, StringSplit and RegexFullMatch."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from opsetlift.evaluator.errors import NotExecutable
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@kernel("StringNormalizer", since=(10,))
def string_normalizer(call: Call, x: Array) -> Array:
    """StringNormalizer-10: Strings without stop words, in another case.

    Cases change by Unicode's rules, whatever the attribute locale says.

    Args:
        call: case_change_action, is_case_sensitive, stopwords.
        x: Strings [C] or [1, C].

    Returns:
        Strings [n] or [1, n]; a single empty one where none is left.
    """
    if not (x.ndim == 1 or (x.ndim == 2 and x.shape[0] == 1)):
        call.fail(f"only [C]- and [1, C]-tensors are accepted, not {list(x.shape)}")
    action = call.attributes["case_change_action"]
    changes: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}
    if action not in changes:
        call.fail(f"case_change_action must be LOWER, UPPER or NONE, not {action!r}")
    folded: Callable[[str], str] = str if call.attributes["is_case_sensitive"] else str.lower
    stopwords = {folded(word) for word in call.attributes.get("stopwords") or ()}
    kept = [changes[action](text) for text in x.reshape(-1) if folded(text) not in stopwords]
    # "If all elements in X are dropped, the output will be the empty value of string tensor with shape [1]."
    result = _texts(kept or [""])
    return result if x.ndim == 1 else result.reshape(1, -1)


@kernel("StringConcat", since=(20,))
def string_concat(call: Call, x: Array, y: Array) -> Array:
    """StringConcat-20: x and y one after the other, strings, broadcast."""
    try:
        shape = numpy.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        call.fail(f"the shapes {list(x.shape)} and {list(y.shape)} cannot be broadcast to one shape")
    return numpy.asarray(x + y, dtype=object).reshape(shape)


@kernel("StringSplit", since=(20,))
def string_split(call: Call, x: Array) -> tuple[Array, Array]:
    """StringSplit-20: Strings [*shape] split at a delimiter.

    Returns:
        The parts, strings [*shape, most parts] with empty ones behind, and their numbers, int64 [*shape].
    """
    delimiter = call.attributes.get("delimiter") or None
    if isinstance(delimiter, bytes):
        call.fail(f"the delimiter {delimiter!r} is no text")
    maxsplit = call.attributes.get("maxsplit")
    limit = -1 if maxsplit is None else maxsplit
    # Python leaves the whitespace after the last split in place, the text has it removed.
    split = [(text if delimiter else text.strip()).split(delimiter, limit) for text in x.reshape(-1)]
    counts = numpy.array([len(parts) for parts in split], numpy.int64).reshape(x.shape)
    width = max(map(len, split), default=0)
    padded = [part for parts in split for part in (*parts, *[""] * (width - len(parts)))]
    return _texts(padded).reshape(*x.shape, width), counts


@kernel("RegexFullMatch", since=(20,))
def regex_full_match(call: Call, x: Array) -> Array:
    """RegexFullMatch-20: which strings an expression matches in full, by google-re2 (`opsetlift[regex]`).

    Args:
        call: `pattern` is the expression.
        x: Strings of any shape.

    Returns:
        bool, of the shape of x.

    Raises:
        Rejected: The pattern is not RE2 syntax.
        NotExecutable: google-re2 is not installed.
    """
    try:
        import re2
    except ImportError as error:
        raise NotExecutable("matching RE2's expressions takes google-re2: pip install 'opsetlift[regex]'") from error
    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(call.attributes.get("pattern") or "", options)
    except re2.error as error:
        (message,) = error.args
        call.fail(f"the pattern must be valid RE2 syntax: {message.decode(errors='replace')}")
    matches = [pattern.fullmatch(text) is not None for text in x.reshape(-1)]
    return numpy.array(matches, bool).reshape(x.shape)


def _texts(values: list[str]) -> Array:
    result = numpy.empty(len(values), dtype=object)
    result[:] = values
    return result
