"""Which test inputs are generated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import ml_dtypes
import numpy
import pytest
from onnx import TypeProto, helper

from opsetlift.proof.inputs import Case, Enough, Floor, Input, InputGenerator
from opsetlift.proof.inputs.filling import NEIGHBOURS, draw, in_words
from opsetlift.proof.inputs.floor import halves
from opsetlift.proof.special_values import every_value_of, special_values
from opsetlift.specification.dtypes import element_type, numpy_dtype


def tensor(dtype: str, shape: Sequence[int | str | None] | None) -> TypeProto:
    made: TypeProto = helper.make_tensor_type_proto(element_type(dtype), shape)
    return made


class Taker:
    """An original that takes what `accepts` says, and gives back what it was given."""

    def __init__(self, accepts: Any = lambda values: True) -> None:
        self.accepts = accepts
        self.taken: list[Case] = []
        self.rejected = 0

    def __call__(self, case: Case) -> list[Any] | None:
        if not self.accepts(case.values):
            self.rejected += 1
            return None
        self.taken.append(case)
        return [numpy.shape(value) for value in case.values.values()]


def run(*inputs: Input, seed: int = 0, rounding: bool = False, hints: Sequence[int] = (), **taker: Any) -> Taker:
    made = Taker(**taker)
    InputGenerator(inputs, [seed], rounding=rounding, hints=hints).run(made)
    return made


def test_the_same_seed_gives_the_same_cases() -> None:
    def cases(seed: int) -> list[str]:
        found = run(Input("x", tensor("float", ["N", 3])), seed=seed)
        return [
            repr([case.label, {name: value.tobytes() for name, value in case.values.items()}]) for case in found.taken
        ]

    assert cases(1) == cases(1)
    assert cases(1) != cases(2)


@pytest.mark.parametrize("floor", [Floor.NONE, Floor.FULL])
def test_where_outputs_are_large_no_more_is_tried_than_the_floor_asks_for(floor: Floor) -> None:
    class Maker(Taker):
        def __call__(self, case: Case) -> list[Any] | None:
            super().__call__(case)
            return [(2, 1 << 20)]

    made = {}
    for taker in (Taker(), Maker()):
        generator = InputGenerator([Input("x", tensor("float", ["N", 3]))], [0], floor=floor)
        generator.run(taker)
        made[type(taker)] = taker
        assert not generator.diversity().missing
    assert len(made[Maker].taken) < len(made[Taker].taken)
    assert floor is not Floor.NONE or len(made[Maker].taken) == 32


def test_symbols_stand_for_one_size_in_all_inputs() -> None:
    found = run(Input("a", tensor("float", ["N", "M"])), Input("b", tensor("float", ["M", "N", 4])))
    shapes = {(case.values["a"].shape, case.values["b"].shape) for case in found.taken}
    assert all(a == (b[1], b[0]) and b[2] == 4 for a, b in shapes)
    assert len(shapes) > 5


def test_open_sizes_are_tried_with_nothing_one_and_many() -> None:
    sizes = {case.values["x"].shape[0] for case in run(Input("x", tensor("float", ["N"]))).taken}
    assert {0, 1} <= sizes
    assert max(sizes) > 5


def test_fixed_sizes_stay_as_they_are() -> None:
    assert {case.values["x"].shape for case in run(Input("x", tensor("int32", [2, 0, 3]))).taken} == {(2, 0, 3)}


def test_unknown_ranks_are_tried_from_zero_up() -> None:
    ranks = {case.values["x"].ndim for case in run(Input("x", tensor("float", None))).taken}
    assert ranks == {0, 1, 2, 3, 4, 5}


def test_unknown_sizes_are_broadcast_too() -> None:
    found = run(Input("a", tensor("float", [None, None])), Input("b", tensor("float", [None, None])))
    shapes = {(case.values["a"].shape, case.values["b"].shape) for case in found.taken}
    assert any(a == b for a, b in shapes)
    assert any(1 in a and 1 not in b for a, b in shapes)


@pytest.mark.parametrize("dtype", ["float", "double", "float16", "bfloat16"])
def test_floats_include_every_kind_of_trouble(dtype: str) -> None:
    values = numpy.concatenate(
        [case.values["x"].reshape(-1).astype(numpy.float64) for case in run(Input("x", tensor(dtype, [5]))).taken]
    )
    assert numpy.isnan(values).any()
    assert {numpy.inf, -numpy.inf, 0.0, 1.0} <= set(values.tolist())
    assert (numpy.signbit(values) & (values == 0)).any()
    assert numpy.abs(values[numpy.isfinite(values)]).max() > 1e4


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64", "int16"])
def test_integers_include_their_extremes(dtype: str) -> None:
    limits = numpy.iinfo(numpy_dtype(dtype))
    values = {value for case in run(Input("x", tensor(dtype, [5]))).taken for value in case.values["x"].tolist()}
    assert {limits.min, limits.max, 0} <= values


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float8e5m2", "int4", "bool"])
def test_every_value_of_a_small_dtype_is_tried(dtype: str) -> None:
    expected = every_value_of(dtype)
    assert expected is not None
    seen = {value.tobytes() for case in run(Input("x", tensor(dtype, [3, 7]))).taken for value in case.values["x"].flat}
    assert seen >= {value.tobytes() for value in expected}


@pytest.mark.parametrize("shape", [["N"], [8, 9]])
def test_every_pair_of_special_values_is_tried(shape: list[int | str]) -> None:
    found = run(Input("a", tensor("float", shape)), Input("b", tensor("float", shape)))
    pairs = {
        (a.tobytes(), b.tobytes())
        for case in found.taken
        for a, b in zip(case.values["a"].flat, case.values["b"].flat, strict=True)
    }
    special = [value.tobytes() for value in special_values("float")]
    assert {(a, b) for a in special for b in special} <= pairs


def test_every_pair_of_bytes_is_tried_where_sizes_are_open() -> None:
    found = run(Input("a", tensor("int8", ["N"])), Input("b", tensor("int8", ["N"])))
    pairs = {(int(a), int(b)) for case in found.taken for a, b in zip(case.values["a"], case.values["b"], strict=True)}
    assert len(pairs) == 1 << 16


def test_every_pair_of_bytes_is_tried_within_one_input() -> None:
    found = run(Input("x", tensor("uint8", ["N", "M"])))
    rows = {tuple(row) for case in found.taken for row in case.values["x"].tolist() if len(row) == 2}
    columns = {tuple(row) for case in found.taken for row in case.values["x"].T.tolist() if len(row) == 2}
    assert len(rows) == len(columns) == 1 << 16


def test_all_combinations_of_few_booleans_are_tried() -> None:
    found = run(Input("a", tensor("bool", [2])), Input("b", tensor("bool", [2, 2])))
    seen = {(case.values["a"].tobytes(), case.values["b"].tobytes()) for case in found.taken}
    assert len(seen) == 64


def test_what_is_rejected_is_redrawn_from_narrower_ranges() -> None:
    def is_an_index(values: Any) -> bool:
        return bool(((values["x"] >= 0) & (values["x"] < 2)).all())

    found = run(Input("x", tensor("int64", [4])), accepts=is_an_index)
    assert found.taken
    assert found.rejected


def test_inputs_that_control_shapes_stay_small() -> None:
    # An evaluator rejects what would not fit into memory.
    made = Taker(accepts=lambda values: values["shape"].min() >= 0 and values["shape"].max() < 2**30)

    def reshaped(case: Case) -> list[Any] | None:
        return None if made(case) is None else [tuple(case.values["shape"])]

    inputs = [Input("x", tensor("float", [3, 4])), Input("shape", tensor("int64", [2]), controls_shapes=True)]
    InputGenerator(inputs, [0]).run(reshaped)
    assert all(case.values["shape"].max() <= 12 for case in made.taken)
    assert any(case.values["shape"].tolist() == [3, 4] for case in made.taken)


@pytest.mark.parametrize("rounding", [False, True])
def test_data_whose_type_is_that_of_indices_is_as_large_as_any(rounding: bool) -> None:
    inputs = [Input("x", tensor("uint8", [3, 4])), Input("bias", tensor("int32", [2]), controls_shapes=True)]
    made = Taker()
    InputGenerator(inputs, [0], rounding=rounding).run(lambda case: None if made(case) is None else [(3, 4)])
    magnitudes = [abs(int(number)) for case in made.taken for number in case.values["bias"]]
    assert max(magnitudes) > 2**28


@pytest.mark.parametrize(("low", "high"), [(0, 15), (-16, 15), (0, 200), (-1000, 999)])
def test_all_indices_are_tried_that_the_original_takes(low: int, high: int) -> None:
    """What draws them otherwise keeps them as small as a size of another input may be."""

    def picked(case: Case) -> list[Any] | None:
        values = case.values["indices"]
        if values.min() < low or values.max() > high:
            return None
        taken.append(values)
        return [values.shape]

    taken: list[Any] = []
    inputs = [Input("x", tensor("float", [2, 3])), Input("indices", tensor("int64", [2, 3]), controls_shapes=True)]
    InputGenerator(inputs, [0]).run(picked)
    found = numpy.concatenate(taken, axis=None)
    assert found.min() < 0.8 * low or not low
    assert found.max() > 0.8 * high
    assert any(len(numpy.unique(values)) == values.size and values.max() > 5 for values in taken)


def test_inputs_that_control_shapes_are_filled_by_different_strategies() -> None:
    def fits(values: Any) -> bool:
        axes, steps = values["axes"], values["steps"]
        return len({int(axis) % 3 for axis in axes}) == 3 and bool((abs(axes + 0.5) < 3.5).all() and (steps != 0).all())

    found = run(
        Input("x", tensor("float", [4, 5, 6])),
        Input("axes", tensor("int64", [3]), controls_shapes=True),
        Input("steps", tensor("int64", [3]), controls_shapes=True),
        accepts=fits,
    )
    assert len({tuple(case.values["axes"]) for case in found.taken}) > 5
    assert len({tuple(case.values["steps"]) for case in found.taken}) > 5


def test_single_numbers_stay_small_where_sizes_follow_from_values() -> None:
    made = Taker()

    def arange(case: Case) -> list[Any] | None:
        if abs(float(case.values["limit"])) > 2**30:
            return None  # an evaluator rejects what would not fit into memory
        assert abs(float(case.values["limit"])) < 1000, "this would make a tensor of that size"
        made(case)
        return [(max(0, int(case.values["limit"])),)]

    InputGenerator([Input("limit", tensor("int64", []))], [0]).run(arange)
    assert len(made.taken) > 5


def test_an_example_is_tried_first() -> None:
    example = numpy.array([5, 7], dtype=numpy.int64)

    def is_the_example(values: Any) -> bool:
        return bool((values["axes"] == example).all())

    found = run(Input("axes", tensor("int64", [2]), controls_shapes=True, example=example), accepts=is_the_example)
    assert found.taken
    assert not found.rejected or found.taken[0].values["axes"] is example


def test_hints_are_sizes_to_guess() -> None:
    found = run(Input("x", tensor("float", ["N", "C"])), hints=[12], accepts=lambda values: values["x"].shape[1] == 12)
    assert found.taken


def test_no_layout_is_guessed_twice() -> None:
    guessed: list[tuple[int, ...]] = []

    def reject(case: Case) -> None:
        if case.layout.startswith("guessed"):
            guessed.append(case.values["x"].shape)

    InputGenerator([Input("x", tensor("float", ["N", 3]))], [0]).run(reject)
    assert len(set(guessed)) > 4
    assert all(guessed.count(shape) <= 2 for shape in guessed), "two strategies each"


def test_each_open_size_is_tried_as_1_alone() -> None:
    """There it broadcasts, and others of the same place do not."""
    found = run(Input("x", tensor("float", ["A", "B"])), Input("z", tensor("float", ["C"])))
    shapes = [(*case.values["x"].shape, *case.values["z"].shape) for case in found.taken]
    for place in range(3):
        assert any(shape[place] == 1 and shape.count(1) == 1 and 0 not in shape for shape in shapes), place


@pytest.mark.parametrize("seed", range(4))
def test_guessed_sizes_are_not_all_1(seed: int) -> None:
    def accepts(values: dict[str, numpy.ndarray]) -> bool:
        (height, width), (rows, columns) = values["x"].shape, values["o"].shape
        return height == rows + 1 and width == columns > 0

    inputs = Input("x", tensor("float", ["H", "W"])), Input("o", tensor("float", ["P", "Q"]))
    found = run(*inputs, accepts=accepts, seed=seed)
    assert any(min(case.values["x"].shape) > 1 for case in found.taken)


def test_the_search_ends_where_the_original_accepts_nothing() -> None:
    found = run(Input("x", tensor("float", None)), accepts=lambda values: False)
    assert not found.taken
    assert found.rejected < 1000


def test_rounding_sites_get_one_sign_per_tensor() -> None:
    found = run(Input("x", tensor("float", [4, 5])), rounding=True)
    for case in found.taken:
        values = case.values["x"][numpy.isfinite(case.values["x"])]
        assert "small integers" in case.label or (values >= 0).all() or (values <= 0).all()


def test_rounding_sites_get_what_is_not_finite_too() -> None:
    found = run(Input("x", tensor("float", [4, 5])), rounding=True)
    values = numpy.concatenate([case.values["x"].reshape(-1) for case in found.taken])
    assert numpy.isnan(values).any()
    assert numpy.isposinf(values).any()
    assert numpy.isneginf(values).any()


@pytest.mark.parametrize("rounding", [False, True])
def test_what_is_not_finite_is_tried_beside_every_accepted_value_that_controls_shapes(rounding: bool) -> None:
    control = Input("s", tensor("int64", [1]), controls_shapes=True)
    found = run(Input("x", tensor("float", [40])), control, rounding=rounding, accepts=lambda values: values["s"] > 0)
    met: dict[int, set[bytes]] = {}
    for case in found.taken:
        x = case.values["x"]
        met.setdefault(int(case.values["s"][0]), set()).update(str(value).encode() for value in x[~numpy.isfinite(x)])
    assert met.keys() >= {1, 2, 3, 4, 5, 6}
    assert all(values >= {b"nan", b"inf", b"-inf"} for number, values in met.items() if number <= 6)


def test_a_value_that_is_not_finite_may_stand_anywhere() -> None:
    draws = [run(Input("x", tensor("float", [9])), rounding=True, seed=seed) for seed in range(9)]
    places = {
        int(numpy.isnan(case.values["x"]).argmax())
        for found in draws
        for case in found.taken
        if numpy.isnan(case.values["x"]).any()
    }
    assert len(places) > 2


def test_sequences_and_optionals_are_drawn() -> None:
    sequence = helper.make_sequence_type_proto(tensor("float", ["N"]))
    optional = helper.make_optional_type_proto(tensor("float", ["N"]))
    found = run(Input("s", sequence), Input("o", optional))
    assert {len(case.values["s"]) for case in found.taken} >= {0, 2}
    assert any(case.values["o"] is None for case in found.taken)
    assert any(case.values["o"] is not None for case in found.taken)


def test_an_attempt_ends_the_generator_when_it_has_enough() -> None:
    count = 0

    def attempt(case: Case) -> list[Any]:
        nonlocal count
        count += 1
        if count == 3:
            raise Enough
        return [()]

    InputGenerator([Input("x", tensor("float", [2]))], [0]).run(attempt)
    assert count == 3


def test_sizes_of_which_one_is_a_multiple_of_another_are_tried_larger() -> None:
    inputs = Input("x", tensor("float", ["A", "N"])), Input("half", tensor("float", ["M"]))
    found = run(*inputs, accepts=lambda values: values["x"].shape[1] == 2 * len(values["half"]))
    assert len({len(case.values["half"]) for case in found.taken} - {0}) >= 3


@pytest.mark.parametrize("rounding", [False, True])
def test_boxes_of_alike_rows_overlap_to_every_degree_beside_thresholds(rounding: bool) -> None:
    inputs = Input("x", tensor("float", [6, 4])), Input("t", tensor("float", [1]))
    found = run(*inputs, rounding=rounding, accepts=lambda values: 0 <= values["t"][0] <= 1)
    overlaps = [
        width * height / (2 - width * height)  # of two boxes of one size
        for case in found.taken
        if "alike rows" in case.label and case.values["t"][0] not in (0, 1)
        for one, other in combinations(case.values["x"].astype(float), 2)
        for height, width in [numpy.maximum(1 - numpy.abs(one[:2] - other[:2]), 0)]
    ]
    assert min(overlaps) < 0.6
    assert max(overlaps) > 0.9


def test_data_is_tried_as_small_as_a_small_number_of_the_site_and_its_root() -> None:
    made = Taker()
    inputs = [Input("x", tensor("float", [2, 8])), Input("s", tensor("float", [8]))]
    InputGenerator(inputs, [0], rounding=True, numbers=(1e-6, 3.0)).run(made)
    for scale in (1e-6, 1e-3):
        assert any(
            (abs(case.values["x"]) < 3 * scale).all() and (abs(case.values["s"]) >= 0.4).all()
            for case in made.taken
            if numpy.isfinite(case.values["s"]).all() and (case.values["x"] > 0).all()
        )


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int8", "float", "double", "float16", "bfloat16"])
def test_neighbours_are_close_to_one_another_and_differ(dtype: str) -> None:
    drawn = [draw(NEIGHBOURS, dtype, (16,), numpy.random.default_rng(seed)) for seed in range(20)]
    assert {values.dtype for values in drawn} == {numpy_dtype(dtype)}
    for values in drawn:
        numbers = [int(one) if values.dtype.kind in "iu" else float(one) for one in values]
        apart = 4 if values.dtype.kind in "iu" else 8 * float(ml_dtypes.finfo(values.dtype).eps) * abs(numbers[0])
        assert 0 < max(numbers) - min(numbers) <= apart
    if dtype == "int64":
        assert any(2**63 - 1 in values and 2**63 - 2 in values for values in drawn)


def test_neighbours_are_tried_where_every_bit_counts() -> None:
    taken = [case for case in run(Input("x", tensor("int64", [5]))).taken if in_words(NEIGHBOURS) in case.label]
    assert any(len({int(one) for one in case.values["x"]}) > 1 for case in taken)


@pytest.mark.parametrize("seed", range(3))
def test_all_inputs_are_near_the_largest_number_at_once(seed: int) -> None:
    """Sums of many products need the most digits there: 400 products of bytes do not fit into a float."""
    taken = run(*(Input(name, tensor("uint8", [5])) for name in "xy"), seed=seed).taken
    bytes_taken = [numpy.concatenate([case.values["x"], case.values["y"]]) for case in taken]
    assert any(one.min() >= 253 and len(set(one.tolist())) > 1 for one in bytes_taken)


def test_each_of_three_inputs_of_unknown_rank_alone_decides_on_the_size() -> None:
    taken = run(*(Input(name, tensor("float", None)) for name in "cxz")).taken
    for name in "cxz":
        assert any(
            case.values[name].size > 1 == max(one.size for other, one in case.values.items() if other != name)
            for case in taken
        )


def test_sites_that_round_meet_tensors_of_tiny_numbers_alone() -> None:
    found = run(Input("x", tensor("float", [3, 4])), rounding=True)
    largest = [float(numpy.abs(case.values["x"]).max()) for case in found.taken]
    assert any(0 < one < 2.0**-53 for one in largest)


def test_sites_that_round_meet_whole_numbers_and_halves_in_one_input() -> None:
    """Positions are on elements then, and halfway between them."""
    found = run(Input("x", tensor("float", [2, 3])), Input("grid", tensor("float", [3, 2])), rounding=True)
    drawn = [case.values for case in found.taken if (case.values["x"] >= 0.5).all()]
    met = [values["grid"] for values in drawn if len(set((2 * values["grid"]).flat) & set(range(-6, 9))) > 2]
    assert any((grid % 1 == 0).all() for grid in met)
    assert any((grid % 1 == 0.5).any() for grid in met)


def test_tensors_that_ascend_in_every_direction_are_tried_where_every_bit_counts() -> None:
    found = run(Input("x", tensor("float16", [3, 4])))
    tensors = [case.values["x"].astype(float) for case in found.taken]
    ascend = [all((numpy.diff(one, axis=axis) > 0).all() for axis in (0, 1)) for one in tensors]
    assert any(ascend)


@pytest.mark.parametrize("dtype", ["int32", "float"])
def test_numbers_of_the_site_stand_in_one_tensor_in_any_order(dtype: str) -> None:
    made = Taker()
    InputGenerator([Input("x", tensor(dtype, [12]))], [0], numbers=[5, 6, 7, 8]).run(made)
    rows = [case.values["x"].tolist() for case in made.taken if set(case.values["x"].tolist()) <= {5, 6, 7, 8}]
    assert {(5, 6), (5, 7), (7, 5), (8, 8)} <= {pair for row in rows for pair in pairwise(row)}


@pytest.mark.parametrize("seed", range(4))
def test_boxes_that_end_after_they_begin_are_tried_where_sites_round(seed: int) -> None:
    found = run(Input("boxes", tensor("float", [1, 4])), rounding=True, seed=seed)
    boxes = [case.values["boxes"][0] for case in found.taken]
    assert sum((numpy.diff(box) > 0).all() and box[3] > 2 * box[1] for box in boxes) > 1


def test_halves_tell_any_two_inputs_apart() -> None:
    for count in (2, 3, 17, 40):
        names = [str(number) for number in range(count)]
        found = halves(names)
        assert all(
            any(one in half and other not in half for half in found) for one in names for other in names if one != other
        )
        assert len(found) <= 2 * count.bit_length()
