"""Ways to write a node that a runtime may not take, and the dtypes that nodes have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import cycle, pairwise
from math import prod
from typing import Any

import numpy
from onnx import GraphProto, NodeProto, helper

from opsetlift.facts import ScopeFacts, has_late_windows
from opsetlift.model.arrays import Array
from opsetlift.model.def_use import uses_of
from opsetlift.model.loop_bodies import BEFORE_STATES, passed_on_elsewhere, reads_its_condition
from opsetlift.model.scopes import captured_names, referenced_names, subgraphs
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.specification.history import Definition
from opsetlift.specification.operands import input_operands, operands
from opsetlift.targets.bounds import may_be_negative, may_have_fractions
from opsetlift.targets.narrowing_casts import follows_a_narrowing_cast
from opsetlift.targets.ranges import Range
from opsetlift.targets.tree_votes import may_leave_out_votes

Grid = Mapping[str, frozenset[str]]
"""Dtypes by type variable, each of which goes with each of the others; variables that it leaves out may be anything."""

Kernels = Mapping[tuple[str, str, int], tuple[Grid, ...]]
"""By domain, operator and since-version: what a runtime has kernels for. Of what is not there, nothing is known."""

_Test = Callable[[NodeProto, Definition, ScopeFacts], bool]


@dataclass(frozen=True)
class Form:
    """A way to write a node that a runtime does not take, or takes for something else. All that it names must hold."""

    operator: str
    text: str
    """What the runtime does with it, as the end of a sentence that begins with the runtime."""
    source: str
    domain: str = ""
    versions: tuple[str, ...] = ()
    """The versions that do so; empty where all do."""
    opsets: Range = field(default=Range(1, None))
    given: frozenset[str] = frozenset()
    """Attributes of which the node has at least one."""
    absent: frozenset[str] = frozenset()
    """Attributes of which it has none."""
    negative: frozenset[str] = frozenset()
    """Attributes and constant inputs, by their names in the schema, each of which has a number below 0 in it."""
    nonzero: frozenset[str] = frozenset()
    """Attributes, lists of numbers, each of which has one that is not 0."""
    copies_channels: bool = False
    """Whether a constant shape has a 0, which copies a size, for the second axis."""
    zeros: frozenset[str] = frozenset()
    """Constant inputs that have a 0 in them."""
    attributes: Mapping[str, object] = field(default_factory=dict)
    """Attributes with their values; those of the schema where the node does not set them."""
    other_than: Mapping[str, Sequence[object]] = field(default_factory=dict)
    """Attributes with values, of which the node sets it to none."""
    at_least: Mapping[str, str] = field(default_factory=dict)
    """Attributes with others, one of whose numbers they reach; longer ones are held against the same numbers again."""
    ranks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Inputs by their names in the schema, each with ranks of which one is its."""
    result_ranks: frozenset[int] = frozenset()
    """Ranks of which one is that of its first output."""
    dtypes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Type variables, each with dtypes of which it stands for one."""
    outputs: int = 0
    """How many outputs the node has at least."""
    most_outputs: int = 0
    """How many it has at most; 0 where it may have any number."""
    skips_outputs: bool = False
    """Whether it leaves an output out before the last one."""
    has_late_windows: bool = False
    """Whether ceil_mode may give a pooling a window that starts in the end pads."""
    is_dilated: bool = False
    """Whether the elements of its windows lie apart: one of its dilations is above 1."""
    dilates_more_than_pairs: bool = False
    """Whether one of its dilations is above 1 along an axis where its kernel has not two elements."""
    gives_constants: bool = False
    """Whether a subgraph of it gives a constant."""
    has_longer_end_pads: bool = False
    """Whether the pad at the end of an axis may be longer than every second one of its pads, in their order, says."""
    uneven: frozenset[str] = frozenset()
    """Attributes, lists of numbers, whose second half is not their first: pads that differ at the two ends."""
    has_inputs: frozenset[str] = frozenset()
    """Optional inputs, by their names in the schema, that the node has."""
    lacks_inputs: frozenset[str] = frozenset()
    """Optional inputs that it leaves out."""
    known_inputs: frozenset[str] = frozenset()
    """Inputs that are constants and not computed from others."""
    overridable_inputs: frozenset[str] = frozenset()
    """Inputs that are initializers, for which callers may give other values."""
    computed_inputs: frozenset[str] = frozenset()
    """Inputs that are no constants."""
    open_inputs: frozenset[str] = frozenset()
    """Inputs with a size that is not known."""
    empty_inputs: frozenset[str] = frozenset()
    """Inputs with a size of 0."""
    ranked_inputs: frozenset[str] = frozenset()
    """Inputs whose rank is known."""
    undoes_cast: bool = False
    """Whether it casts back to the dtype from which a Cast before it came."""
    follows_narrowing_cast: bool = False
    """Whether it casts on what a Cast before it lost numbers of, to more than that dtype holds or to truth values."""
    input_counts: frozenset[int] = frozenset()
    """Numbers of inputs of which it has one."""
    has_outputs: frozenset[int] = frozenset()
    """Places, counted from 0, at each of which it has an output."""
    other_shapes: Mapping[str, str] = field(default_factory=dict)
    """Inputs, each with one of another shape."""
    other_lengths: Mapping[str, str] = field(default_factory=dict)
    """Inputs, each with one that may have another second size."""
    reduces_many: bool = False
    """Whether it names four axes or more, or three that are out of order or of which the first may have more than two
    elements."""
    reduces_single_elements: bool = False
    """Whether each of the axes that it reduces has one element."""
    reduces_one_of_the_first_among_several: bool = False
    """Whether it names several axes, but not all, and the first or the second one is among them."""
    leaves_last_axes: bool = False
    """Whether the axes that it reduces are not the last ones."""
    fewer_axes: Mapping[str, str] = field(default_factory=dict)
    """Inputs, each with one that has the same shape behind further axes of size 1."""
    attributes_as_sizes: Mapping[str, int] = field(default_factory=dict)
    """Attributes, each with an axis along which its first input has that size."""
    cuts_pads: bool = False
    """Whether output_shape of a ConvTranspose may be less than its windows cover along an axis."""
    cuts_odd_pads: bool = False
    """Whether it may be less by an odd number of elements."""
    exceeds_windows: bool = False
    """Whether output_shape of a ConvTranspose is more than its windows cover by a stride, or more, along an axis."""
    after: frozenset[str] = frozenset()
    """Operators of which one computes its first input."""
    matches: Mapping[str, str] = field(default_factory=dict)
    """Attributes that are texts, each with a regular expression that is found in it."""
    single_letters: frozenset[str] = frozenset()
    """Attributes, texts, with a letter that they have only once."""
    chain_computes: bool = False
    """Whether what starts the chain reads no constants."""
    within: frozenset[str] = frozenset()
    """Operators of which one holds the subgraph that it is in, at any depth."""
    reads_beyond: bool = False
    """Whether a subgraph of it reads what is computed outside the graph that it is in."""
    reads_around: bool = False
    """Whether a subgraph of it reads an input of the graph that it is in, or what a node of that computes."""
    not_after: frozenset[str] = frozenset()
    """Operators none of which computes its first input."""
    behind: frozenset[str] = frozenset()
    """Operators of which one computes its first input, or what that is computed from, up to a dozen nodes before."""
    not_behind: frozenset[str] = frozenset()
    """Operators of which none does."""
    second_not_read_by: frozenset[str] = frozenset()
    """Operators none of which reads its second output in the model as it was given."""
    read_by: frozenset[str] = frozenset()
    """Operators of which one reads its first output in the model as it was given."""
    not_read_by: frozenset[str] = frozenset()
    """Operators none of which reads its first output in the model as it was given."""
    chain: tuple[str, ...] = ()
    """Operators that lead to it: the first computes one of its inputs, the next one of that one's, and so on.

    "Add|Sub" stands for either.
    """
    widened_inputs: frozenset[str] = frozenset()
    """Inputs that broadcasting repeats: their shape is not that of the first output."""
    joins_channels: bool = False
    """Whether two computed inputs of three axes or more, neither by Identity, may differ in their second size."""
    may_join_nothing: bool = False
    """Whether an input that is no copy by Identity may have no elements along the attribute axis."""
    reads_graph_inputs: bool = False
    """Whether one of its inputs is an input of the graph."""
    may_be_negative: frozenset[str] = frozenset()
    """Inputs that nodes compute, which may give numbers below 0, as far as their operators tell."""
    looks_along_the_last_axis: bool = False
    """Whether its attribute axis is the last one of the first input, as far as is known, and may have many elements."""
    may_have_fractions: bool = False
    """Whether its first input may hold numbers that are not whole, as far as operators tell."""
    leaves_remainders: bool = False
    """Whether it divides what no Sub took the remainder off before, by a Mod with fmod."""
    comes_from_scalar_inputs: bool = False
    """Whether its first input is, or is made of scalars alone one of which is, an input of the graph without axes."""
    magnitudes: Mapping[str, float] = field(default_factory=dict)
    """Attributes and constant inputs, each with a magnitude that one of its numbers reaches."""
    mixed_numbers: frozenset[str] = frozenset()
    """Constant inputs that have different numbers."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """Attributes and constant inputs, each with the number that all of its elements are."""
    follows_a_product_of_products: bool = False
    """Whether its first input is a Mul one of whose inputs is a Mul, too."""
    has_other_powers: bool = False
    """Whether Pow computes its first input, and the exponent is not 2."""
    other_axes: frozenset[str] = frozenset()
    """Attributes and constant inputs that list axes of the first input, and not its last one alone."""
    single_axes: Mapping[str, int] = field(default_factory=dict)
    """Inputs that have only one element along an axis."""
    single_elements: frozenset[str] = frozenset()
    """Inputs that have axes, each with one element."""
    may_be_single_along: Mapping[str, str] = field(default_factory=dict)
    """Inputs, each with a constant input that names an axis along which it may have only one element."""
    pads_other_axes_than_the_last: bool = False
    """Whether a Pad adds elements, but none along the last axis, or may do so as its pads are computed."""
    changes_scales: bool = False
    """Whether a DequantizeLinear computes its first input, and a QuantizeLinear with another scale or zero point reads
    an output."""
    swaps_equal_sizes: bool = False
    """Whether a Transpose moves axes and gives the shape that it reads, whose sizes are known."""
    longer_inputs: Mapping[str, str] = field(default_factory=dict)
    """Inputs, each with one that it may be longer than along the attribute axis."""
    batched_inputs: frozenset[str] = frozenset()
    """Inputs whose first size is known, and not 1."""
    open_first_sizes: frozenset[str] = frozenset()
    """Inputs whose first size is not known."""
    sizes_as_inputs: frozenset[str] = frozenset()
    """Inputs computed from sizes and constants alone, among them those of a tensor whose first is not known."""
    resized_axes: frozenset[int] = frozenset()
    """Axes of the first input, each of which has another size in the first output."""
    lengths: Mapping[str, int] = field(default_factory=dict)
    """Attributes and constant inputs, by their names in the schema, each with how many elements it has at least."""
    most_lengths: Mapping[str, int] = field(default_factory=dict)
    """Attributes, lists, each with how many elements it has at most; none where it is left out."""
    non_negative: frozenset[str] = frozenset()
    """Attributes, lists of numbers, none of which is below 0."""
    may_leave_out_votes: bool = False
    """Whether it is an ensemble of trees, in which a class or target may get no vote."""
    stored_dtypes: frozenset[str] = frozenset()
    """Dtypes of which one is that of an input that is a constant and not computed from others."""
    has_other_numbers: bool = False
    """Whether its first input may have numbers other than the 0 and 1 that a Cast made of truth values before."""
    gives_unranked: bool = False
    """Whether the rank of what a subgraph of it gives is not known."""
    counts_its_runs: bool = False
    """Whether a node in its body other than Reshape reads the body's first input, the number of a loop's run."""
    reads_its_condition: bool = False
    """Whether a node in its body reads the body's second input, a loop's condition, other than to copy it to the next
    run by Identity."""
    gives_lists: bool = False
    """Whether it is a Loop that gives lists, too: an element of them for each run."""
    gives_what_no_input_changes: bool = False
    """Whether a state that its body gives is computed from none of the body's inputs."""
    gives_views_of_other_states: bool = False
    """Whether a state that its body gives is a copy or view of one of the body's inputs at another place."""
    has_slope_above_one: bool = False
    """Whether it takes a value and the product of it with one number, which is no constant of at most 1."""
    misfits_normalized_axes: bool = False
    """Whether a constant that it or the first of the chain reads has another shape than what a ReduceMean in the chain
    takes the mean of, where that is over the last axes."""
    joins_beside_channels: bool = False
    """Whether a constant of several numbers, smaller than the result, has axes above 1 other than the second one of the
    result and those that follow it without a gap."""
    widens_axes_in_between: bool = False
    """Whether it repeats an input along several axes that are between others."""
    joins_more_than_channels: bool = False
    """Whether a constant of several numbers has axes above 1 other than the second one of the result."""
    after_more_than_channels: frozenset[str] = frozenset()
    """Operators, one of which computes its first input from a constant of several numbers that has axes above 1 other
    than the second one of the result."""
    joins_channels_behind: frozenset[str] = frozenset()
    """Reductions: a constant with one axis above 1 may lie along the second axis of what one of these reduced."""
    gives_its_run_number: bool = False
    """Whether an output of its body is a copy by Identity of the body's first input, the number of a loop's run."""
    reads_copies: bool = False
    """Whether an input is another value as it is: from Identity, Dropout, or a Cast to the dtype that it has."""
    repeats_an_input: bool = False
    """Whether a value is two of its inputs."""
    is_shared: bool = False
    """Whether its first output is read more than once, or is an output of the graph that is read."""
    reads_folded: bool = False
    """Whether a node computes an input from constants alone."""
    reads_shared: bool = False
    """Whether a node computes its first input, and something else, too, reads it."""
    shares_a_part: bool = False
    """Whether several of its outputs are read, one of them more than once."""
    is_captured: bool = False
    """Whether a graph inside its own graph reads its first input or its first output."""
    cuts_sizes: bool = False
    """Whether scales times the sizes of its first input may be other than whole numbers, so that sizes are rounded."""
    has_more_rows: bool = False
    """Whether the matrices of its first input may have more rows than columns."""
    is_constant: bool = False
    """Whether all of its inputs are constants, and none is absent."""
    folds_what_graphs_inside_read: bool = False
    """Whether its inputs are constants, and a graph inside its own graph reads one of them that is from further out."""
    unranked_inputs: frozenset[str] = frozenset()
    """Inputs whose rank is not known."""
    passes_inputs_on: bool = False
    """Whether an output of its body is one of the body's inputs."""
    is_read_beside: bool = False
    """Whether something else, too, reads a result along the chain, or a product that is one of its inputs."""
    chain_reads_constant_first: bool = False
    """Whether the first input of what starts the chain is a constant."""
    chain_starts_with_other_dtype: bool = False
    """Whether the first input of what starts the chain has another dtype than the node gives."""
    chain_starts_elsewhere: bool = False
    """Whether the node reads nothing that what starts the chain reads, nor a product of that with a constant."""
    ends_with_absent_input: bool = False
    """Whether the last of its inputs has no name, and could be left out."""
    lists_until_a_condition: bool = False
    """Whether it is a Loop that gives lists of what its runs give, and its body computes whether it goes on."""
    is_read: bool = False
    """Whether a node reads its first output."""
    gives_graph_outputs: bool = False
    """Whether its first output is one of its graph."""
    shorter_inputs: Mapping[str, str] = field(default_factory=dict)
    """Inputs, each with one than which it is shorter along an axis other than the attribute axis."""
    may_resize_channels: bool = False
    """Whether its result has three axes or more, and may have another first or second size than its first input."""
    resizes_channels: bool = False
    """Whether constant scales or sizes change one of the first two axes."""
    resizes_by_fractions: bool = False
    """Whether constant scales or sizes make the data longer or shorter by what is no whole number of times."""
    falls: frozenset[str] = frozenset()
    """Attributes and constant inputs, lists of numbers, each with one that is below the one before it."""
    leaps: frozenset[str] = frozenset()
    """Attributes and constant inputs, lists of numbers, each with one that is not one more than the one before it."""
    misfits_axis: frozenset[str] = frozenset()
    """Inputs whose shape is not that of the first input from the attribute axis on."""
    differs_beside_axis: Mapping[str, str] = field(default_factory=dict)
    """Inputs, each with one that has another size along an axis other than the attribute axis."""
    sizes_behind_axis: bool = False
    """Whether an axis of its first input behind the attribute axis may have another size than 1."""
    stacks_differ: bool = False
    """Whether its first two inputs are stacks of matrices of other shapes, or a stack and a matrix."""
    repeated_stacks: frozenset[str] = frozenset()
    """Inputs that are stacks of several matrices, and of fewer than the first output."""
    takes_defaults_for_constants: bool = False
    """Whether an input that is an initializer is a constant to the runtime also where callers may override it."""

    def fits(self, node: NodeProto, definition: Definition, scope: ScopeFacts, opset: int) -> bool:
        """Whether the node is written so."""
        return opset in self.opsets and all(test(node, definition, scope) for test in self._tests)

    @cached_property
    def _tests(self) -> Sequence[_Test]:
        """What a node has to pass, quick tests first: most forms name little of what there is."""
        tests: Sequence[tuple[object, _Test]] = (
            (self.given, lambda node, *_: any(one.name in self.given for one in node.attribute)),
            (self.absent, lambda node, *_: not any(one.name in self.absent for one in node.attribute)),
            (self.outputs, lambda node, *_: len(node.output) >= self.outputs),
            (self.most_outputs, lambda node, *_: len(node.output) <= self.most_outputs),
            (self.skips_outputs, lambda node, *_: not all(node.output)),
            (self.input_counts, lambda node, *_: len(node.input) in self.input_counts),
            (self.has_outputs, lambda node, *_: all(any(node.output[at : at + 1]) for at in self.has_outputs)),
            (self.ends_with_absent_input, lambda node, *_: bool(node.input) and not node.input[-1]),
            (self.attributes, self._has_the_attributes),
            (self.other_than, self._has_other_attributes),
            (self.matches, self._matches),
            (self.single_letters, self._has_single_letters),
            (self.within, lambda node, _, scope: _is_within(self.within, scope)),
            (self.at_least, lambda node, *_: all(_reaches(node, *one) for one in self.at_least.items())),
            (self.has_longer_end_pads, lambda node, *_: _has_longer_end_pads(node)),
            (self.uneven, lambda node, *_: all(_is_uneven(node, name) for name in self.uneven)),
            (self.nonzero, lambda node, *_: all(_is_nonzero(node, name) for name in self.nonzero)),
            (self.is_dilated, lambda node, *_: _is_dilated(node)),
            (self.dilates_more_than_pairs, lambda node, _, scope: _dilates_more_than_pairs(node, scope)),
            (self.reads_beyond, lambda node, _, scope: _reads_beyond(node, scope)),
            (self.reads_around, lambda node, _, scope: _reads_around(node, scope)),
            (self.gives_unranked, lambda node, _, scope: _gives_unranked(node, scope)),
            (self.counts_its_runs, lambda node, *_: _counts_its_runs(node)),
            (self.reads_its_condition, lambda node, *_: _reads_its_condition(node)),
            (self.gives_lists, lambda node, *_: len(node.output) > len(node.input) - BEFORE_STATES),
            (self.gives_what_no_input_changes, lambda node, *_: _gives_what_no_input_changes(node)),
            (self.gives_views_of_other_states, lambda node, *_: _gives_views_of_other_states(node)),
            (self.has_slope_above_one, lambda node, _, scope: _has_slope_above_one(node, scope)),
            (self.gives_its_run_number, lambda node, *_: _gives_its_run_number(node)),
            (self.lists_until_a_condition, lambda node, *_: _lists_until_a_condition(node)),
            (self.reads_copies, lambda node, _, scope: any(_copies(name, scope) for name in node.input if name)),
            (
                self.reads_folded,
                lambda node, _, scope: any(self._is_folded(name, scope) for name in node.input if name),
            ),
            (
                self.reads_shared,
                lambda node, _, scope: scope.producer(node.input[0]) is not None and scope.is_shared(node.input[0]),
            ),
            (self.shares_a_part, lambda node, _, scope: _shares_a_part(node, scope)),
            (self.is_captured, lambda node, _, scope: any(map(scope.is_captured, (node.input[0], node.output[0])))),
            (self.is_shared, lambda node, _, scope: scope.is_shared(node.output[0])),
            (
                self.repeats_an_input,
                lambda node, *_: len({*filter(None, node.input)}) < len([*filter(None, node.input)]),
            ),
            (self.is_constant, lambda node, _, scope: all(name and self._is_known(name, scope) for name in node.input)),
            (self.folds_what_graphs_inside_read, lambda node, _, scope: _folds_what_graphs_inside_read(node, scope)),
            (self.passes_inputs_on, lambda node, *_: _passes_inputs_on(node)),
            (self.not_after, lambda node, _, scope: not _is_after(node, self.not_after, scope)),
            (self.read_by, lambda node, _, scope: _is_read_by(node, self.read_by, scope)),
            (self.not_read_by, lambda node, _, scope: not _is_read_by(node, self.not_read_by, scope)),
            (self.second_not_read_by, lambda node, _, scope: not _is_read_by(node, self.second_not_read_by, scope, 1)),
            (self.is_read, lambda node, _, scope: _is_read(node, scope)),
            (self.gives_graph_outputs, lambda node, _, scope: _gives_graph_outputs(node, scope)),
            (self.may_resize_channels, lambda node, _, scope: _may_resize_channels(node, scope)),
            (self.behind, lambda node, _, scope: _is_behind(node, self.behind, scope)),
            (self.not_behind, lambda node, _, scope: not _is_behind(node, self.not_behind, scope)),
            (self.chain, lambda node, _, scope: bool(_chain(node, self.chain, scope))),
            (self.chain_computes, lambda node, _, scope: _computes_its_chain(node, self.chain, scope)),
            (
                self.chain_reads_constant_first,
                lambda node, _, scope: any(scope.is_constant(one.input[0]) for one in _chain(node, self.chain, scope)),
            ),
            (self.chain_starts_elsewhere, lambda node, _, scope: _starts_elsewhere(node, self.chain, scope)),
            (self.chain_starts_with_other_dtype, lambda node, _, scope: _starts_otherwise(node, self.chain, scope)),
            (self.joins_beside_channels, lambda node, _, scope: _joins_beside_channels(node, scope)),
            (self.widens_axes_in_between, lambda node, _, scope: _widens_axes_in_between(node, scope)),
            (
                self.after_more_than_channels,
                lambda node, _, scope: (
                    _is_after(node, self.after_more_than_channels, scope)
                    and (before := scope.producer(node.input[0])) is not None
                    and _joins_more_than_channels(before, scope)
                ),
            ),
            (self.joins_more_than_channels, lambda node, _, scope: _joins_more_than_channels(node, scope)),
            (
                self.joins_channels_behind,
                lambda node, _, scope: _joins_channels_behind(node, self.joins_channels_behind, scope),
            ),
            (self.ranks, self._has_the_ranks),
            (self.result_ranks, lambda node, _, scope: _rank(node.output[0], scope) in self.result_ranks),
            (self.dtypes, self._has_the_dtypes),
            (self.negative, self._has_negative_numbers),
            (self.has_late_windows, lambda node, _, scope: has_late_windows(node, scope.shape(node.input[0]))),
            (self.copies_channels, lambda node, _, scope: _copies_channels(node, scope)),
            (self.cuts_sizes, _cuts_sizes),
            (self.has_more_rows, lambda node, _, scope: _has_more_rows(scope.shape(node.input[0]))),
            (self.undoes_cast, lambda node, _, scope: _undoes_the_cast_before(node, scope)),
            (self.follows_narrowing_cast, lambda node, _, scope: follows_a_narrowing_cast(node, scope)),
            (self.gives_constants, lambda node, _, scope: _gives_a_constant(node, scope)),
            (self.has_other_numbers, lambda node, _, scope: not _moves_truth_values(node, scope)),
            (self.stored_dtypes, self._stores_one_of_the_dtypes),
            (self.widened_inputs, self._widens_its_inputs),
            (self.lengths, self._has_the_lengths),
            (self.most_lengths, self._has_at_most_the_lengths),
            (
                self.non_negative,
                lambda node, *_: not any(one < 0 for name in self.non_negative for one in _list(node, name)),
            ),
            (self.may_leave_out_votes, lambda node, *_: may_leave_out_votes(node)),
            (self.resized_axes, self._resizes_the_axes),
            (self.joins_channels, lambda node, _, scope: _joins_channels(node, scope)),
            (self.may_join_nothing, _may_join_nothing),
            (self.reads_graph_inputs, lambda node, _, scope: _reads_graph_inputs(node, scope)),
            (self.may_be_negative, self._may_have_negative_numbers),
            (
                self.may_have_fractions,
                lambda node, _, scope: may_have_fractions(node.input[0], scope, _MOST_STEPS_BEHIND),
            ),
            (self.leaves_remainders, lambda node, _, scope: _leaves_remainders(node, scope)),
            (self.comes_from_scalar_inputs, lambda node, _, scope: _comes_from_scalar_inputs(node, scope)),
            (self.magnitudes, self._reaches_the_magnitudes),
            (self.mixed_numbers, self._has_mixed_numbers),
            (self.numbers, self._has_the_numbers),
            (self.follows_a_product_of_products, lambda node, _, scope: _follows_a_product_of_products(node, scope)),
            (self.has_other_powers, lambda node, _, scope: _has_other_powers(node, scope)),
            (self.is_read_beside, lambda node, _, scope: _is_read_beside(node, self.chain, scope)),
            (
                self.misfits_normalized_axes,
                lambda node, _, scope: _misfits_normalized_axes(node, self.chain, scope),
            ),
            (self.falls, lambda *facts: all(any(one < 0 for one in self._steps(name, *facts)) for name in self.falls)),
            (self.leaps, lambda *facts: all(any(one != 1 for one in self._steps(name, *facts)) for name in self.leaps)),
            (self.misfits_axis, self._misfits_the_axis),
            (self.differs_beside_axis, self._differs_beside_the_axis),
            (self.sizes_behind_axis, _has_sizes_behind_axis),
            (self.stacks_differ, lambda node, _, scope: _has_other_stacks(node, scope)),
            (self.repeated_stacks, self._repeats_stacks),
            (self.resizes_channels, lambda node, *facts: _resizes_channels(node, *facts)),
            (self.resizes_by_fractions, lambda node, *facts: any(one % 1 for one in _factors(node, *facts))),
            (self.reduces_many, lambda node, _, scope: _reduces_many(node, scope)),
            (self.reduces_single_elements, lambda node, _, scope: _reduces_single_elements(node, scope)),
            (self.changes_scales, lambda node, _, scope: _changes_scales(node, scope)),
            (self.swaps_equal_sizes, lambda node, _, scope: _swaps_equal_sizes(node, scope)),
            (self.pads_other_axes_than_the_last, lambda *facts: _pads_other_axes_than_the_last(*facts)),
            (
                self.reduces_one_of_the_first_among_several,
                lambda node, _, scope: _reduces_one_of_the_first_among_several(node, scope),
            ),
            (self.leaves_last_axes, lambda node, _, scope: _leaves_last_axes(node, scope)),
            (self.fewer_axes, self._has_fewer_axes),
            (self.other_shapes, self._has_other_shapes),
            (self.other_lengths, self._has_other_lengths),
            (self.attributes_as_sizes, self._has_attributes_as_sizes),
            (self.cuts_pads, lambda *facts: any(one is None or one[0] > 0 for one in _left_by_output_shape(*facts))),
            (
                self.cuts_odd_pads,
                lambda *facts: any(one is None or (one[0] > 0 and one[0] % 2) for one in _left_by_output_shape(*facts)),
            ),
            (
                self.exceeds_windows,
                lambda *facts: any(one is not None and -one[0] >= one[1] for one in _left_by_output_shape(*facts)),
            ),
            (self.other_axes, self._has_other_axes),
            (self.looks_along_the_last_axis, _looks_along_the_last_axis),
            (self.single_axes, self._has_single_elements),
            (self.single_elements, self._has_inputs_of_one_element),
            (self.may_be_single_along, self._may_be_single_along),
            (self.longer_inputs, self._may_have_longer_inputs),
            (self.shorter_inputs, self._has_shorter_inputs),
            (self.after, lambda node, _, scope: _is_after(node, self.after, scope)),
            (self.has_inputs or self.lacks_inputs, self._has_and_lacks_inputs),
            (self.zeros, partial(self._reads_each, self.zeros, _has_a_zero)),
            (self.known_inputs, self._has_known_inputs),
            (self.overridable_inputs, partial(self._reads_each, self.overridable_inputs, _is_overridable)),
            (self.computed_inputs, self._has_computed_inputs),
            (self.open_inputs, self._has_open_inputs),
            (self.ranked_inputs, partial(self._reads_each, self.ranked_inputs, _is_ranked)),
            (self.unranked_inputs, partial(self._reads_each, self.unranked_inputs, _is_unranked)),
            (self.batched_inputs, self._has_batched_inputs),
            (self.empty_inputs, self._has_empty_inputs),
            (self.open_first_sizes, partial(self._reads_each, self.open_first_sizes, _has_open_first_size)),
            (self.sizes_as_inputs, partial(self._reads_each, self.sizes_as_inputs, _is_of_open_sizes)),
        )
        return tuple(test for named, test in tests if named)

    def _has_the_attributes(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        return all(_attribute(node, definition, name) == value for name, value in self.attributes.items())

    def _has_other_attributes(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        set_here = {one.name for one in node.attribute}
        return all(
            name in set_here and _attribute(node, definition, name) not in values
            for name, values in self.other_than.items()
        )

    def _matches(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        return all(
            re.search(pattern, str(_attribute(node, definition, name))) for name, pattern in self.matches.items()
        )

    def _has_single_letters(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        texts = [str(_attribute(node, definition, name)) for name in self.single_letters]
        return all(any(one.isalpha() and text.count(one) == 1 for one in text) for text in texts)

    @property
    def depth(self) -> int:
        """How many nodes before a node it may look at, one behind the other."""
        return max(
            len(self.chain),
            _MOST_STEPS_FROM_SIZES if self.sizes_as_inputs else 0,
            _MOST_STEPS_BEHIND
            if self.behind
            or self.not_behind
            or self.joins_channels_behind
            or self.may_be_negative
            or self.may_have_fractions
            else 0,
            _MOST_MOVES + 1
            if self.has_other_numbers
            else 2
            if self.undoes_cast
            or self.follows_narrowing_cast
            or self.follows_a_product_of_products
            or self.has_other_powers
            or self.reads_copies
            else 1,
        )

    def _has_and_lacks_inputs(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        present = {one.formal for one in input_operands(node, definition)}
        return present >= self.has_inputs and self.lacks_inputs.isdisjoint(present)

    # Of several inputs of one name in the schema any may be constant, computed, empty or open; of all else the last one
    # was measured.

    def _has_known_inputs(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        asked = (one for one in input_operands(node, definition) if one.formal in self.known_inputs)
        return self.known_inputs <= {
            one.formal for one in asked if self._is_known(one.name, scope) and _is_stored(one.name, scope)
        }

    def _has_computed_inputs(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        asked = (one for one in input_operands(node, definition) if one.formal in self.computed_inputs)
        return self.computed_inputs <= {one.formal for one in asked if not self._is_known(one.name, scope)}

    def _has_empty_inputs(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        each = ((one.formal, scope.shape(one.name)) for one in input_operands(node, definition))
        return self.empty_inputs <= {formal for formal, shape in each if 0 in (shape or ())}

    def _has_open_inputs(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        each = ((one.formal, scope.shape(one.name)) for one in input_operands(node, definition))
        return self.open_inputs <= {formal for formal, shape in each if not _is_fixed(shape)}

    def _has_batched_inputs(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        shapes = _input_shapes(node, definition, scope)
        found = [shapes.get(formal) for formal in self.batched_inputs]
        return all(shape is not None and _is_fixed(shape) and shape[:1] not in ([], [1]) for shape in found)

    def _reads_each(
        self,
        formals: Set[str],
        test: Callable[[str, ScopeFacts], bool],
        node: NodeProto,
        definition: Definition,
        scope: ScopeFacts,
    ) -> bool:
        """Whether each of some inputs is given and passes a test."""
        present = {one.formal: one.name for one in input_operands(node, definition)}
        return all(formal in present and test(present[formal], scope) for formal in formals)

    def _is_known(self, name: str, scope: ScopeFacts) -> bool:
        return scope.is_constant(name) or (self.takes_defaults_for_constants and scope.is_initializer(name))

    def _is_folded(self, name: str, scope: ScopeFacts) -> bool:
        before = scope.producer(name)
        return (
            before is not None and bool(before.input) and all(self._is_known(one, scope) for one in before.input if one)
        )

    def _has_negative_numbers(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        found = {one.name for one in node.attribute if min([one.i, one.f, *one.ints, *one.floats]) < 0}
        for one in input_operands(node, definition):
            if one.formal in self.negative and scope.holds(one.name, _is_partly_negative):
                found.add(one.formal)
        return found >= self.negative

    def _may_have_negative_numbers(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        present = {one.formal: one.name for one in input_operands(node, definition)}
        return all(
            formal in present
            and not scope.is_constant(present[formal])
            and may_be_negative(present[formal], scope, _MOST_STEPS_BEHIND)
            for formal in self.may_be_negative
        )

    def _resizes_the_axes(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        before, after = scope.shape(node.input[0]), scope.shape(node.output[0])
        if before is None or after is None or len(before) != len(after):
            return False
        return all(axis < len(before) and before[axis] != after[axis] for axis in self.resized_axes)

    def _widens_its_inputs(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        result = scope.shape(node.output[0])
        if result is None:
            return False
        # Of several inputs of one name in the schema any may be repeated.
        shapes = [(one.formal, scope.shape(one.name)) for one in input_operands(node, definition)]
        repeated = {formal for formal, shape in shapes if shape is not None and shape != result}
        return self.widened_inputs <= repeated

    def _steps(self, name: str, node: NodeProto, definition: Definition, scope: ScopeFacts) -> list[int]:
        """By how much each number of a list is above the one before it; of axes of the first input, from the front."""
        numbers = next((list(one.ints) for one in node.attribute if one.name == name), None)
        for one in input_operands(node, definition) if numbers is None else ():
            if one.formal == name and (known := scope.content(one.name)) is not None:
                numbers = known.reshape(-1).tolist()
        return [after - before for before, after in pairwise(numbers or [])]

    def _misfits_the_axis(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        axis, shape = _attribute(node, definition, "axis"), scope.shape(node.input[0])
        if not isinstance(axis, int) or shape is None:
            return False
        shapes = _input_shapes(node, definition, scope)
        found = [shapes.get(formal) for formal in self.misfits_axis]
        return all(one is not None and list(one) != list(shape[axis:]) for one in found)

    def _differs_beside_the_axis(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        axis = _attribute(node, definition, "axis")
        shapes = _input_shapes(node, definition, scope)
        for formal, other in self.differs_beside_axis.items():
            one, two = shapes.get(formal), shapes.get(other)
            if one is None or two is None or len(one) != len(two) or not isinstance(axis, int):
                return False
            beside = [at for at in range(len(one)) if at != _from_front(axis, len(one))]
            if all(one[at] == two[at] for at in beside):
                return False
        return True

    def _repeats_stacks(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        counts = {one.formal: _matrices_in(one.name, scope) for one in input_operands(node, definition)}
        most = _matrices_in(node.output[0], scope)
        return all(1 < (counts.get(formal) or 0) < (most or 0) for formal in self.repeated_stacks)

    def _reaches_the_magnitudes(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        found = {one.name: max(map(abs, (*one.ints, *one.floats, one.i, one.f))) for one in node.attribute}
        for one in input_operands(node, definition):
            value = scope.constant(one.name) if one.formal in self.magnitudes else None
            if value is not None and value.dtype.kind in "fi" and value.size:
                found[one.formal] = float(abs(value.astype(numpy.float64)).max())
        return all(found.get(name, 0) >= least for name, least in self.magnitudes.items())

    def _has_mixed_numbers(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        values = {one.formal: scope.constant(one.name) for one in input_operands(node, definition)}
        found = [values.get(formal) for formal in self.mixed_numbers]
        return all(one is not None and one.size > 1 and bool((one != one.flat[0]).any()) for one in found)

    def _has_the_numbers(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        values: dict[str, Array | None] = {one.name: numpy.array(_list(node, one.name)) for one in node.attribute}
        values |= {one.formal: scope.constant(one.name) for one in input_operands(node, definition)}
        return all(
            (value := values.get(name)) is not None and bool((value == number).all())
            for name, number in self.numbers.items()
        )

    def _has_fewer_axes(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        shapes = _input_shapes(node, definition, scope)
        pairs = [(shapes.get(formal), shapes.get(other)) for formal, other in self.fewer_axes.items()]
        return all(
            one is not None and two is not None and [1] * (len(two) - len(one)) + list(one) == list(two) != list(one)
            for one, two in pairs
        )

    def _has_other_shapes(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        shapes = _input_shapes(node, definition, scope)
        pairs = [(shapes.get(formal), shapes.get(other)) for formal, other in self.other_shapes.items()]
        return all(one is not None and two is not None and list(one) != list(two) for one, two in pairs)

    def _has_other_lengths(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        shapes = _input_shapes(node, definition, scope)
        sizes = [
            [(shapes.get(name) or ())[_CHANNELS : _CHANNELS + 1] for name in pair]
            for pair in self.other_lengths.items()
        ]
        return all(not one or not two or one[0] is None or list(one) != list(two) for one, two in sizes)

    def _has_attributes_as_sizes(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        shape = scope.shape(node.input[0]) or []
        return all(
            axis < len(shape) and shape[axis] == _attribute(node, definition, name)
            for name, axis in self.attributes_as_sizes.items()
        )

    def _has_other_axes(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        found = {one.name: list(one.ints) for one in node.attribute}
        for one in input_operands(node, definition):
            known = scope.constant(one.name) if one.formal in self.other_axes else None
            if known is not None:
                found[one.formal] = known.reshape(-1).tolist()
        shape = scope.shape(node.input[0])
        last = [[-1]] if shape is None else [[-1], [len(shape) - 1]]
        return all(found.get(name) not in last for name in self.other_axes)

    def _has_single_elements(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        shapes = _input_shapes(node, definition, scope)
        return all((shapes.get(formal) or [])[axis:][:1] == [1] for formal, axis in self.single_axes.items())

    def _has_inputs_of_one_element(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        shapes = _input_shapes(node, definition, scope)
        return all(set(shapes.get(formal) or [None]) == {1} for formal in self.single_elements)

    def _may_be_single_along(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        named = {one.formal: one.name for one in input_operands(node, definition)}
        for formal, other in self.may_be_single_along.items():
            shape, axis = scope.shape(named[formal]), scope.constant(named[other])
            size = None if shape is None or axis is None else shape[int(axis.reshape(-1)[0])]
            if isinstance(size, int) and size != 1:
                return False
        return True

    def _may_have_longer_inputs(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        shapes = _input_shapes(node, definition, scope)
        axis = _attribute(node, definition, "axis")
        assert isinstance(axis, int)
        for formal, other in self.longer_inputs.items():
            shape, limit = shapes.get(formal), shapes.get(other)
            if shape is None or limit is None or not -len(shape) <= axis < len(shape) == len(limit):
                continue
            size, most = shape[axis], limit[axis]
            if isinstance(size, int) and isinstance(most, int) and size <= most:
                return False
            if size == most is not None:
                return False
        return True

    def _has_shorter_inputs(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        shapes = _input_shapes(node, definition, scope)
        axis = _attribute(node, definition, "axis")
        assert isinstance(axis, int)
        for formal, other in self.shorter_inputs.items():
            shape, limit = shapes.get(formal), shapes.get(other)
            if shape is None or limit is None or not -len(shape) <= axis < len(shape) == len(limit):
                return False
            pairs = list(zip(shape, limit, strict=True))
            del pairs[axis]
            if not any(isinstance(size, int) and isinstance(most, int) and size < most for size, most in pairs):
                return False
        return True

    def _stores_one_of_the_dtypes(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        return any(
            dtype_of_type(scope.type_string(name) or "") in self.stored_dtypes
            and self._is_known(name, scope)
            and _is_stored(name, scope)
            for name in node.input
            if name
        )

    def _has_the_lengths(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        found = {one.name: len(_list(node, one.name)) for one in node.attribute}
        for one in input_operands(node, definition):
            known = scope.content(one.name) if one.formal in self.lengths else None
            if known is not None:
                found[one.formal] = known.size
        return all(found.get(name, 0) >= least for name, least in self.lengths.items())

    def _has_at_most_the_lengths(self, node: NodeProto, *_: object) -> bool:
        return all(len(_list(node, name)) <= most for name, most in self.most_lengths.items())

    def _has_the_ranks(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        found: dict[str, set[int]] = {}
        for one in input_operands(node, definition):
            shape = scope.shape(one.name) if one.formal in self.ranks else None
            if shape is not None:
                found.setdefault(one.formal, set()).add(len(shape))
        return all(not found.get(formal, set()).isdisjoint(ranks) for formal, ranks in self.ranks.items())

    def _has_the_dtypes(self, node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
        found = dtypes_of(node, definition, scope)
        return all(found.get(variable) in dtypes for variable, dtypes in self.dtypes.items())


def _list(node: NodeProto, name: str) -> list[Any]:
    """The elements of an attribute that is a list; none where it is left out."""
    return next(([*one.ints, *one.floats, *one.strings] for one in node.attribute if one.name == name), [])


def _has_a_zero(name: str, scope: ScopeFacts) -> bool:
    value = scope.constant(name)
    return value is not None and not value.all()


def _is_overridable(name: str, scope: ScopeFacts) -> bool:
    return scope.is_initializer(name) and not scope.is_constant(name)


def _is_ranked(name: str, scope: ScopeFacts) -> bool:
    return scope.shape(name) is not None


def _is_unranked(name: str, scope: ScopeFacts) -> bool:
    return scope.shape(name) is None


def _is_fixed(shape: Sequence[int | str | None] | None) -> bool:
    return shape is not None and all(isinstance(size, int) for size in shape)


def _misfits_normalized_axes(node: NodeProto, operators: Sequence[str], scope: ScopeFacts) -> bool:
    found = [node]
    factors = list(node.input)
    for step, operator in enumerate(operators):
        producers = [scope.producer(name) for one in found for name in one.input if name]
        found = [one for one in producers if one is not None and _is_one_of(operator, one)]
        factors += [name for one in found if step == 0 for name in one.input]
        if operator == "ReduceMean":
            break
    shapes = {value.shape for name in factors if name and (value := scope.content(name)) is not None}
    return any(shapes - {taken} for mean in found if (taken := _last_axes_taken(mean, scope)) is not None)


def _is_nonzero(node: NodeProto, name: str) -> bool:
    return any(any(one.ints) for one in node.attribute if one.name == name)


def _is_dilated(node: NodeProto) -> bool:
    return any(max(one.ints) > 1 for one in node.attribute if one.name == _DILATIONS)


def _dilates_more_than_pairs(node: NodeProto, scope: ScopeFacts) -> bool:
    given = {one.name: list(one.ints) for one in node.attribute}
    dilations = given.get(_DILATIONS, [])
    kernel = given.get("kernel_shape") or (scope.shape(node.input[1]) or [None] * (len(dilations) + 2))[2:]
    return any(dilation > 1 and taps != _PAIR for dilation, taps in zip(dilations, kernel, strict=False))


_PAIR = 2


def _last_axes_taken(node: NodeProto, scope: ScopeFacts) -> tuple[int | str | None, ...] | None:
    """The sizes along the axes of a reduction; None where these are not known, or not the last ones."""
    shape = scope.shape(node.input[0])
    given = next((list(one.ints) for one in node.attribute if one.name == "axes"), None)
    if given is None and len(node.input) > 1 and (known := scope.constant(node.input[1])) is not None:
        given = known.reshape(-1).tolist()
    if shape is None or not given:
        return None
    first = len(shape) - len(given)
    axes = sorted(_from_front(axis, len(shape)) for axis in given)
    return tuple(shape[first:]) if axes == list(range(first, len(shape))) else None


def _is_within(operators: frozenset[str], scope: ScopeFacts) -> bool:
    around: ScopeFacts | None = scope
    while around is not None:
        if around.owner is not None and around.owner.op_type in operators:
            return True
        around = around.parent
    return False


def _is_after(node: NodeProto, operators: frozenset[str], scope: ScopeFacts) -> bool:
    producer = scope.producer(node.input[0]) if node.input else None
    return producer is not None and producer.op_type in operators


def _is_behind(node: NodeProto, operators: frozenset[str], scope: ScopeFacts) -> bool:
    """Whether one of the operators is before the node, as far back as keys of equal nodes tell."""
    pending = {name for name in node.input[:1] if name}
    for _ in range(_MOST_STEPS_BEHIND):
        producers = [producer for name in pending if (producer := scope.producer(name)) is not None]
        if any(one.op_type in operators for one in producers):
            return True
        pending = {name for one in producers for name in one.input if name}
    return False


def _comes_from_scalar_inputs(node: NodeProto, scope: ScopeFacts) -> bool:
    pending = set(node.input[:1])
    for _ in range(_MOST_STEPS_BEHIND):
        pending = {name for name in pending if scope.shape(name) == [] and not scope.is_constant(name)}
        producers = {name: scope.producer(name) for name in pending}
        if None in producers.values():
            return True
        pending = {name for one in producers.values() if one is not None for name in one.input if name}
    return False


def _leaves_remainders(node: NodeProto, scope: ScopeFacts) -> bool:
    difference = scope.producer(node.input[0])
    remainder = scope.producer(difference.input[1]) if difference is not None and difference.op_type == "Sub" else None
    return not (
        difference is not None
        and remainder is not None
        and remainder.op_type == "Mod"
        and [*remainder.input] == [difference.input[0], node.input[1]]
        and any(one.name == "fmod" and one.i for one in remainder.attribute)
    )


def _is_read_by(node: NodeProto, operators: frozenset[str], scope: ScopeFacts, place: int = 0) -> bool:
    name = node.output[place] if place < len(node.output) else ""
    return bool(name) and any(one.op_type in operators for one in scope.index.readers(name))


def _is_read(node: NodeProto, scope: ScopeFacts) -> bool:
    return bool(scope.index.readers(node.output[0])) or scope.is_captured(node.output[0])


def _gives_graph_outputs(node: NodeProto, scope: ScopeFacts) -> bool:
    return any(one.name == node.output[0] for one in scope.container.output)


def _may_resize_channels(node: NodeProto, scope: ScopeFacts) -> bool:
    shape, result = scope.shape(node.input[0]), scope.shape(node.output[0])
    if shape is None or result is None:
        return shape is None or len(shape) > _CHANNELS + 1
    return len(shape) > _CHANNELS + 1 and shape[: _CHANNELS + 1] != result[: _CHANNELS + 1]


def _computes_its_chain(node: NodeProto, operators: Sequence[str], scope: ScopeFacts) -> bool:
    found = _chain(node, operators, scope)
    return any(not any(scope.is_constant(name) for name in one.input if name) for one in found)


def _starts_elsewhere(node: NodeProto, operators: Sequence[str], scope: ScopeFacts) -> bool:
    read = {name for name in node.input if name and not scope.is_constant(name)}
    factors = [one for name in read if (one := scope.producer(name)) is not None and one.op_type == "Mul"]
    read |= {name for one in factors if any(map(scope.is_constant, one.input)) for name in one.input}
    return any(read.isdisjoint(one.input) for one in _chain(node, operators, scope))


def _starts_otherwise(node: NodeProto, operators: Sequence[str], scope: ScopeFacts) -> bool:
    dtype = scope.type_string(node.output[0])
    return any(scope.type_string(one.input[0]) != dtype for one in _chain(node, operators, scope))


def _follows_a_product_of_products(node: NodeProto, scope: ScopeFacts) -> bool:
    product = scope.producer(node.input[0])
    factors = map(scope.producer, product.input) if product is not None and product.op_type == "Mul" else ()
    return any(one is not None and one.op_type == "Mul" for one in factors)


def _is_one_of(operators: str, node: NodeProto) -> bool:
    return node.op_type in operators.split("|")


def _chain(node: NodeProto, operators: Sequence[str], scope: ScopeFacts) -> list[NodeProto]:
    """The last of a chain: an input of the node comes from the first operator, one of that one's from the next..."""
    before = [node]
    for operator in operators:
        producers = [scope.producer(name) for one in before for name in one.input if name]
        before = [one for one in producers if one is not None and _is_one_of(operator, one)]
    return before


def _copies_channels(node: NodeProto, scope: ScopeFacts) -> bool:
    shape = scope.content(node.input[1]) if len(node.input) > 1 else None
    return shape is not None and shape.reshape(-1)[_CHANNELS : _CHANNELS + 1].tolist() == [0]


def _cuts_sizes(node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
    """Of a resampling: where scales are computed, it may."""
    given = {one.name: helper.get_attribute_value(one) for one in node.attribute}
    named = {one.formal: one.name for one in input_operands(node, definition)}
    scales = numpy.asarray(given["scales"]) if "scales" in given else None
    if "scales" in named:
        scales = scope.constant(named["scales"])
        if scales is None:
            return True
    shape = scope.shape(node.input[0])
    if scales is None or not scales.size:
        return False
    axes = given.get("axes") or range(scales.size)
    sizes = [None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis] for axis in axes]
    return any(
        scale != int(scale) and not (isinstance(size, int) and (numpy.float32(size) * scale) % 1 == 0)
        for size, scale in zip(sizes, scales.astype(numpy.float32), strict=False)
    )


def _has_more_rows(shape: Sequence[int | str | None] | None) -> bool:
    rows, columns = shape[-2:] if shape is not None and len(shape) >= _MATRIX else (None, None)
    if isinstance(rows, int) and isinstance(columns, int):
        return rows > columns
    return rows is None or rows != columns


_MATRIX = 2


def _has_other_powers(node: NodeProto, scope: ScopeFacts) -> bool:
    before = scope.producer(node.input[0])
    if before is None or before.op_type != "Pow":
        return False
    exponent = scope.constant(before.input[1])
    return exponent is None or not bool((exponent == _SQUARE).all())


def _is_read_beside(node: NodeProto, operators: Sequence[str], scope: ScopeFacts) -> bool:
    before = [producer for name in node.input if name and (producer := scope.producer(name)) is not None]
    found = [one for one in before if one.op_type == "Mul"]
    chain = [node]
    for operator in operators:
        producers = [scope.producer(name) for one in chain for name in one.input if name]
        chain = [one for one in producers if one is not None and _is_one_of(operator, one)]
        found += chain
    return any(scope.is_shared(one.output[0]) for one in found)


def _joins_channels(node: NodeProto, scope: ScopeFacts) -> bool:
    computed = [name for name in node.input if name and not scope.is_constant(name) and not _is_copy(name, scope)]
    shapes = [shape for shape in map(scope.shape, computed) if shape is None or len(shape) > _CHANNELS + 1]
    known = {(len(shape), shape[_CHANNELS]) for shape in shapes if shape is not None and shape[_CHANNELS] is not None}
    return len(shapes) > 1 and (len(known) != 1 or any(shape is None or shape[_CHANNELS] is None for shape in shapes))


def _joins_beside_channels(node: NodeProto, scope: ScopeFacts) -> bool:
    result = scope.shape(node.output[0])
    shapes = [scope.shape(name) for name in node.input if name and scope.is_constant(name)]
    for shape in shapes:
        if shape is None or result is None:
            return True
        long = [axis for axis, size in enumerate(shape, len(result) - len(shape)) if size != 1]
        if shape != result and long != list(range(_CHANNELS, _CHANNELS + len(long))):
            return True
    return False


def _widens_axes_in_between(node: NodeProto, scope: ScopeFacts) -> bool:
    result = scope.shape(node.output[0]) or []
    for shape in (scope.shape(name) or [] for name in node.input if name):
        padded = [1] * (len(result) - len(shape)) + shape
        kept = [axis for axis, size in enumerate(padded) if size != 1]
        if any(
            after - before > _ONE_IN_BETWEEN and result[before + 1 : after] != [1] * (after - before - 1)
            for before, after in pairwise(kept)
        ):
            return True
    return False


_ONE_IN_BETWEEN = 2


def _joins_more_than_channels(node: NodeProto, scope: ScopeFacts) -> bool:
    rank = len(scope.shape(node.output[0]) or ())
    shapes = [scope.shape(name) or [] for name in node.input if name and scope.is_constant(name)]
    long = [axis for shape in shapes for axis, size in enumerate(shape, rank - len(shape)) if size != 1]
    return not set(long) <= {_CHANNELS}


def _joins_channels_behind(node: NodeProto, operators: frozenset[str], scope: ScopeFacts) -> bool:
    """Whether a reduction of up to three axes leads to the node through such of one computed input."""
    shapes = [scope.shape(name) for name in node.input if scope.is_constant(name)]
    if len(shapes) != 1 or (shapes[0] is not None and sum(size != 1 for size in shapes[0]) != 1):
        return False
    joined = before = next(name for name in node.input if not scope.is_constant(name))
    for _ in range(_MOST_STEPS_BEHIND):
        producer = scope.producer(before)
        if producer is None:
            return False
        if producer.op_type in operators:
            return shapes[0] is None or _may_lie_along_channels(shapes[0], producer, scope.shape(joined), scope)
        computed = [name for name in producer.input if name and not scope.is_constant(name)]
        if len(computed) != 1:
            return False
        before = computed[0]
    return False


def _may_lie_along_channels(
    constant: Sequence[int | str | None],
    reduction: NodeProto,
    joined: Sequence[int | str | None] | None,
    scope: ScopeFacts,
) -> bool:
    """Whether the axis of a constant that is above 1 may be the second one of what was reduced, which is kept."""
    shape, result = scope.shape(reduction.input[0]), scope.shape(reduction.output[0])
    if shape is None or result is None or joined is None:
        return True
    if len(shape) > _MOST_AXES_WITH_CHANNELS_BEHIND:
        return False
    axes = _axes_taken(reduction, scope)
    if axes is None or list(result) != list(joined):
        return _CHANNELS not in (axes or ())
    kept = [axis for axis in range(len(shape)) if axis not in axes] if len(result) < len(shape) else range(len(shape))
    place = next(place for place, size in enumerate(constant) if size != 1) - len(constant)
    return _CHANNELS not in axes and -len(kept) <= place and kept[place] == _CHANNELS


def _axes_taken(node: NodeProto, scope: ScopeFacts) -> list[int] | None:
    """The axes of a reduction or global pool, counted from the front; None where these are not known."""
    rank = len(scope.shape(node.input[0]) or ())
    if node.op_type.startswith("Global"):
        return list(range(_CHANNELS + 1, rank))
    given = _axes_named(node, scope)
    return None if given is None else sorted(_from_front(axis, rank) for axis in given or range(rank))


def _from_front(axis: int, rank: int) -> int:
    """An axis counted from the front; of a scalar, which has none, the first."""
    return axis % max(rank, 1)


def _axes_named(node: NodeProto, scope: ScopeFacts) -> list[int] | None:
    """The axes that an attribute or an input lists; empty where none does, None where they are not known."""
    given = next((list(one.ints) for one in node.attribute if one.name == "axes"), None)
    if given is None and len(node.input) > 1 and node.input[1]:
        known = scope.constant(node.input[1])
        return None if known is None else known.reshape(-1).tolist()
    return given or []


def _reduces_many(node: NodeProto, scope: ScopeFacts) -> bool:
    named, shape = _axes_named(node, scope) or [], scope.shape(node.input[0])
    if len(named) != _FEWEST_AXES or not shape:
        return len(named) >= _FEWEST_AXES
    axes = [_from_front(axis, len(shape)) for axis in named]
    size = shape[min(axes)]
    return axes != sorted(axes) or not isinstance(size, int) or size > _MOST_ELEMENTS


def _reduces_single_elements(node: NodeProto, scope: ScopeFacts) -> bool:
    shape, axes = scope.shape(node.input[0]), _axes_taken(node, scope)
    return bool(shape and axes) and all((shape or [])[axis] == 1 for axis in axes or ())


def _changes_scales(node: NodeProto, scope: ScopeFacts) -> bool:
    before = scope.producer(node.input[0])
    if before is None or before.op_type != "DequantizeLinear":
        return False
    readers = [one for name in node.output if name for one in scope.index.readers(name)]
    quantizing = [one for one in readers if one.op_type == "QuantizeLinear"]
    return any(not _are_equal(one.input[1:], before.input[1:], scope) for one in quantizing)


def _are_equal(names: Sequence[str], others: Sequence[str], scope: ScopeFacts) -> bool:
    def is_equal(name: str, other: str) -> bool:
        values = [scope.content(name), scope.content(other)] if name and other else [None, None]
        return name == other or (all(one is not None for one in values) and numpy.array_equal(*values))

    return len(names) == len(others) and all(map(is_equal, names, others))


def _swaps_equal_sizes(node: NodeProto, scope: ScopeFacts) -> bool:
    shape = scope.shape(node.input[0])
    if shape is None or not all(isinstance(size, int) for size in shape):
        return False
    axes = list(range(len(shape)))
    order = next((list(one.ints) for one in node.attribute if one.name == "perm"), axes[::-1])
    return order != axes and [shape[axis] for axis in order] == shape


def _pads_other_axes_than_the_last(node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
    """Pads are all those of beginnings, then all those of ends, of the axes that the input axes names, or of all."""
    named = {one.formal: scope.constant(one.name) for one in input_operands(node, definition)}
    given = _attribute(node, definition, "pads") or _attribute(node, definition, "paddings")
    pads, axes = named.get("pads", given), named.get("axes", "all")
    if pads is None or axes is None:
        return True
    numbers = numpy.asarray(pads).reshape(2, -1)
    last = numbers.shape[1] - 1
    if not isinstance(axes, str):
        rank = _rank(node.input[0], scope)
        places = [int(axis) if axis < 0 or rank is None else int(axis) - rank for axis in axes.reshape(-1)]
        last = places.index(-1) if -1 in places else len(places)
    return bool(numbers.any()) and not (last < numbers.shape[1] and numbers[:, last].any())


def _reduces_one_of_the_first_among_several(node: NodeProto, scope: ScopeFacts) -> bool:
    named, shape = _axes_named(node, scope) or [], scope.shape(node.input[0])
    if shape is None:
        return len(named) > 1
    return 1 < len(named) < len(shape) and min(_from_front(axis, len(shape)) for axis in named) <= _CHANNELS


def _looks_along_the_last_axis(node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
    shape, axis = scope.shape(node.input[0]), _attribute(node, definition, "axis")
    if shape is None:
        return True
    return bool(shape) and 0 not in shape and axis in (-1, len(shape) - 1) and shape[-1] != 1


def _leaves_last_axes(node: NodeProto, scope: ScopeFacts) -> bool:
    shape, axes = scope.shape(node.input[0]), _axes_taken(node, scope)
    return shape is not None and axes is not None and axes != list(range(len(shape) - len(axes), len(shape)))


_FEWEST_AXES, _MOST_ELEMENTS = 3, 2
"""Of reductions that OpenCV computes wrongly: how many axes they have, and how many elements along the first others."""


def _has_sizes_behind_axis(node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
    axis, shape = _attribute(node, definition, "axis"), scope.shape(node.input[0])
    if not isinstance(axis, int):
        return False
    return axis != -1 if shape is None else any(size != 1 for size in shape[_from_front(axis, len(shape)) + 1 :])


def _has_other_stacks(node: NodeProto, scope: ScopeFacts) -> bool:
    first, second = (scope.shape(name) for name in node.input[:2])
    return first is not None and second is not None and list(first[:-2]) != list(second[:-2])


def _matrices_in(name: str, scope: ScopeFacts) -> int | None:
    """How many matrices are in a stack; None where that is not known."""
    shape = scope.shape(name)
    sizes = [size for size in (shape or ())[:-2] if isinstance(size, int)]
    return None if shape is None or len(sizes) != len(shape[:-2]) else prod(sizes)


def _resizes_channels(node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
    axes = _attribute(node, definition, "axes")
    factors = _factors(node, definition, scope)
    if isinstance(axes, list) and (shape := scope.shape(node.input[0])) is not None:
        pairs = zip(axes, factors, strict=False)
        return any(_from_front(axis, len(shape)) <= _CHANNELS and factor != 1 for axis, factor in pairs)
    return any(factor != 1 for factor in factors[: _CHANNELS + 1])


def _factors(node: NodeProto, definition: Definition, scope: ScopeFacts) -> list[float]:
    """How many times longer a Resize or Upsample makes each axis that it names.

    Empty where that is not known; a size before that is not known counts as 1.
    """
    named = {one.formal: one.name for one in input_operands(node, definition)}
    values = {formal: scope.content(named[formal]) for formal in ("scales", "sizes") if formal in named}
    shape, axes = scope.shape(node.input[0]), _attribute(node, definition, "axes")
    if shape is not None and isinstance(axes, list):
        shape = [shape[axis] for axis in axes]
    known = next((one for one in values.values() if one is not None and one.size), None)
    if isinstance(attribute := _attribute(node, definition, "scales"), list):
        known = numpy.array(attribute, numpy.float32)
    if known is None or shape is None or known.size != len(shape):
        return []
    numbers = [float(one) for one in known.reshape(-1)]
    if known.dtype.kind == "f":
        return numbers
    before = [size if isinstance(size, int) and size else 1 for size in shape]
    return [one / size for one, size in zip(numbers, before, strict=True)]


def _rank(name: str, scope: ScopeFacts) -> int | None:
    shape = scope.shape(name)
    return None if shape is None else len(shape)


def _left_by_output_shape(node: NodeProto, definition: Definition, scope: ScopeFacts) -> list[tuple[int, int] | None]:
    """By how much the windows of a ConvTranspose cover more than output_shape, with the stride, along each axis.

    None along an axis where that is not known; empty without output_shape.
    """
    shape, weights = (list(scope.shape(name) or ()) for name in node.input[:2])
    given = {one.name: list(one.ints) for one in node.attribute}
    rank = max(len(shape), len(weights)) - 2
    wanted = given.get("output_shape", [])
    if not wanted or rank < 1:
        return [None] if wanted else []
    sizes, kernel = (
        (shape or [None] * (rank + 2))[2:],
        given.get("kernel_shape") or (weights or [None] * (rank + 2))[2:],
    )
    strides, dilations = (given.get(name) or [1] * rank for name in ("strides", "dilations"))
    extra = given.get("output_padding") or [0] * rank
    return [
        (stride * (size - 1) + more + (taps - 1) * dilation + 1 - want, stride)
        if isinstance(size, int) and isinstance(taps, int)
        else None
        for want, size, taps, stride, dilation, more in zip(
            wanted[-rank:], sizes, kernel, strides, dilations, extra, strict=False
        )
    ]


def _may_join_nothing(node: NodeProto, definition: Definition, scope: ScopeFacts) -> bool:
    axis = _attribute(node, definition, "axis")
    assert isinstance(axis, int)
    shapes = [scope.shape(name) for name in node.input if not _is_copy(name, scope)]
    sizes = [None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis] for shape in shapes]
    return any(not isinstance(size, int) or size == 0 for size in sizes)


def _folds_what_graphs_inside_read(node: NodeProto, scope: ScopeFacts) -> bool:
    own = scope.index
    outer = {one for one in node.input if scope.producer(one) is None and one not in (*own.inputs, *own.initializers)}
    if scope.parent is None or not outer or not all(one and scope.is_constant(one) for one in node.input):
        return False
    return any(map(scope.is_captured, outer))


def _has_longer_end_pads(node: NodeProto) -> bool:
    """Pads are all those of beginnings, then all those of ends."""
    given = {one.name: one for one in node.attribute}
    if "auto_pad" in given and given["auto_pad"].s == b"SAME_UPPER":
        return True
    pads = list(given["pads"].ints) if "pads" in given else []
    return any(second < end for second, end in zip(pads[1::2], pads[len(pads) // 2 :], strict=True))


def _shares_a_part(node: NodeProto, scope: ScopeFacts) -> bool:
    read = [name for name in node.output if name and scope.index.use_count(name)]
    return len(read) > 1 and any(map(scope.is_shared, read))


def _copies(name: str, scope: ScopeFacts) -> bool:
    producer = scope.producer(name)
    if producer is None or producer.op_type not in ("Identity", "Dropout", "Cast"):
        return False
    return producer.op_type != "Cast" or scope.type_string(producer.input[0]) == scope.type_string(name)


def _is_copy(name: str, scope: ScopeFacts) -> bool:
    producer = scope.producer(name)
    return producer is not None and producer.op_type == "Identity"


_DILATIONS = "dilations"

_MOVES = frozenset(["Cast", "Expand", "Flatten", "Gather", "Reshape", "Squeeze", "Transpose", "Unsqueeze"])
_MOST_MOVES = 2
"""How many nodes before a Cast are looked at: a Cast, and one that moves what it gives."""

_GIVING_SIZES = frozenset(["Shape", "Size"])

_MOST_STEPS_FROM_SIZES = 8
"""How many nodes may stand between sizes and what is computed from them."""

_MOST_STEPS_BEHIND = 12
"""How many nodes may stand between a node and one that it is behind."""

_SQUARE = 2

_CHANNELS = 1
"""The axis of channels."""

_MOST_AXES_WITH_CHANNELS_BEHIND = 3
"""Of data with more, constants are joined as they should be."""


def _is_partly_negative(value: Array) -> bool:
    return bool((value < 0).any())


def _is_stored(name: str, scope: ScopeFacts) -> bool:
    """Whether a constant is an initializer or a Constant, and not computed from some."""
    producer = scope.producer(name)
    return producer is None or producer.op_type == "Constant"


def _has_open_first_size(name: str, scope: ScopeFacts) -> bool:
    shape = scope.shape(name)
    return shape is None or (len(shape) > 0 and not isinstance(shape[0], int))


def _is_of_open_sizes(name: str, scope: ScopeFacts) -> bool:
    """Whether a value is computed from sizes and constants alone, and from those of a tensor whose first is open."""
    has_open_ones, pending = False, {name}
    for _ in range(_MOST_STEPS_FROM_SIZES):
        producers = [scope.producer(value) for value in pending if not scope.is_constant(value)]
        pending = set()
        for producer in producers:
            if producer is None or subgraphs(producer):
                return False
            if producer.op_type in _GIVING_SIZES:
                has_open_ones = has_open_ones or _has_open_first_size(producer.input[0], scope)
            elif not _takes_other_sizes(producer, scope):
                pending.update(filter(None, producer.input))
    return has_open_ones and not pending


def _takes_other_sizes(node: NodeProto, scope: ScopeFacts) -> bool:
    """Whether a node gathers sizes of a tensor, and not its first one."""
    before = scope.producer(node.input[0]) if node.op_type == "Gather" else None
    if before is None or before.op_type != "Shape" or before.attribute:
        return False
    shape, indices = scope.shape(before.input[0]), scope.constant(node.input[1])
    return bool(shape) and indices is not None and bool((indices % len(shape or ())).all())


def _reads_graph_inputs(node: NodeProto, scope: ScopeFacts) -> bool:
    return any(name and _is_graph_input(name, scope) for name in node.input)


def _is_graph_input(name: str, scope: ScopeFacts) -> bool:
    return scope.producer(name) is None and not scope.is_constant(name)


def _undoes_the_cast_before(node: NodeProto, scope: ScopeFacts) -> bool:
    before = scope.producer(node.input[0])
    if before is None or before.op_type != "Cast":
        return False
    return scope.type_string(before.input[0]) == scope.type_string(node.output[0])


def _moves_truth_values(node: NodeProto, scope: ScopeFacts) -> bool:
    for _ in range(_MOST_MOVES):
        before = scope.producer(node.input[0])
        if before is None or before.op_type not in _MOVES:
            return False
        if before.op_type == "Cast":
            return dtype_of_type(scope.type_string(before.input[0]) or "") == "bool"
        node = before
    return False


def _gives_a_constant(node: NodeProto, scope: ScopeFacts) -> bool:
    return any(inner.constant(name) is not None for inner, name in _given_by_subgraphs(node, scope))


def _reads_beyond(node: NodeProto, scope: ScopeFacts) -> bool:
    named = {name for _, graph in subgraphs(node) for name in referenced_names(graph)}
    around = scope.parent
    while around is not None:
        if any(around.producer(name) is not None or name in around.index.inputs for name in named):
            return True
        around = around.parent
    return False


def _reads_around(node: NodeProto, scope: ScopeFacts) -> bool:
    named = {name for _, graph in subgraphs(node) for name in captured_names(graph)}
    makers = filter(None, map(scope.producer, named))
    return any(maker.input for maker in makers) or not named.isdisjoint(scope.index.inputs)


def _gives_unranked(node: NodeProto, scope: ScopeFacts) -> bool:
    return any(inner.shape(name) is None for inner, name in _given_by_subgraphs(node, scope))


def _given_by_subgraphs(node: NodeProto, scope: ScopeFacts) -> Iterator[tuple[ScopeFacts, str]]:
    for attribute, graph in subgraphs(node):
        inner = scope.subgraph_of(next(filter(None, node.output)), attribute)
        if inner is not None:
            yield from ((inner, info.name) for info in graph.output)


def _counts_its_runs(node: NodeProto) -> bool:
    return any(graph.input and _reads(graph, graph.input[0].name) for _, graph in subgraphs(node))


def _reads_its_condition(node: NodeProto) -> bool:
    return any(reads_its_condition(graph) for _, graph in _bodies(node))


def _has_slope_above_one(node: NodeProto, scope: ScopeFacts) -> bool:
    for name in node.input:
        product = scope.producer(name)
        if product is None or product.op_type != "Mul":
            continue
        for value, factor in (product.input, product.input[::-1]):
            shape = scope.shape(factor)
            is_single = shape is None or all(size == 1 for size in shape)
            number = scope.constant(factor) if is_single and value in node.input else None
            if is_single and value in node.input and not (number is not None and (number <= 1).all()):
                return True
    return False


def _gives_what_no_input_changes(node: NodeProto) -> bool:
    for states, graph in _bodies(node):
        changed = {one.name for one in graph.input}
        for one in graph.node:
            if not changed.isdisjoint(uses_of([one])):
                changed.update(one.output)
        if not changed.issuperset(one.name for one in graph.output[1 : 1 + states]):
            return True
    return False


def _gives_views_of_other_states(node: NodeProto) -> bool:
    return any(place for _, graph in _bodies(node) for place in passed_on_elsewhere(graph))


def _bodies(node: NodeProto) -> Iterator[tuple[int, GraphProto]]:
    """The number of states of a loop, and its body."""
    for _, graph in subgraphs(node):
        if len(graph.input) > 1:
            yield len(graph.input) - BEFORE_STATES, graph


def _lists_until_a_condition(node: NodeProto) -> bool:
    if len(node.output) <= len(node.input) - BEFORE_STATES:
        return False
    for _, graph in subgraphs(node):
        goes_on, taken = graph.output[0].name, {graph.input[1].name, *(one.name for one in graph.initializer)}
        computes = {name: one for one in graph.node for name in one.output}
        while goes_on in computes and computes[goes_on].op_type == "Identity":
            goes_on = computes[goes_on].input[0]
        if goes_on in computes and goes_on not in taken and computes[goes_on].op_type != "Constant":
            return True
    return False


def _passes_inputs_on(node: NodeProto) -> bool:
    return any({one.name for one in graph.input} & {one.name for one in graph.output} for _, graph in subgraphs(node))


def _gives_its_run_number(node: NodeProto) -> bool:
    return any(
        one.op_type == "Identity" and one.input[0] == graph.input[0].name and one.output[0] in given
        for _, graph in subgraphs(node)
        if graph.input and (given := {info.name for info in graph.output})
        for one in graph.node
    )


def _reads(graph: GraphProto, name: str) -> bool:
    return any(
        (name in node.input and node.op_type != "Reshape") or any(_reads(inner, name) for _, inner in subgraphs(node))
        for node in graph.node
    )


def _reaches(node: NodeProto, name: str, other: str) -> bool:
    numbers = {attribute.name: list(attribute.ints) for attribute in node.attribute}
    limits = numbers.get(other)
    return bool(limits) and any(one >= limit for one, limit in zip(numbers.get(name, ()), cycle(limits or ())))


def _is_uneven(node: NodeProto, name: str) -> bool:
    numbers = next((list(one.ints) for one in node.attribute if one.name == name), [])
    return numbers[: len(numbers) // 2] != numbers[len(numbers) // 2 :]


def _input_shapes(
    node: NodeProto, definition: Definition, scope: ScopeFacts
) -> dict[str, list[int | str | None] | None]:
    """The shape of each input, by its formal name; None where it is unknown."""
    return {one.formal: scope.shape(one.name) for one in input_operands(node, definition)}


def _attribute(node: NodeProto, definition: Definition, name: str) -> object:
    for attribute in node.attribute:
        if attribute.name == name:
            return None if attribute.ref_attr_name else _plain(helper.get_attribute_value(attribute))
    declared = definition.schema.attributes.get(name)
    if declared is None or not declared.default_value.name:
        return None
    return _plain(helper.get_attribute_value(declared.default_value))


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def dtypes_of(node: NodeProto, definition: Definition, scope: ScopeFacts) -> dict[str, str]:
    """The dtypes that a node's type variables stand for; empty where one is not known, or is no tensor."""
    inputs, outputs = operands(node, definition)
    found: dict[str, str] = {}
    for one in (*inputs, *outputs):
        if one.variable not in definition.types_by_variable or one.variable in found:
            continue
        spelt = scope.type_string(one.name)
        dtype = dtype_of_type(spelt) if spelt else None
        if dtype is None:
            return {}
        found[one.variable] = dtype
    return found
