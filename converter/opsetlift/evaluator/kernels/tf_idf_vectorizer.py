"""TfIdfVectorizer: n-grams with skips, found level by level in a trie of token numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@dataclass(frozen=True)
class _Trie:
    """The n-grams of one length: `levels[k]` holds the sorted keys of all prefixes of length k + 1.

    A key is the prefix before it, by its place one level up, times `base`, plus the last token.
    """

    base: int
    levels: list[Array]
    grams: Array
    """The place on the last level of each n-gram of the pool."""

    def places(self, tokens: Array) -> Array:
        """Where n-grams (tokens in the last axis, -1 unknown) are on the last level; -1 for those it lacks."""
        found = numpy.zeros(tokens.shape[:-1], numpy.int64)
        for index, keys in enumerate(self.levels):
            token = tokens[..., index]
            wanted = found * self.base + token
            place = numpy.minimum(numpy.searchsorted(keys, wanted), keys.size - 1)
            found = numpy.where((found >= 0) & (token >= 0) & (keys[place] == wanted), place, -1)
        return found


@kernel("TfIdfVectorizer", since=(9,))
def tf_idf_vectorizer(call: Call, x: Array) -> Array:
    """TfIdfVectorizer-9: Counts of n-grams with skips, weighted.

    An n-gram of length 1 is counted once, whatever the skips.

    Args:
        call: mode, the pool of n-grams and where each is counted, weights, the lengths and skips.
        x: int32, int64 or strings, [C] or [N, C].

    Returns:
        float32 [indices], or [N, indices].
    """
    if x.ndim not in (1, 2):
        call.fail(f"the input must be a 1-D or 2-D tensor, not {list(x.shape)}")
    pool = _pool(call, x)
    numbers = {token: number for number, token in enumerate(dict.fromkeys(pool))}
    rows = numpy.atleast_2d(x)
    flat = [numbers.get(token, -1) for token in rows.reshape(-1).tolist()]
    tokens = numpy.array(flat, numpy.int64).reshape(rows.shape)
    indexes = numpy.array(call.attributes["ngram_indexes"], numpy.int64)
    counts = numpy.zeros((rows.shape[0], indexes.size), numpy.float32)
    shortest, longest = call.attributes["min_gram_length"], call.attributes["max_gram_length"]
    if not 1 <= shortest <= longest:
        call.fail(f"min_gram_length {shortest} and max_gram_length {longest} must be positive and in order")
    first = 0
    for length, gram_tokens in enumerate(_grams_by_length(call, [numbers[token] for token in pool]), 1):
        if shortest <= length <= longest and len(gram_tokens):
            skips = call.attributes["max_skip_count"] if length > 1 else 0
            counts[:, first : first + len(gram_tokens)] = _counts(tokens, gram_tokens, len(numbers), skips)
        first += len(gram_tokens)
    if first != indexes.size:
        call.fail(f"ngram_indexes has {indexes.size} elements for {first} n-grams in the pool")
    result = numpy.zeros((rows.shape[0], int(indexes.max(initial=-1)) + 1), numpy.float32)
    numpy.add.at(result.T, indexes, _weighted(call, counts).T)
    return result if x.ndim == 2 else result[0]


def _pool(call: Call, x: Array) -> list[Any]:
    strings, integers = call.attributes.get("pool_strings"), call.attributes.get("pool_int64s")
    if bool(strings) == bool(integers):
        call.fail("either pool_strings or pool_int64s must be present, but not both")
    if (x.dtype == object) != bool(strings):
        call.fail("the input must be a string tensor with pool_strings and an integer tensor with pool_int64s")
    return list(strings or integers or ())


def _grams_by_length(call: Call, tokens: list[int]) -> list[Array]:
    """The pool cut at ngram_counts: for each length, its n-grams as rows."""
    starts = call.attributes["ngram_counts"]
    ends = [*starts[1:], len(tokens)]
    grams = []
    for length, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        if not 0 <= start <= end <= len(tokens) or (end - start) % length:
            call.fail(f"ngram_counts {starts} do not cut the pool of {len(tokens)} into n-grams")
        grams.append(numpy.array(tokens[start:end], numpy.int64).reshape(-1, length))
    return grams


def _counts(tokens: Array, grams: Array, base: int, skips: int) -> Array:
    """How often each row of `tokens` has each of `grams`, over all distances up to skips + 1."""
    trie = _trie(grams, base)
    length = grams.shape[1]
    totals = numpy.zeros((tokens.shape[0], trie.levels[-1].size), numpy.float32)
    for distance in range(1, skips + 2):
        positions = tokens.shape[1] - (length - 1) * distance
        if positions <= 0:
            break
        places = trie.places(tokens[:, numpy.arange(positions)[:, None] + numpy.arange(length) * distance])
        row, column = numpy.nonzero(places >= 0)
        numpy.add.at(totals, (row, places[row, column]), 1)
    return totals[:, trie.grams]


def _trie(grams: Array, base: int) -> _Trie:
    levels = []
    places = numpy.zeros(len(grams), numpy.int64)
    for column in grams.T:
        keys, places = numpy.unique(places * base + column, return_inverse=True)
        levels.append(keys)
    return _Trie(base, levels, places)


def _weighted(call: Call, counts: Array) -> Array:
    mode = call.attributes["mode"]
    if mode not in ("TF", "IDF", "TFIDF"):
        call.fail(f"mode must be TF, IDF or TFIDF, not {mode!r}")
    weights = call.attributes.get("weights")
    if weights and len(weights) != counts.shape[1]:
        call.fail(f"weights has {len(weights)} elements, ngram_indexes {counts.shape[1]}")
    if mode == "IDF":
        counts = numpy.minimum(counts, 1)
    return counts if mode == "TF" or not weights else numpy.asarray(counts * numpy.array(weights, numpy.float32))
