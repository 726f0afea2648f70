"""Both sides of thresholds: where values inside the models are compared, and where results change between inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.inputs.boundaries import search
from opsetlift.proof.inputs.cases import Attempt, Case
from opsetlift.proof.inputs.driving import Driving
from opsetlift.proof.inputs.exploration import Exploration
from opsetlift.proof.inputs.filling import ALIKE, draw, drawn_between
from opsetlift.specification import dtypes

LANES = 256
"""Thresholds are looked for in so many elements at once, along an open size."""

REACHES = (4.0, None, 100.0, 1.0, None, 1000.0)
"""Between numbers of about these magnitudes; None: between rows that are alike."""

WITHIN = [(0, 0)] + [
    (sign * near, sign * far) for far in (1, 20, 1000, 30000) for near, sign in ((-far, 1), (0, 1), (0, -1))
]
"""Between these bounds inputs are drawn, between which values inside the models are to become certain numbers."""

LARGE = 100.0
"""Other inputs are of about this magnitude meanwhile, or as they were accepted."""


def drive_inside(
    known: Exploration, attempt: Attempt, targets: Sequence[Sequence[tuple[str, float]]], drives: int
) -> bool:
    """Inputs for which values inside the models are numbers of the models: there they are compared or looked up.

    Returns:
        Whether some of these values take steps, or it was not found out.
    """
    inputs = {one.name: one for one in known.inputs}
    names = [name for name in known.floor.data if name in known.numeric([name]) or inputs[name].dtype == "bool"]
    if known.first_layout is None or not names or not targets:
        return True
    rng = known.builder.rng
    base = known.builder.case(known.first_layout, known.accepted.data, known.accepted.controls)
    cases = []
    farthest = 2 * max((abs(number) for numbers in targets for _, number in numbers), default=0)
    for low, high in (*WITHIN, (-farthest, farthest)):
        drawn = {
            name: rng.random(numpy.shape(base.values[name])) * (high - low) > -low  # all, some, or none
            if inputs[name].dtype == "bool"
            else drawn_between(low, high, base.values[name], rng)
            for name in names
        }
        label = f"towards numbers of the models, from between {low:g} and {high:g}"
        cases.append(Case.of(base.layout, label, {**base.values, **drawn}, is_required=True))
    driving = Driving(names, drives, attempt, rng)
    driving.run(cases, targets)
    return driving.saw_steps


def search_boundaries(known: Exploration, attempt: Attempt, ways: int) -> None:
    """Both sides of thresholds that are computed, between drawn inputs; many at once along an open size."""
    names = known.numeric(known.floor.data)
    first, accepted, rng = known.first_layout, known.accepted, known.builder.rng
    if first is None or not names or known.builder.rounding:
        return
    layouts = [*known.layouts.with_one_size(first, LANES), first]
    # What all inputs decide together, and what each of them does beside others that stay.
    chosen = [names, *([name] for name in names)] if len(names) > 1 else [names]
    for turn, moved in enumerate(islice(cycle(chosen), ways)):
        base = known.builder.case(layouts[turn % len(layouts)], accepted.data, accepted.controls)
        others = [name for name in names if name not in moved and turn // len(chosen) % 2]
        stay = {name: drawn_between(-LARGE, LARGE, base.values[name], rng) for name in others}
        label, ends = _ends(known, {name: base.values[name] for name in moved}, turn // 2)
        cases = [replace(Case.of(base.layout, label, {**base.values, **stay, **end}), is_required=True) for end in ends]
        search(cases[0], cases[1], moved, attempt)


def _ends(known: Exploration, like: Mapping[str, Array], turn: int) -> tuple[str, list[dict[str, Array]]]:
    """Two fillings of inputs: rows that differ by much or little, or numbers on either side of 0."""
    rng, reach = known.builder.rng, REACHES[turn % len(REACHES)]
    if reach is None:
        drawn = [
            {
                name: draw(ALIKE, dtypes.name_of_numpy_dtype(value.dtype), value.shape, rng)
                for name, value in like.items()
            }
            for _ in range(2)
        ]
        return f"between {ALIKE}", drawn
    drawn = [
        {name: drawn_between(sign * reach, -sign * reach / 8, value, rng) for name, value in like.items()}
        for sign in (-1, 1)
    ]
    return f"between -{reach:g} and {reach:g}", drawn
