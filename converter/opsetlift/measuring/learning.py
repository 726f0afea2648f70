"""What the answers to many cases say: the dtypes with a kernel, and the smallest forms that only failing nodes have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

from opsetlift.measuring.cases import Case
from opsetlift.measuring.features import Feature
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.specification.history import Definition

WRONG = "wrong"
"""How the verdict on a case begins whose outputs are other than those of the specification."""

_MOST_COMBINATIONS = 4096
_MOST_FEATURES = 3
FEWEST_WRONG = 3
"""Fewer wrong results do not tell what they have in common, unlike models that do not run at all."""

_MOST_RIGHT = 0.25
"""So many right cases, of the failing ones, may have what is taken to be wrong with these."""

_COST = {
    **dict.fromkeys(["at_least", "is_dilated", "has_late_windows", "zeros"], 1),
    **dict.fromkeys(["attributes", "after", "opsets"], 2),
    **dict.fromkeys(["given", "absent", "lacks_inputs", "has_inputs", "negative", "uneven", "empty_inputs"], 3),
    **dict.fromkeys(["input_counts", "outputs", "open_inputs", "computed_inputs", "ranked_inputs"], 3),
    **dict.fromkeys(["ranks", "known_inputs"], 4),
    "dtypes": 5,
}
"""Of two forms that explain the same failures the cheaper one is taken: attributes before shapes and dtypes."""


@dataclass(frozen=True)
class Answered:
    """A case with the verdict on it: "" where the runtime computed what the specification says."""

    case: Case
    verdict: str

    @property
    def is_right(self) -> bool:
        """Whether the runtime computed what the specification says."""
        return not self.verdict


@dataclass(frozen=True)
class Pattern:
    """Features that only nodes have which the runtime does not compute."""

    features: frozenset[Feature]
    is_wrong: bool
    """Whether each of them loads and gives other values."""
    count: int


# Kernels


def grids_of(answers: Sequence[Answered], definition: Definition) -> list[dict[str, list[str]]]:
    """The dtypes by type variable in which some case of an operator version was computed at its first opset.

    Combinations that were not tried count as computed where each of their dtypes was, in another combination, and
    dtypes that no case has, as onnx's tests and the evaluator do not, count as if they were computed like the others.
    """
    # What has no elements is right whatever is computed.
    first = [one for one in answers if not any(feature.key == "opsets" for feature in one.case.features)]
    telling = [one for one in first if any(value.size for value in one.case.expected.values())] or first
    right = [one.case.dtypes for one in telling if one.is_right]
    if not right:
        return []
    variables = [name for name in right[0] if all(name in one for one in right)]
    computed = {tuple(one[name] for name in variables) for one in right}
    tried = {tuple(one.case.dtypes.get(name, "") for name in variables) for one in answers}
    seen = [sorted({one[place] for one in computed}) for place in range(len(variables))]
    if prod(map(len, seen)) <= _MOST_COMBINATIONS:
        computed |= {one for one in product(*seen) if one not in tried}
    grids = [dict(zip(variables, map(list, grid), strict=True)) for grid in _boxes(computed)]
    for place, variable in enumerate(variables):
        allowed = {dtype for one in definition.types_by_variable[variable] if (dtype := dtype_of_type(one))}
        unknown = allowed - {one[place] for one in tried}
        for grid in grids:
            grid[variable] = sorted(unknown.union(grid[variable]))
            if allowed <= set(grid[variable]):
                del grid[variable]
    return grids


def tells_dtypes(answers: Sequence[Answered], definition: Definition) -> bool:
    """Whether cases differ in dtypes where the operator allows several: attributes may decide, as in LabelEncoder."""
    tried = {tuple(sorted(one.case.dtypes.items())) for one in answers}
    return len(tried) > 1 or all(len(types) == 1 for types in definition.types_by_variable.values())


def _boxes(rows: set[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Rows as products of columns: ("a", "b") x ("c",) for {("a", "c"), ("b", "c")}."""
    if rows == {()}:
        yield ()
        return
    by_rest: dict[frozenset[tuple[str, ...]], list[str]] = {}
    for first in sorted({row[0] for row in rows}):
        rest = frozenset(row[1:] for row in rows if row[0] == first)
        by_rest.setdefault(rest, []).append(first)
    for others, firsts in by_rest.items():
        for box in _boxes(set(others)):
            yield (tuple(firsts), *box)


def has_dtypes(grids: Sequence[Mapping[str, Sequence[str]]], dtypes: Mapping[str, str]) -> bool:
    """Whether one of the grids has all of some dtypes."""
    return any(all(dtypes.get(name, "") in names for name, names in grid.items()) for grid in grids)


# Forms


def patterns_of(answers: Sequence[Answered], grids: Sequence[Mapping[str, Sequence[str]]]) -> list[Pattern]:
    """The fewest and smallest patterns that all failing cases with a kernel have, and few or none of the others."""
    right = [one.case.features for one in answers if one.is_right]
    wrong = [one for one in answers if not one.is_right and has_dtypes(grids, one.case.dtypes)]
    found: list[Pattern] = []
    while wrong:
        best = _best(wrong, right) or _most_telling(wrong, right)
        if best is None:
            wrong = wrong[1:]
            continue
        covered = [one for one in wrong if best <= one.case.features]
        is_wrong = all(one.verdict.startswith(WRONG) for one in covered)
        if len(covered) >= FEWEST_WRONG or not is_wrong:
            found.append(Pattern(best, is_wrong, len(covered)))
        wrong = [one for one in wrong if not best <= one.case.features]
    return found


def untold(answers: Sequence[Answered], grids: Sequence[Mapping[str, Sequence[str]]], told: Sequence[Pattern]) -> int:
    """How many cases fail with a kernel and without any of the patterns that were told."""
    wrong = [one.case for one in answers if not one.is_right and has_dtypes(grids, one.case.dtypes)]
    return sum(not any(pattern.features <= case.features for pattern in told) for case in wrong)


def _most_telling(wrong: Sequence[Answered], right: Sequence[frozenset[Feature]]) -> frozenset[Feature] | None:
    """The set of the first case's features that the fewest right cases have, where these are few.

    What a case has beside its features, such as its sizes, may make it right by chance.
    """
    features = sorted(wrong[0].case.features, key=lambda one: (_COST[one.key], str(one)))
    found: list[tuple[float, int, frozenset[Feature]]] = []
    for size in range(1, _MOST_FEATURES + 1):
        for chosen in map(frozenset, combinations(features, size)):
            failing = sum(chosen <= one.case.features for one in wrong)
            share = sum(chosen <= one for one in right) / failing
            if failing >= FEWEST_WRONG and share <= _MOST_RIGHT:
                found.append((share, sum(_COST[one.key] for one in chosen), chosen))
    return min(found, key=lambda one: one[:2])[2] if found else None


def _best(wrong: Sequence[Answered], right: Sequence[frozenset[Feature]]) -> frozenset[Feature] | None:
    """The cheapest set of the first case's features that no right case has; of equal ones, the most frequent."""
    features = sorted(wrong[0].case.features, key=lambda one: (_COST[one.key], str(one)))
    lacking = {one: frozenset(place for place, those in enumerate(right) if one in those) for one in features}
    for size in range(1, _MOST_FEATURES + 1):
        found = [
            chosen
            for chosen in combinations(features, size)
            if not frozenset.intersection(*(lacking[one] for one in chosen))
        ]
        if found:
            counts = {chosen: sum(one.case.features.issuperset(chosen) for one in wrong) for chosen in found}
            best = min(counts, key=lambda one: (sum(_COST[each.key] for each in one), -counts[one]))
            return frozenset(best)
    return None
