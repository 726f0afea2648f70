"""What is known while inputs are tried: which the original accepted, and what follows for further ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.inputs.building import AcceptedStrategies, CaseBuilder
from opsetlift.proof.inputs.cases import Case, Explored, Floor, Input
from opsetlift.proof.inputs.filling import GENTLE, ValuePool
from opsetlift.proof.inputs.floor import DiversityFloor, may_have_elements
from opsetlift.proof.inputs.layouts import LONG, Layout, Layouts
from opsetlift.proof.limits import is_floating
from opsetlift.proof.shapes import BEARABLE, Dims, Shape, dims_of, fixed_elements
from opsetlift.specification import dtypes

MANY = 64
"""Of more inputs those that a case is not about keep their values, and pairs of values are tried in fewer cases."""

LARGEST_USUAL = 16
"""Open sizes are up to this number in most cases."""

MODEL_SIZES = 4
"""So many numbers of whole models are tried as sizes: those above usual ones first."""

LARGEST_OWN = 1 << 12
"""Numbers of a site up to this one are tried in what controls shapes, and as sizes."""

LARGEST_INDEX = 2**16
"""So far the greatest index is looked for."""

SMALLEST_USUAL = 0.1
"""Data is as small as this in any case."""

SITE_SCALES = 4
"""So many smaller numbers of a site are tried as magnitudes."""

MOST_KEPT = 1 << 16
"""So many elements of inputs of fixed sizes a case may have beside others that is kept."""

KEPT = 12
"""So many accepted cases are kept to be changed in one input."""

MOST_HANDLED = 1 << 26
"""Elements of inputs and outputs in all, after which no more is tried than the floor asks for."""

MOST_SETTINGS = 24
"""So many values are kept of each of them."""

LARGEST_SETTING = 1 << 10
"""None that is larger."""

_NOT_ORDERED = ("bool", "string", "complex64", "complex128")


class Options(TypedDict, total=False):
    """What is known of a site besides its inputs."""

    rounding: bool
    """The comparison is one within a bound."""
    hints: Sequence[int]
    """Numbers that sizes may have to do with."""
    floor: Floor
    """What is required besides what is drawn."""
    numbers: Sequence[float]
    """Those in constants and attributes, which data is compared with."""
    lists: Sequence[Sequence[float | str]]
    """The same and texts as they stand there in lists, which data may be searched for."""
    words: Sequence[str]
    """The texts there."""
    constants: Sequence[Array]
    """Those that the nodes read besides the inputs."""
    results: Sequence[Dims]
    """The shapes that the outputs have to have."""
    limit: int | None
    """After so many accepted cases only required ones follow."""
    has_bodies: bool
    """Whether a side runs subgraphs, as often as its inputs say."""
    most_elements: int
    """How many elements the inputs may have together, where open sizes decide on it."""


class Exploration:
    """The inputs, how they are drawn, and what was accepted so far.

    Args:
        inputs: The inputs to generate values for.
        seed: What everything follows from.
        options: What else is known.
    """

    def __init__(self, inputs: Sequence[Input], seed: Sequence[int], **options: Unpack[Options]) -> None:
        numbers, lists, floor = options.get("numbers", ()), options.get("lists", ()), options.get("floor", Floor.NONE)
        rounding, constants = options.get("rounding", False), options.get("constants", ())
        self.inputs = inputs
        self.constants = constants
        self.numbers = numbers
        self.lists = [[each for each in one if not isinstance(each, str)] for one in lists]
        self.text_lists = [[each for each in one if isinstance(each, str)] for one in lists]
        self.scales = [one for one in numbers if 0 < one < SMALLEST_USUAL][:SITE_SCALES]
        sizes = [abs(int(one)) for one in numbers if 1 < abs(one) <= BEARABLE and one == int(one)]
        self.model_sizes = sorted(dict.fromkeys(sizes), key=lambda size: size < LARGEST_USUAL)[:MODEL_SIZES]
        """Numbers of the site that are tried as sizes."""
        self.is_brief = floor is Floor.BRIEF
        """Whether the inputs are those of whole models, of which fewer are tried."""
        self.limit = options.get("limit")
        self.has_bodies = options.get("has_bodies", False)

        rng = numpy.random.default_rng(list(seed))
        self.builder = CaseBuilder(inputs, rng, rounding=rounding)
        self.floor = DiversityFloor(self.builder, floor, numbers, options.get("words", ()))
        dims = {one.name: dims_of(one.type) for one in inputs}
        beside = [value.shape for value in constants]
        controls = set(self.builder.controls)
        self.layouts = Layouts(
            dims,
            rng,
            lists=controls,
            hints=options.get("hints", ()),
            beside=beside,
            results=options.get("results", ()),
            most=options.get("most_elements", LONG),
        )
        self.gentle = ("positive", "ones", "integral") if rounding else GENTLE

        self.first_layout: Layout | None = None
        """The first of which inputs were accepted."""
        self.accepted = AcceptedStrategies()
        self.accepted_controls: Mapping[str, Sequence[str]] = {}
        """All strategies that were accepted for each input that controls shapes."""
        self.kept: list[tuple[Sequence[Any], Case]] = []
        """Accepted cases, and the shapes of their outputs."""
        self.settings: dict[str, dict[float, None]] = {}
        """The values that were accepted for each input of a single number."""
        self.sizes_follow_values = False
        """Whether inputs of the same shapes gave outputs of others."""
        self.sizes_are_computed = False
        """Whether an output has a size that is none of the inputs'."""
        self.number_accepted = self.number_rejected = 0
        self.is_exploring = False
        """Whether what is tried may be left out: it is no longer tried where enough was."""
        self._elements = 0
        self._fixed = fixed_elements(dims)
        self._results_of: dict[tuple[Shape, ...], str] = {}
        """For the shapes of inputs those of the outputs."""

    def count(self, case: Case, ran: Sequence[Any] | None) -> None:
        """Take note of a case that was tried. Raises Explored where nothing more needs to be looked for."""
        if ran is None:
            self.number_rejected += 1
        else:
            shapes = list(ran)  # without what both sides gave, which may be large
            self.number_accepted += 1
            self._keep(case, shapes)
            self._note_settings(case)
            sizes = tuple(numpy.shape(value) for value in case.values.values() if isinstance(value, numpy.ndarray))
            self.sizes_follow_values |= self._results_of.setdefault(sizes, repr(shapes)) != repr(shapes)
            given = {size for shape in sizes for size in shape}
            self.sizes_are_computed |= any(not given.issuperset(one) for one in shapes if isinstance(one, tuple))
            self.floor.record(case, shapes)
            if self.limit is not None and self.number_accepted >= self.limit and not case.is_required:
                raise Explored
        self._elements += sum(map(numpy.size, case.values.values()))
        self._elements += sum(math.prod(one) for one in ran or () if isinstance(one, tuple))
        if self.is_exploring and self._elements > MOST_HANDLED:
            raise Explored

    def _keep(self, case: Case, shapes: Sequence[Any]) -> None:
        """Keep a case to be changed: of each shape of outputs the first ones, others in turn."""
        size = sum(map(numpy.size, case.values.values()))
        if any(map(may_have_elements, shapes)) and size <= BEARABLE + min(self._fixed, MOST_KEPT):
            if len(self.kept) >= KEPT:
                same = [number for number, (other, _) in enumerate(self.kept) if other == shapes]
                places = same or range(KEPT)
                del self.kept[places[int(self.builder.rng.integers(len(places)))]]
            self.kept.append((shapes, case))

    def _note_settings(self, case: Case) -> None:
        for name, value in case.values.items():
            if isinstance(value, numpy.ndarray) and value.size == 1 and value.dtype.kind in "iufb":
                number, known = value.item(), self.settings.setdefault(name, {})
                if len(known) < MOST_SETTINGS and abs(number) <= LARGEST_SETTING:
                    known[number] = None

    def any_kept(self) -> tuple[Sequence[Any], Case]:
        """One of the accepted cases, and the shapes of its outputs."""
        return self.kept[int(self.builder.rng.integers(len(self.kept)))]

    def numeric(self, names: Iterable[str]) -> list[str]:
        """Those of some inputs that hold tensors of numbers."""
        dtypes_of = {one.name: one.dtype for one in self.inputs if one.type.HasField("tensor_type")}
        return [name for name in names if dtypes_of.get(name, "bool") not in _NOT_ORDERED]

    def of_texts(self, names: Iterable[str]) -> list[str]:
        """Those of some inputs that hold tensors of texts."""
        held = {one.name for one in self.inputs if one.dtype == "string" and one.type.HasField("tensor_type")}
        return [name for name in names if name in held]

    @property
    def float_pools(self) -> dict[str, ValuePool]:
        """The special values for each input that holds floats as data."""
        return {
            name: pool
            for name, pool in self.builder.pools.items()
            if name not in self.builder.controls and is_floating(dtypes.numpy_dtype(pool.dtype))
        }
