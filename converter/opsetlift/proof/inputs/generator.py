"""The test inputs on which two models are compared.

A generator tries layouts (shapes for all inputs) and, for each that the original accepts, strategies of filling them.
What the original rejects is redrawn from narrower ranges, and the strategies that were accepted are the first for the
next layout. In the end it tries what the floor of diversity requires and was not accepted so far, value by value.
Everything follows from the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Unpack

from opsetlift.proof.diversity import Diversity
from opsetlift.proof.inputs.cases import Attempt, Case, Enough, Explored, Input
from opsetlift.proof.inputs.changed_values import (
    change_accepted,
    draw_more,
    try_all_exponents,
    try_all_indices,
    try_any_in_controls,
    try_extremes_in_controls,
    try_far_below,
    try_magnitudes,
    try_neighbours,
    try_one_not_finite,
    try_runs,
    try_settings_together,
    try_squares_that_overflow,
    try_whole_numbers,
)
from opsetlift.proof.inputs.exploration import Exploration, Options
from opsetlift.proof.inputs.further_sizes import (
    try_consecutive_sizes,
    try_controls,
    try_long_sizes,
    try_narrow,
    try_own_sizes,
    try_ranks,
    try_sizes,
)
from opsetlift.proof.inputs.own_numbers import (
    try_halves_in_order,
    try_many_own_numbers,
    try_multiples,
    try_own_indices,
    try_own_numbers,
    try_positions,
)
from opsetlift.proof.inputs.searching import GUESSES, search
from opsetlift.proof.inputs.thresholds import drive_inside, search_boundaries
from opsetlift.proof.shapes import MOST_DRAWN, dims_of, fixed_elements


class InputGenerator:
    """Generates the cases for some inputs.

    Args:
        inputs: The inputs to generate values for.
        seed: What everything follows from.
        first: Values that are tried before any are drawn.
        guesses: How many random layouts are tried where the original accepts none of the usual ones.
        ways: Between so many pairs of inputs it is looked for thresholds.
        long: Further sizes that are tried for each open dimension, beside others of 1.
        targets: What values inside the models, which attempts show, may be compared with: numbers with their dtypes.
        drives: On so many inputs it is tried to make these values those numbers.
        looks_always: Whether thresholds are looked for, too, where none of these values takes steps.
        options: What else is known of the inputs.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        seed: Sequence[int],
        *,
        first: Sequence[Case] = (),
        guesses: int = GUESSES,
        ways: int = 0,
        long: Sequence[int] = (),
        targets: Sequence[Sequence[tuple[str, float]]] = (),
        drives: int = 0,
        looks_always: bool = True,
        **options: Unpack[Options],
    ) -> None:
        self._inputs = inputs
        self._first = first
        self._guesses = guesses
        self._ways = ways
        self._long = long
        self._targets = targets
        self._drives = drives
        self._looks_always = looks_always
        fixed = fixed_elements({one.name: dims_of(one.type) for one in inputs})
        self.obstacle = ""
        """Why nothing is drawn."""
        if fixed > MOST_DRAWN:
            self.obstacle = f"the inputs have {fixed:,} elements, and inputs are drawn up to {MOST_DRAWN:,}"
        self._known = Exploration(inputs, seed, **options)

    def run(self, attempt: Attempt) -> None:
        """Try the cases one by one; none where there is an obstacle."""
        if self.obstacle:
            return
        known = self._known

        def counted(case: Case) -> Sequence[Any] | None:
            ran = attempt(case)
            known.count(case, ran)
            return ran

        wanted = self._wanted(counted)
        try:
            known.is_exploring = True
            with suppress(Explored):
                self._explore(wanted)
            known.is_exploring = False
            known.floor.complete(wanted)
            if known.is_brief:
                try_neighbours(known, wanted)
                try_own_numbers(known, wanted, known.floor.data)
                try_sizes(known, wanted)
                try_ranks(known, wanted)
                try_narrow(known, wanted)
                try_controls(known, wanted)
            try_long_sizes(known, wanted, self._long)
            takes_steps = drive_inside(known, wanted, self._targets, self._drives)
            if takes_steps or self._looks_always:
                search_boundaries(known, wanted, self._ways)
        except Enough:
            pass

    def _explore(self, attempt: Attempt) -> None:
        """What is tried until enough was. The order matters: what is accepted early is changed later."""
        known = self._known
        for case in self._first:
            attempt(case)
        if not self._inputs:
            attempt(Case("no inputs", {}))
            return
        search(known, attempt, self._guesses)
        change_accepted(known, attempt)
        try_any_in_controls(known, attempt)
        try_neighbours(known, attempt)
        try_own_numbers(known, attempt, sorted(known.builder.pools.keys() - known.builder.controls))
        try_multiples(known, attempt)
        try_one_not_finite(known, attempt)
        try_whole_numbers(known, attempt)
        try_magnitudes(known, attempt)
        try_many_own_numbers(known, attempt)
        try_halves_in_order(known, attempt)
        try_positions(known, attempt)
        try_far_below(known, attempt)
        try_squares_that_overflow(known, attempt)
        try_extremes_in_controls(known, attempt)
        try_all_indices(known, attempt)
        try_own_indices(known, attempt)
        try_settings_together(known, attempt)
        try_own_sizes(known, attempt)
        try_consecutive_sizes(known, attempt)
        try_runs(known, attempt)
        try_all_exponents(known, attempt)
        draw_more(known, attempt)

    def _wanted(self, attempt: Attempt) -> Attempt:
        """The attempt, or one that leaves out cases; those left out are not measured."""
        return attempt

    def diversity(self) -> Diversity:
        """What was measured of the inputs that the original accepted."""
        return self._known.floor.diversity()
