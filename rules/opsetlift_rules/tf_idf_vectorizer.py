"""Counts of n-grams.

TfIdfVectorizer  9: introduced
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from opsetlift.rulebook.rule import Introduction
from opsetlift.rulebook.site import Array, Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets


def count_n_grams_by_comparison(site: Site) -> None:
    """Replace TfIdfVectorizer-9 of numbers: compare each n-gram of the pool with every place of the input."""
    if site.dtype(0) == "string":
        site.refuse(Why.NO_EQUIVALENT, "below opset 9 no operator compares strings")
    rank = site.rank(0, because="TfIdfVectorizer accepts vectors and matrices")
    op = site.op_at(opsets.AXES_AS_INPUTS)
    tokens = site.input(0) if rank == 2 else op.Unsqueeze(site.input(0), site.constant([0], "int64"))
    counts = [_counts(site, op, tokens, grams) for _, grams in _pool(site)]
    if not counts:
        site.refuse(Why.NO_EQUIVALENT, "no n-gram of the pool has a length that the node counts")
    found = op.Concat(*counts, axis=1) if len(counts) > 1 else counts[0]
    if site.attribute("mode") == "IDF":
        found = op.Cast(op.Cast(found, to="bool"), to="float")
    places, weights = _columns(site)
    matrix = numpy.zeros((len(places), max(site.attribute("ngram_indexes")) + 1), numpy.float32)
    matrix[numpy.arange(len(places)), places] = weights
    result = op.MatMul(found, site.constant(matrix, hint="weights"))
    site.replace(result if rank == 2 else op.Squeeze(result, site.constant([0], "int64")))


def _pool(site: Site) -> Iterator[tuple[int, Array]]:
    """The counted n-grams of each length, as rows, and the index of the first one among all."""
    starts, pool = site.attribute("ngram_counts"), site.attribute("pool_int64s", [])
    first = 0
    for length, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        grams = numpy.array(pool[start:end], numpy.int64).reshape(-1, length)
        if site.attribute("min_gram_length") <= length <= site.attribute("max_gram_length") and len(grams):
            yield first, grams
        first += len(grams)


def _counts(site: Site, op: Operators, tokens: str, grams: Array) -> str:
    """[N, n-grams]: how often each row has each n-gram, over all distances between its tokens."""
    dtype = numpy.int32 if site.dtype(0) == "int32" else numpy.int64
    last = grams.shape[1] - 1
    skips = site.attribute("max_skip_count") if last else 0
    totals = []
    for distance in range(1, skips + 2):
        matches = []
        for position, column in enumerate(grams.T):
            end = (position - last) * distance or numpy.iinfo(numpy.int64).max
            bounds = [[position * distance], [end], [1]]
            window = op.Slice(tokens, *(site.constant(one, "int64", "bounds") for one in bounds)) if last else tokens
            keys = site.constant(column.astype(dtype)[None, None], hint="tokens")
            matches.append(op.Equal(op.Unsqueeze(window, site.constant([2], "int64")), keys))
        matched = matches[0]
        for match in matches[1:]:
            matched = op.And(matched, match)
        totals.append(op.ReduceSum(op.Cast(matched, to="float"), site.constant([1], "int64"), keepdims=0))
    return str(op.Sum(*totals)) if len(totals) > 1 else str(totals[0])


def _columns(site: Site) -> tuple[Array, Array]:
    """For each n-gram that is counted the place of its count in the output, and its weight."""
    indexes = site.attribute("ngram_indexes")
    weights = site.attribute("weights", []) if site.attribute("mode") != "TF" else []
    weights = weights or [1.0] * len(indexes)
    counted = [place for first, grams in _pool(site) for place in range(first, first + len(grams))]
    return numpy.array(indexes)[counted], numpy.array(weights, numpy.float32)[counted]


INTRODUCTIONS = [
    Introduction("TfIdfVectorizer", 9, down=count_n_grams_by_comparison),
]
