"""Reads the files that describe runtimes, and rejects what they may not say.

    title = "Some Runtime"

    [sources]
    docs = "where the facts are from: an address, or how they were measured"

    [[release]]
    versions = ["1.0", "1.1"]
    opset = { min = 7, max = 13, source = "docs" }
    ml_opset = { min = 1, max = 2, source = "docs" }
    ir = { max = 7, source = "docs" }
    dtypes_refused = { names = ["double"], source = "docs" }
    input_dtypes_refused = { names = ["bool"], source = "docs" }
    constant_dtypes_refused = { names = ["bool"], source = "docs" }
    dtypes_read_raw = { names = ["float16"], source = "docs" }
    operators_lacking = { names = ["Loop", "com.microsoft.QGemm"], source = "docs" }
    constant_inputs = { names = ["TopK.K"], source = "docs" }
    functions = { are_taken = false, source = "docs" }
    open_dimensions = { are_taken = false, source = "docs" }
    false_shapes = { are_taken = false, source = "docs" }
    unnamed_dimensions = { are_taken = false, source = "docs" }
    undeclared_shapes = { are_taken = false, source = "docs" }
    undeclared_outputs = { are_taken = false, source = "docs" }
    unread_inputs = { are_taken = false, source = "docs" }
    captured_initializers = { are_taken = false, source = "docs" }
    inputs_as_outputs = { are_taken = false, source = "docs" }
    initializers_as_outputs = { are_taken = false, source = "docs" }
    empty_values = { are_taken = false, source = "docs" }
    empty_outputs = { are_taken = false, source = "docs" }
    shared_constants = { as_values = ["Add"], alone = ["MatMul.A"], source = "docs" }
    misread_producers = { names = ["pytorch"], operators = ["AveragePool"], source = "docs" }
    computed_constants = { are_taken = false, source = "docs" }
    absent_last_inputs = { are_taken = false, source = "docs" }
    default_inputs = { are_constants = true, source = "docs" }

    [kernels]
    file = "kernels.toml"
    forms = "forms.toml"
    versions = ["1.0"]
    source = "docs"

    [[form]]
    operator = "AveragePool"
    attributes = { ceil_mode = 1 }
    text = "rounds the number of windows down"
    versions = ["1.0"]
    source = "docs"

    [[quirk]]
    text = "A known limitation that refuses nothing."
    versions = ["1.0"]
    source = "docs"

`kernels` names a file beside this one, which says which operators it computes in which dtypes (kernel_file.py), and the
versions that were measured, or has it all in a table `operators`; `forms` names one with more entries `form`. `form` is
a way to write nodes of an `operator`, or of each of `operators`, that it does not take, or takes for something else:
beside `attributes` it may state `domain`, `opsets` (min and max), `given` and `absent` (attributes), `other_than`
(attributes that are set to none of these values, as { activations = [["Tanh"]] }), `negative` (attributes or constant
inputs with a number below 0), `at_least` (attributes that reach another one, as { pads = "kernel_shape" }), `ranks` (of
inputs, as { X = [3] }), `result_ranks` (of the first output), `dtypes` (of type variables, as { T = ["int64"] }),
`outputs` and `most_outputs` (at least, or at most, so many), `skips_outputs`, `has_late_windows` (a pooling with
ceil_mode may have windows that start in the end pads), `dilates_more_than_pairs` (a dilation is above 1 along an axis
where the kernel has not two elements), `gives_constants` (a subgraph of it does), `passes_inputs_on` (an output of its
body is an input of that), `gives_its_run_number` (an output of its body is a copy by Identity of the first input),
`is_constant` (all of its inputs are constants), `folds_what_graphs_inside_read` (its inputs are constants, and a graph
inside its own graph reads one of them that is from further out), `repeats_an_input` (a value is two of its inputs),
`is_shared` (its first output is read more than once), `reads_folded` (a node computes an input from constants alone),
`reads_shared` (something else, too, reads its first input, which a node computes), `shares_a_part` (several of its
outputs are read, one of them more than once), `is_captured` (a graph inside its own one reads its first input or
output), `cuts_sizes` (constant scales may give other sizes than whole ones, which are rounded down), `has_more_rows`
(the matrices of its first input may have more rows than columns), `reads_copies` (an input comes from Identity, Dropout
or a Cast to the dtype that it has), `reads_beyond` (a subgraph of it reads what is computed outside the graph that it
is in), `reads_around` (a subgraph of it reads what that graph computes or gets, and no constant), `gives_unranked` (the
rank of what a subgraph of it gives is not known), `counts_its_runs` (its body reads its first input, but for Reshape),
`reads_its_condition` (its body reads its second input, other than to copy it to the next run by Identity),
`has_slope_above_one` (it takes a value and the product of it with one number, which is no constant of at most 1),
`gives_lists` (a Loop with an element for each run), `gives_what_no_input_changes` (a state that its body gives is
computed from none of the body's inputs), `gives_views_of_other_states` (one is a copy or view of an input of the body
at another place), `lists_until_a_condition` (a Loop that gives lists, and whose body computes its condition),
`has_longer_end_pads` (than every second pad says), `uneven` (lists of numbers whose halves differ), `nonzero` (lists
with a number that is not 0), `has_inputs` and `lacks_inputs` (optional ones), `known_inputs` and `computed_inputs`
(constants or not), `overridable_inputs` (initializers that are inputs of the model, too), `open_inputs` (with sizes
that are not known), `empty_inputs` (with a size of 0), `ranked_inputs` and `unranked_inputs` (whose rank is known, or
not), `batched_inputs` (whose first size is not 1), `open_first_sizes` (whose first size is not known),
`sizes_as_inputs` (computed from sizes alone, of a tensor whose first one is not known), `zeros` (constants with a 0 in
them), `copies_channels` (a constant shape has a 0 for the second axis), `input_counts`, `has_outputs` (places, counted
from 0, at each of which it has an output), `other_lengths` (inputs, each with one that may have another second size),
`reduces_many` (it names four axes or more, or three that are out of order or of which the first may have more than two
elements), `reduces_single_elements` (all the axes that it reduces have one), `pads_other_axes_than_the_last` (a Pad
that adds nothing along the last one, or may add nothing), `changes_scales` (a DequantizeLinear computes its first
input, and a QuantizeLinear with another scale or zero point reads an output), `swaps_equal_sizes` (a Transpose that
moves axes and gives the shape that it reads, whose sizes are known), `may_be_single_along` (inputs that may have only
one element along the axis that another one names, as { x = "axis" }), `leaves_last_axes` (the axes that it reduces are
not the last ones), `fewer_axes` (inputs, each with one that has the same shape behind further axes of size 1),
`attributes_as_sizes` (each is the size of the first input along an axis, as { num_heads = 1 }), `cuts_pads`,
`cuts_odd_pads` and `exceeds_windows` (output_shape of a ConvTranspose is or may be less than what its windows cover,
less by an odd number, or is more by a stride at least), `after` and `not_after` (operators that compute the first
input, or do not), `behind` and `not_behind` (the same up to a dozen nodes before), `read_by` and `not_read_by`
(operators that read the first output, or do not), `chain` (operators, the first of which computes an input, the next an
input of that one, and so on; "Add|Sub" stands for either), `widened_inputs` (which broadcasting repeats),
`stored_dtypes` (of constants that it reads), `lengths` (of attributes and constant inputs, as { axes = 2 }: at least so
many elements), `most_lengths` (of attributes: at most so many, or none), `non_negative` (attributes, lists without a
number below 0), `may_leave_out_votes` (an ensemble of trees in which a class or target may get no vote),
`joins_channels` (two computed inputs of three axes or more, neither a copy by Identity, have other second sizes, or
sizes that are not known), `may_join_nothing` (an input that is no copy by Identity may have no elements along the
attribute axis), `joins_beside_channels` (a constant of several numbers, smaller than the result, has axes above 1 other
than the second one of the result and those that follow it without a gap), `joins_channels_behind` (reductions: a
constant with one axis above 1 may lie along the second axis of what one of them reduced, with nodes of one computed
input between), `resized_axes` (of the first input, each of which has another size in the first output),
`single_elements` (inputs that have axes, each with one element), `single_axes` (inputs that have one element along an
axis, as { X = 2 }), `matches` (attributes, each with a regular expression that is found in it), `within` (operators,
one of which holds the subgraph that it is in), `single_letters` (attributes, texts that have a letter only once),
`chain_computes` (what starts the chain reads no constants), `chain_starts_with_other_dtype` (its first input has
another dtype than the node's first output), `chain_starts_elsewhere` (the node reads nothing that what starts the chain
reads, nor a product of that with a constant), `chain_reads_constant_first` (the first input of what starts the chain is
one), `longer_inputs` (inputs, each with one that it may be longer than along the attribute axis, as { indices = "data"
}), `shorter_inputs` (the same for those that are shorter along another axis than that), `is_read` (by a node),
`gives_graph_outputs` (its first output is one), `may_resize_channels` (a result of three axes or more has another first
or second size than the first input, or may have), `reads_graph_inputs` (one of its inputs is one of the graph),
`second_not_read_by` (operators, none of which reads its second output), `may_be_negative` (inputs that nodes compute,
which may have numbers below 0), `may_have_fractions` (its first input may hold numbers that are not whole),
`looks_along_the_last_axis` (of more than one element, by its attribute axis), `leaves_remainders` (no Sub took the
remainder off its first input, by a Mod with fmod), `comes_from_scalar_inputs` (its first one is made of scalars, one of
which is an input of the graph), `after_more_than_channels` (operators, one of which computes its first input with a
constant that has axes above 1 other than that of channels), `joins_more_than_channels` (a constant has axes above 1
other than that of channels), `widens_axes_in_between` (several axes between others are repeated),
`reduces_one_of_the_first_among_several` (of several axes that it names, not all), `magnitudes` (of attributes and
constant inputs, as { B = 1e30 }: one number's is at least that), `mixed_numbers` (constant inputs that have different
numbers), `numbers` (of attributes and constant inputs, as { Y = 2 }: all of theirs), `follows_a_product_of_products`
(its first input is a Mul, one of whose inputs is one, too), `has_other_powers` (its first input is a Pow whose exponent
is not 2), `is_read_beside` (something else reads a result along the chain, or a product that it reads), `other_axes`
(lists of axes that are not the last one alone), `misfits_normalized_axes` (a constant that it or the first of the chain
reads has another shape than the last axes, of which a ReduceMean in the chain takes the mean), `has_other_numbers`
(than the 0 and 1 that a Cast made of truth values), `resizes_channels` (constant scales or sizes change one of the
first two axes), `resizes_by_fractions` (the sizes are no whole multiples of those before), `falls` (lists with a number
below the one before it), `leaps` (lists with a number that is not one more than the one before it), `misfits_axis`
(inputs that have not the shape of the first one from the attribute axis on), `differs_beside_axis` (inputs with others
of which a size beside that axis differs), `sizes_behind_axis` (an axis behind the attribute axis may have another size
than 1), `stacks_differ` (its first two inputs are stacks of matrices of other shapes), `repeated_stacks` (inputs that
are stacks of several matrices, but of fewer than the result), `ends_with_absent_input` (the last one has no name),
`follows_narrowing_cast` (it casts on what a Cast before it lost numbers of, to more than that dtype holds or to truth
values) and `undoes_cast` (back to the dtype before the Cast before it); the node is written so where all hold. Inputs
of operators that onnx does not define are named by their places, from "0" on. `text` ends a sentence that begins with
the runtime. `input_dtypes_refused` and `constant_dtypes_refused` name dtypes in which it computes, but which it takes
neither as inputs of a model nor as constants, and `output_dtypes_refused` those of which it gives no outputs of a model
(with `only_as`, under these other names of the runtime alone); `dtypes_read_raw` names those of which it reads
constants as raw data alone. `absent_last_inputs` says whether nodes may end with inputs whose names are empty, which
mean the same as none; `undeclared_shapes` whether values may have no declared shape; `inputs_as_outputs` and
`initializers_as_outputs` whether outputs of the model may be what no node computes; `repeated_outputs` whether one may
be there twice; `outputs_beside_others` whether they may be what a node with several outputs computes, without another
name; `outputs_lost_where_read` names operators whose outputs it loses where they are outputs of the model and nodes
read them, too, unless through the operator `kept_by` (Max by default, or Identity where that is enough);
`undeclared_outputs` whether outputs may have no declared shape; `inputs_as_channels` how long (`most`) the last of
three axes of an input of the model may be to be taken for the channels of a matrix; `misread_names` how names of values
end (`endings`) by which it looks for others that do not exist; `unread_inputs` whether inputs of the model may be read
by no node; `empty_values` whether inputs of the model that are read, and what nodes compute, may have a size of 0, and
`empty_outputs` whether its outputs may; `default_inputs` whether inputs of the model that are initializers, too, are
constants. `shared_constants` names operators, inputs as MatMul.A, or operators with what computes another input, as
"Add after MatMul", after which other nodes no longer find a constant: what those in `as_values` have read is taken for
computed from then on, which no input takes that needs a constant; what those in `alone` have read is lost for all
others, and so it is after those in `alone_as_vectors` where only one axis of the constant is longer than 1. All other
nodes may share constants. Copies are written where they are needed.

`contributed` names the operators of a domain beside ONNX's own by the release that has them first, in `since`; "never"
stands for none. "QuantizeLinear of int16" is the operator on values of that dtype alone. `signatures` names a file
beside this one, with the attributes and numbers of inputs that a release does not know (signature_file.py).

`misread_producers` names producers in whose models the runtime computes some operators otherwise: models with one of
these operators are written without such a name.

`versions` is required of a release, all else can be left out where nothing is known. What a release says holds for each
of its versions. Runtimes whose newest opset is older than functions (which came with opset 15) have none,
unless the file says otherwise.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, replace
from typing import Any

from onnx.defs import OpSchema

from opsetlift.model.files import ModelFileError
from opsetlift.model.ir_version import FIRST_WITH_FUNCTIONS, OLDEST_IR_VERSION, minimum_for_opsets
from opsetlift.specification.dtypes import numpy_dtype, tensor_type
from opsetlift.specification.history import AI_ONNX, AI_ONNX_ML, CONVERTED_DOMAINS, Definition, histories
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.text import printable
from opsetlift.targets.forms import Form
from opsetlift.targets.kernel_file import KernelFile, KernelFileError, parsed
from opsetlift.targets.ranges import Range
from opsetlift.targets.shared_constants import SharedConstants
from opsetlift.targets.signature_file import SignatureFile
from opsetlift.targets.target import Quirk, Runtime, Target, version_key

# Read by hand and not by a library such as msgspec: most of what is checked (sources, operators, dtypes, ranges, files
# beside this one) is beyond types, and each fault has a sentence that names its release or form.
_DOMAIN_OF_KEY = {"opset": AI_ONNX, "ml_opset": AI_ONNX_ML}
_KEYS_OF_FACT = {
    "opset": {"min", "max", "source"},
    "ml_opset": {"min", "max", "source"},
    "ir": {"min", "max", "source"},
    "dtypes_refused": {"names", "source"},
    "input_dtypes_refused": {"names", "source"},
    "output_dtypes_refused": {"names", "only_as", "source"},
    "constant_dtypes_refused": {"names", "source"},
    "dtypes_read_raw": {"names", "source"},
    "operators_lacking": {"names", "source"},
    "constant_inputs": {"names", "source"},
    "functions": {"are_taken", "source"},
    "open_dimensions": {"are_taken", "source"},
    "false_shapes": {"are_taken", "source"},
    "unnamed_dimensions": {"are_taken", "source"},
    "undeclared_shapes": {"are_taken", "source"},
    "undeclared_outputs": {"are_taken", "source"},
    "unread_inputs": {"are_taken", "source"},
    "captured_initializers": {"are_taken", "source"},
    "inputs_as_channels": {"most", "source"},
    "misread_names": {"endings", "source"},
    "inputs_as_outputs": {"are_taken", "source"},
    "initializers_as_outputs": {"are_taken", "source"},
    "repeated_outputs": {"are_taken", "source"},
    "outputs_beside_others": {"are_taken", "source"},
    "outputs_lost_where_read": {"names", "kept_by", "source"},
    "empty_values": {"are_taken", "source"},
    "empty_outputs": {"are_taken", "source"},
    "shared_constants": {"as_values", "alone", "alone_as_vectors", "source"},
    "misread_producers": {"names", "operators", "source"},
    "computed_constants": {"are_taken", "dtypes", "source"},
    "absent_last_inputs": {"are_taken", "source"},
    "default_inputs": {"are_constants", "source"},
}

_OF_THE_RELEASE = "takes_defaults_for_constants"
"""What a form takes over from the release that has it."""

_FORM_FIELDS = {one.name: one for one in fields(Form) if one.name != _OF_THE_RELEASE}

_READ_ON_THEIR_OWN = frozenset(["operator", "text", "source", "domain", "opsets"])

_WRITTEN_AS: Mapping[type, tuple[type, str]] = {
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    dict: (dict, "a table"),
    frozenset: (list, "a list of names or numbers"),
    tuple: (list, "a list of names or numbers"),
}
"""By what a field holds: what it is in a file, and what that is called."""

_NEVER = "never"
"""Instead of a release: of operators that none has."""

_NEWER_THAN_THE_OPSET = "functions came with IR version 8, after the newest opset that it takes"


class TargetFileError(OpsetLiftError):
    """A file that does not describe a runtime; the message is one sentence."""


def _no_file_beside(name: str) -> str:
    raise OSError(f"{name} can be read only beside a target file")


def read_runtime(name: str, text: str, read_beside: Callable[[str], str] = _no_file_beside) -> Runtime:
    """The runtime that a file describes; `read_beside` gives the text of one beside it. Raises TargetFileError."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError alone: an integer of more than 4300 digits
        raise TargetFileError(f"target {name}: not valid TOML: {printable(error)}") from error
    reader = _Reader(name, content, read_beside)
    targets = sorted(reader.targets(), key=lambda target: version_key(target.version))
    if not targets:
        raise TargetFileError(f"target {name}: it has no release")
    versions = [target.version for target in targets]
    for version in versions:
        if versions.count(version) > 1:
            raise TargetFileError(f"target {name}: it lists version {version} twice")
    return Runtime(name, reader.title, targets)


class _Reader:
    def __init__(self, name: str, content: Mapping[str, Any], read_beside: Callable[[str], str]) -> None:
        self._name = name
        keys = {"title", "sources", "release", "quirk", "kernels", "form", "contributed", "signatures"}
        self._check_keys("the file", content, keys)
        self.title = self._text("the file", content, "title")
        self._sources = content.get("sources", {})
        self._releases = content.get("release", [])
        contributed = content.get("contributed")
        self._contributed = self._read_contributed(contributed)
        self._contributed_source = self._source("contributed", contributed) if contributed else ""
        self._quirks = [self._quirk(entry) for entry in content.get("quirk", [])]
        self._kernels, self._kernel_source = self._read_kernels(content.get("kernels"), read_beside)
        self._signatures, self._signature_source = self._read_signatures(content.get("signatures"), read_beside)
        self._forms = self._forms_of(content.get("form", []))
        self._measured_forms = self._forms_of(self._forms_beside(content.get("kernels"), read_beside))
        self._measured = self._measured_versions(content.get("kernels"))

    def targets(self) -> list[Target]:
        return [
            self._target(str(version), release) for release in self._releases for version in self._versions(release)
        ]

    def _versions(self, release: Mapping[str, Any]) -> list[Any]:
        versions = release.get("versions")
        if not isinstance(versions, list) or not versions or not all(re.search(r"\d", str(one)) for one in versions):
            raise self._fault("a release has to list its versions")
        return versions

    def _target(self, version: str, release: Mapping[str, Any]) -> Target:
        where = f"release {version}"
        self._check_keys(where, release, {"versions", *_KEYS_OF_FACT})
        for key, fact in release.items():
            if key != "versions":
                self._check_keys(f"{where}, {key}", fact, _KEYS_OF_FACT[key])
                self._source(f"{where}, {key}", fact)
        like = "" if version in self._measured else self._last_measured_before(version)
        return Target(
            name=self._name,
            version=version,
            title=self.title,
            opsets={
                domain: self._range(f"{where}, {key}", release[key], 1)
                for key, domain in _DOMAIN_OF_KEY.items()
                if key in release
            },
            ir_versions=self._range(f"{where}, ir", release.get("ir", {}), OLDEST_IR_VERSION),
            dtypes_refused=frozenset(map(self._dtype, self._names(release, "dtypes_refused"))),
            input_dtypes_refused=frozenset(map(self._dtype, self._names(release, "input_dtypes_refused"))),
            **self._output_dtypes_refused(release),
            operators_lacking=frozenset(
                [
                    *self._names(release, "operators_lacking"),
                    *(name for name, since in self._contributed.items() if not since or version_key(version) < since),
                ]
            ),
            has_functions=self._has_functions(release),
            takes_open_dimensions=bool(release.get("open_dimensions", {}).get("are_taken", True)),
            takes_false_shapes=bool(release.get("false_shapes", {}).get("are_taken", True)),
            takes_captured_initializers=bool(release.get("captured_initializers", {}).get("are_taken", True)),
            misread_endings=self._endings(where, release.get("misread_names", {"endings": []})),
            most_channels=self._most(where, release.get("inputs_as_channels", {"most": 0})),
            takes_inputs_as_outputs=bool(release.get("inputs_as_outputs", {}).get("are_taken", True)),
            takes_initializers_as_outputs=bool(release.get("initializers_as_outputs", {}).get("are_taken", True)),
            takes_repeated_outputs=bool(release.get("repeated_outputs", {}).get("are_taken", True)),
            takes_outputs_beside_others=bool(release.get("outputs_beside_others", {}).get("are_taken", True)),
            dtypes_read_raw=frozenset(map(self._dtype, self._names(release, "dtypes_read_raw"))),
            outputs_lost_where_read=frozenset(self._names(release, "outputs_lost_where_read")),
            outputs_kept_by=release.get("outputs_lost_where_read", {}).get("kept_by", "Max"),
            takes_empty_values=bool(release.get("empty_values", {}).get("are_taken", True)),
            takes_empty_outputs=bool(release.get("empty_outputs", {}).get("are_taken", True)),
            takes_unnamed_dimensions=bool(release.get("unnamed_dimensions", {}).get("are_taken", True)),
            takes_undeclared_shapes=bool(release.get("undeclared_shapes", {}).get("are_taken", True)),
            takes_undeclared_outputs=bool(release.get("undeclared_outputs", {}).get("are_taken", True)),
            takes_unread_inputs=bool(release.get("unread_inputs", {}).get("are_taken", True)),
            shared_constants=self._shared_constants(release.get("shared_constants")),
            misread_producers=self._misread_producers(release),
            **self._computed_constants(release),
            constant_inputs=frozenset(map(self._input, self._names(release, "constant_inputs"))),
            quirks=tuple(one for one in self._quirks if not one.versions or version in one.versions),
            sources=self._all_sources(release),
            kernels=self._kernels.at(like or version) if self._kernels else {},
            forms=tuple(self._forms_at(version, like, where, release)),
            signatures=self._signatures.at(like or version) if self._signatures else {},
            is_measured=version in self._measured,
            like=like,
        )

    def _output_dtypes_refused(self, release: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the runtime under each of its names, or under some of its other names alone."""
        dtypes = frozenset(map(self._dtype, self._names(release, "output_dtypes_refused")))
        only_as = self._names(release, "output_dtypes_refused", "only_as")
        if only_as:
            return {"output_dtypes_refused_as": dict.fromkeys(only_as, dtypes)}
        return {"output_dtypes_refused": dtypes}

    def _computed_constants(self, release: Mapping[str, Any]) -> dict[str, Any]:
        """Whether it takes nodes that compute from constants alone: none, or none of some dtypes."""
        dtypes = frozenset(map(self._dtype, self._names(release, "computed_constants", "dtypes")))
        are_taken = bool(release.get("computed_constants", {}).get("are_taken", True))
        return {"computes_constants": are_taken or bool(dtypes), "constant_dtypes_not_computed": dtypes}

    def _forms_at(self, version: str, like: str, where: str, release: Mapping[str, Any]) -> Iterator[Form]:
        """The forms that a version does not take; `like` is the measured one whose forms it is taken to have."""
        found = (
            *(one for one in self._forms if not one.versions or version in one.versions),
            *(one for one in self._measured_forms if not one.versions or (like or version) in one.versions),
            *self._forms_of_absent_inputs(where, release),
            *self._forms_of_constants(where, release),
        )
        if not release.get("default_inputs", {}).get("are_constants", False):
            return iter(found)
        return (replace(one, takes_defaults_for_constants=True) for one in found)

    def _misread_producers(self, release: Mapping[str, Any]) -> dict[str, frozenset[str]]:
        operators = release.get("misread_producers", {}).get("operators", [])
        if not isinstance(operators, list) or not all(isinstance(name, str) for name in operators):
            raise self._fault("misread_producers: operators is a list of names")
        return {name: frozenset(operators) for name in self._names(release, "misread_producers")}

    def _shared_constants(self, fact: Any) -> SharedConstants | None:
        if fact is None:
            return None
        places = {key: value for key, value in fact.items() if key != "source"}
        for key, names in places.items():
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise self._fault(f"shared_constants: {key} is a list of names")
        if not any(places.values()):
            raise self._fault("shared_constants names no place where a constant is lost")
        return SharedConstants(**{key: frozenset(names) for key, names in places.items()})

    def _forms_of_absent_inputs(self, where: str, release: Mapping[str, Any]) -> list[Form]:
        """A form for each operator that may have inputs without a name, where the runtime fails on these."""
        fact = release.get("absent_last_inputs", {"are_taken": True})
        if fact.get("are_taken", True):
            return []
        source = self._source(f"{where}, absent_last_inputs", fact)
        return [
            Form(name, "fails on a last input without a name", source, ends_with_absent_input=True)
            for (domain, name), operator in histories().items()
            if domain == AI_ONNX and any(map(_has_optional_inputs, operator.definitions.values()))
        ]

    def _forms_of_constants(self, where: str, release: Mapping[str, Any]) -> list[Form]:
        """A form for each operator that may read constants of dtypes of which the runtime has none."""
        names = frozenset(map(self._dtype, self._names(release, "constant_dtypes_refused")))
        if not names:
            return []
        source = self._source(f"{where}, constant_dtypes_refused", release["constant_dtypes_refused"])
        text = f"reads no constants of {' or '.join(sorted(names))}"
        return [
            Form(name, text, source, stored_dtypes=names)
            for (domain, name), operator in histories().items()
            if domain == AI_ONNX and any(_may_read(one, names) for one in operator.definitions.values())
        ]

    def _read_kernels(self, fact: Any, read_beside: Callable[[str], str]) -> tuple[KernelFile | None, str]:
        if fact is None:
            return None, ""
        self._check_keys("kernels", fact, {"file", "forms", "operators", "versions", "source"})
        name = "operators" if "operators" in fact else self._text("kernels", fact, "file")
        try:
            content = fact[name] if "operators" in fact else read_beside(name)
            return KernelFile(content), self._source("kernels", fact)
        except ModelFileError as error:
            raise self._fault(f"kernels: {error}") from error
        except (OSError, UnicodeDecodeError, KernelFileError) as error:
            raise self._fault(f"kernels: {name}: {error}") from error

    def _read_signatures(self, fact: Any, read_beside: Callable[[str], str]) -> tuple[SignatureFile | None, str]:
        if fact is None:
            return None, ""
        self._check_keys("signatures", fact, {"file", "source"})
        name = self._text("signatures", fact, "file")
        try:
            return SignatureFile(read_beside(name)), self._source("signatures", fact)
        except ModelFileError as error:
            raise self._fault(f"signatures: {error}") from error
        except (OSError, UnicodeDecodeError, KernelFileError) as error:
            raise self._fault(f"signatures: {name}: {error}") from error

    def _forms_beside(self, fact: Any, read_beside: Callable[[str], str]) -> list[Any]:
        """The forms in the file that `kernels` names for them."""
        if fact is None or "forms" not in fact:
            return []
        name = self._text("kernels", fact, "forms")
        try:
            content = parsed(read_beside(name))
        except ModelFileError as error:
            raise self._fault(f"kernels: {error}") from error
        except (OSError, UnicodeDecodeError, KernelFileError) as error:
            raise self._fault(f"kernels: {name}: {error}") from error
        self._check_keys(name, content, {"form"})
        return list(content.get("form", []))

    def _measured_versions(self, fact: Any) -> frozenset[str]:
        """The versions whose kernels were measured."""
        versions = (fact or {}).get("versions", [])
        if not isinstance(versions, list):
            raise self._fault("kernels: versions is a list of versions")
        return frozenset(map(str, versions))

    def _last_measured_before(self, version: str) -> str:
        earlier = [one for one in self._measured if version_key(one) < version_key(version)]
        return max(earlier, key=version_key, default="")

    def _has_functions(self, release: Mapping[str, Any]) -> bool:
        """What the file says; else not where all the opsets that the runtime takes are older than functions are."""
        last = release.get("opset", {}).get("max")
        is_older = isinstance(last, int) and minimum_for_opsets({AI_ONNX: last}) < FIRST_WITH_FUNCTIONS
        return bool(release.get("functions", {}).get("are_taken", not is_older))

    def _all_sources(self, release: Mapping[str, Any]) -> dict[str, str]:
        sources = {key: self._source(key, fact) for key, fact in release.items() if key != "versions"}
        if self._contributed_source:
            both = filter(None, (sources.get("operators_lacking"), self._contributed_source))
            sources["operators_lacking"] = "; ".join(both)
        if "functions" not in release and not self._has_functions(release):
            sources["functions"] = _NEWER_THAN_THE_OPSET
        if self._kernels:
            sources["kernels"] = self._kernel_source
        if self._signatures:
            sources["signatures"] = self._signature_source
        return sources

    def _quirk(self, entry: Mapping[str, Any]) -> Quirk:
        self._check_keys("a quirk", entry, {"text", "versions", "source"})
        text = self._text("a quirk", entry, "text")
        return Quirk(text, self._source(f"quirk {text!r}", entry), tuple(map(str, entry.get("versions", ()))))

    def _forms_of(self, entries: Iterable[Mapping[str, Any]]) -> list[Form]:
        """The forms of a file; an entry that names several operators stands for one of each."""
        return [self._form(one) for entry in entries for one in self._for_each_operator(entry)]

    def _for_each_operator(self, entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if not isinstance(entry, dict) or "operators" not in entry:
            yield entry
            return
        rest = {key: value for key, value in entry.items() if key != "operators"}
        names = entry["operators"]
        if "operator" in entry or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._fault("a form has an operator, or operators, which are a list of names")
        yield from ({**rest, "operator": name} for name in names)

    def _form(self, entry: Mapping[str, Any]) -> Form:
        self._check_keys("a form", entry, _FORM_FIELDS.keys())
        operator = self._text("a form", entry, "operator")
        where = f"form of {operator}"
        values = {
            name: self._form_value(where, name, value)
            for name, value in entry.items()
            if name not in _READ_ON_THEIR_OWN
        }
        values["versions"] = tuple(map(str, values.get("versions", ())))
        for name, of_one in (("ranks", tuple), ("dtypes", self._dtypes)):
            values[name] = {
                one: of_one(self._list(where, name, listed)) for one, listed in values.get(name, {}).items()
            }
        return Form(
            operator=operator,
            text=self._text(where, entry, "text"),
            source=self._source(where, entry),
            domain=entry.get("domain", AI_ONNX),
            opsets=self._range(where, entry.get("opsets", {}), 1),
            **values,
        )

    def _form_value(self, where: str, name: str, value: Any) -> Any:
        """What a field of a form holds, whose default says of which kind it is."""
        default = _FORM_FIELDS[name].default
        kind: Any = dict if default is MISSING else type(default)
        written, wanted = _WRITTEN_AS[kind]
        if type(value) is not written or (
            isinstance(value, list) and any(isinstance(one, list | dict) for one in value)
        ):
            raise self._fault(f"{where}: {name} is {wanted}")
        return kind(value)

    def _list(self, where: str, name: str, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise self._fault(f"{where}: {name} gives a list for each name")
        return value

    def _dtypes(self, names: Iterable[Any]) -> frozenset[str]:
        return frozenset(map(self._dtype, names))

    def _endings(self, where: str, fact: Mapping[str, Any]) -> tuple[str, ...]:
        endings = fact.get("endings")
        if not isinstance(endings, list) or not all(isinstance(one, str) and one for one in endings):
            raise self._fault(f"{where}, misread_names: endings is a list of texts")
        return tuple(endings)

    def _most(self, where: str, fact: Mapping[str, Any]) -> int:
        most = fact.get("most")
        if type(most) is not int or most < 0:
            raise self._fault(f"{where}, inputs_as_channels: most is a whole number")
        return most

    def _range(self, where: str, fact: Mapping[str, Any], first: int) -> Range:
        found = Range(fact.get("min", first), fact.get("max"))
        if not isinstance(found.first, int) or not isinstance(found.last, int | None):
            raise self._fault(f"{where}: min and max must be integers")
        if found.first < first or (found.last is not None and found.last < found.first):
            raise self._fault(f"{where}: {found.first} to {found.last} is not a range that starts at {first} or later")
        return found

    def _read_contributed(self, table: Mapping[str, Any] | None) -> dict[str, tuple[int, ...] | None]:
        """The operators of a domain beside ONNX's own, each with the release that has it first; None where none has."""
        if table is None:
            return {}
        where = "contributed"
        self._check_keys(where, table, {"domain", "source", "since"})
        domain, since = self._text(where, table, "domain"), table.get("since")
        if domain in CONVERTED_DOMAINS or not isinstance(since, Mapping):
            raise self._fault(f"{where} names a domain beside ONNX's own, and in since its operators by release")
        found: dict[str, tuple[int, ...] | None] = {}
        for version in since:
            if version != _NEVER and not re.search(r"\d", version):
                raise self._fault(f"{where}: {version!r} is neither a release nor {_NEVER!r}")
            for name in self._names({"since": {"names": since[version]}}, "since"):
                found[f"{domain}.{name}"] = None if version == _NEVER else version_key(version)
        return found

    def _names(self, release: Mapping[str, Any], key: str, within: str = "names") -> list[str]:
        names = release.get(key, {}).get(within, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._fault(f"{key}: {within} is a list of names")
        return names

    def _input(self, name: str) -> tuple[str, str]:
        operator, separator, formal = name.partition(".")
        if not separator or not operator or not formal:
            raise self._fault(f"{name!r} is not an input; write it as TopK.K")
        return operator, formal

    def _dtype(self, name: str) -> str:
        try:
            numpy_dtype(name)
        except ValueError as error:
            raise self._fault(f"{name!r} is not a dtype") from error
        return name

    def _source(self, where: str, fact: Mapping[str, Any]) -> str:
        key = self._text(where, fact, "source")
        if key not in self._sources:
            raise self._fault(f"{where}: its source {key!r} is not among the sources")
        return str(self._sources[key])

    def _text(self, where: str, table: Mapping[str, Any], key: str) -> str:
        if not isinstance(table.get(key), str) or not table[key]:
            raise self._fault(f"{where} has no {key}")
        return str(table[key])

    def _check_keys(self, where: str, table: Any, known: Collection[str]) -> None:
        if not isinstance(table, dict):
            raise self._fault(f"{where} is not a table")
        for key in table.keys() - set(known):
            raise self._fault(f"{where} has an unknown key {key!r}; the allowed keys are {', '.join(sorted(known))}")

    def _fault(self, sentence: str) -> TargetFileError:
        return TargetFileError(f"target {self._name}: {sentence}")


def _has_optional_inputs(definition: Definition) -> bool:
    return any(one.option == OpSchema.FormalParameterOption.Optional for one in definition.schema.inputs)


def _may_read(definition: Definition, dtypes: frozenset[str]) -> bool:
    allowed = {one for formal in definition.schema.inputs for one in formal.types}
    return any(tensor_type(dtype) in allowed for dtype in dtypes)
