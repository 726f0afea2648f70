"""What a runtime refuses of a model that has come to its opset and IR version."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from onnx import ModelProto, NodeProto, ValueInfoProto

from opsetlift.conversion.dtype_policy import CHANGE, dtype_that_would_do
from opsetlift.conversion.own_constants import shared_defaults
from opsetlift.conversion.untyped_outputs import has_no_shape
from opsetlift.facts import ModelFacts, ScopeFacts
from opsetlift.model.scopes import GRAPH_PATH, called_function_key
from opsetlift.specification.dtypes import dtype_name, dtype_of_type, shape_of_type, tensor_type_proto
from opsetlift.specification.history import CONVERTED_DOMAINS, canonical_domain, definition
from opsetlift.specification.operands import input_operands
from opsetlift.support.refusal import Refusal, Why
from opsetlift.targets import Target, contributed_objection, known_of_operators, may_object, node_objection


def objections(facts: ModelFacts, target: Target) -> list[Refusal]:
    """Every place in a model with what the runtime does not take.

    These are operators that it lacks, or that it does not take in a dtype or form, dtypes, inputs of nodes that have to
    be constant, and inputs of open sizes.
    """
    found = interface_objections(facts, target)
    found += _misread_names(facts, target)
    found += _uncomputed_outputs(facts, target)
    found += _repeated_outputs(facts, target)
    found += _empty_values(facts, target)
    found += [] if target.takes_undeclared_outputs else _shapeless_outputs(facts, target)
    found += shared_defaults(facts.model, target)
    found += [] if target.takes_unnamed_dimensions else _shapeless_values(facts, target)
    if not (target.operators_to_check or target.dtypes_refused or target.constant_inputs or target.signatures):
        return found
    refused = _possibly_refused(facts, target)
    with_constant_inputs = {operator for operator, _ in target.constant_inputs}
    possible = facts.possible_types if target.kernels else None
    may_matter: dict[tuple[str, str, int], bool] = {}
    for scope in facts.all_scopes():
        for node in scope.container.node:
            key = called_function_key(node)
            domain = canonical_domain(node.domain)
            is_standard = domain in CONVERTED_DOMAINS and key not in facts.functions
            if sentence := contributed_objection(node, scope, target):
                found.append(_refusal(sentence, node, scope))
                continue
            what = (domain, node.op_type, scope.imports.get(domain, 1))
            if what not in may_matter:
                may_matter[what] = may_object(*what, possible, target)
            if may_matter[what] and (sentence := node_objection(node, what[2], scope, target)):
                found.append(_refusal(sentence, node, scope))
            elif is_standard and node.op_type in with_constant_inputs:
                found += _inputs_that_vary(node, scope, target)
        if refused:
            found += _refused_values(scope, target, refused, facts.cut_inputs)
    return found


def interface_objections(facts: ModelFacts, target: Target) -> list[Refusal]:
    """What the runtime does not take of a model's inputs and outputs, which are the same at every opset."""
    found = [] if target.takes_open_dimensions else list(_open_inputs(facts, target))
    found += _inputs_of_refused_dtypes(facts, target)
    found += _outputs_of_refused_dtypes(facts, target)
    found += _inputs_as_channels(facts, target)
    return found


def what_objections_depend_on(
    operators: Iterable[tuple[str, str]], opsets: Mapping[str, int], target: Target
) -> object:
    """The data of a runtime that `objections` depends on, in a model with these operators, by domain and name.

    Where it is equal, all of the runtimes find something or none of them does.
    """
    operators = list(operators)
    names = {operator for _, operator in operators}
    return (
        known_of_operators(operators, opsets, target),
        target.dtypes_refused,
        target.input_dtypes_refused,
        target.output_dtypes_refused,
        target.most_channels,
        target.misread_endings,
        {one for one in target.constant_inputs if one[0] in names},
        target.takes_open_dimensions,
        target.takes_undeclared_outputs,
        target.takes_inputs_as_outputs,
        target.takes_initializers_as_outputs,
        target.takes_repeated_outputs,
        target.takes_empty_values,
        target.takes_empty_outputs,
        target.shared_constants,
    )


def _open_inputs(facts: ModelFacts, target: Target) -> Iterator[Refusal]:
    """The inputs of a model whose sizes it leaves open."""
    graph = facts.model.graph
    defaults = {tensor.name for tensor in graph.initializer}
    found = {
        info.name: facts.graph.shape(info.name)
        for info in graph.input
        if info.name not in defaults and info.name not in facts.cut_inputs and info.type.HasField("tensor_type")
    }
    are_open = {name: shape for name, shape in found.items() if shape is None or not all(map(_is_fixed, shape))}
    for name, shape in are_open.items():
        shown = "no shape" if shape is None else f"the shape {_shown(shape)}"
        sentence = (
            f"input {name!r} has {shown}, and {target.title} {target.version} accepts only fixed sizes; "
            f"--fix-shapes {shlex.quote(_sizes_to_fix(are_open))} sets them, with your sizes in place of each 1"
        )
        yield Refusal(Why.TARGET, sentence, "", "", GRAPH_PATH, "")


def _uncomputed_outputs(facts: ModelFacts, target: Target) -> Iterator[Refusal]:
    """The outputs of a model that no node computes."""
    index = facts.graph.index
    for info in facts.model.graph.output:
        # An input with a default is an initializer to them.
        what, is_taken = "an initializer", target.takes_initializers_as_outputs
        if info.name not in index.initializers:
            what, is_taken = "an input", target.takes_inputs_as_outputs or info.name not in index.inputs
        if not is_taken:
            sentence = f"the output {info.name!r} is {what}, and {target.called} gives only what nodes compute"
            yield Refusal(Why.TARGET, sentence, "", "", GRAPH_PATH, "")


def _repeated_outputs(facts: ModelFacts, target: Target) -> Iterator[Refusal]:
    """The outputs of a model that it names twice."""
    counts = Counter(info.name for info in facts.model.graph.output)
    for name, count in counts.items() if not target.takes_repeated_outputs else ():
        if count > 1:
            sentence = f"the output {name!r} is there {count} times, and {target.called} takes it once"
            yield Refusal(Why.TARGET, sentence, "", "", GRAPH_PATH, "")


def _empty_values(facts: ModelFacts, target: Target) -> Iterator[Refusal]:
    """What has a size of 0, where the runtime takes no such values, or no such outputs."""
    graph, index = facts.model.graph, facts.graph.index
    given = (
        [] if target.takes_empty_outputs else [f"output {one.name!r}" for one in graph.output if _is_empty(one, facts)]
    )
    if not target.takes_empty_values:
        read = (one for one in graph.input if one.name not in facts.cut_inputs and index.use_count(one.name))
        given += [f"input {one.name!r}" for one in read if _is_empty(one, facts)]
    for shown in given:
        sentence = f"{shown} has a size of 0, and {target.called} takes none without elements"
        yield Refusal(Why.TARGET, sentence, "", "", GRAPH_PATH, "")
    for scope in () if target.takes_empty_values else facts.all_scopes():
        for node in scope.container.node:
            for name in node.output if node.op_type != "Constant" else ():
                if name and 0 in (scope.shape(name) or ()):
                    yield _refusal(f"{target.called} takes no values without elements, as {name!r} is", node, scope)


def _is_empty(info: ValueInfoProto, facts: ModelFacts) -> bool:
    return 0 in (facts.graph.shape(info.name) or ())


def _shapeless_outputs(facts: ModelFacts, target: Target) -> Iterator[Refusal]:
    """The outputs of a model whose shape is not known."""
    for info in facts.model.graph.output:
        if has_no_shape(info.type):
            sentence = (
                f"the shape of the output {info.name!r} is not known, and {target.called} loads no output without one"
            )
            yield Refusal(Why.TARGET, sentence, "", "", GRAPH_PATH, "")


def _inputs_of_refused_dtypes(facts: ModelFacts, target: Target) -> Iterator[Refusal]:
    for info in facts.model.graph.input if target.input_dtypes_refused else ():
        dtype = _refused_dtype(facts.graph, info.name, target.input_dtypes_refused)
        if dtype and info.name not in facts.cut_inputs:
            sentence = f"input {info.name!r} is {dtype}, and {target.called} takes no inputs of that dtype"
            yield Refusal(Why.TARGET, sentence, "", "", GRAPH_PATH, "")


def _outputs_of_refused_dtypes(facts: ModelFacts, target: Target) -> Iterator[Refusal]:
    for info in facts.model.graph.output if target.output_dtypes_refused else ():
        if dtype := _refused_dtype(facts.graph, info.name, target.output_dtypes_refused):
            other = dtype_that_would_do(dtype, target.output_dtypes_refused)
            sentence = f"output {info.name!r} is {dtype}, and {target.called} gives no outputs of that dtype"
            hint = (
                f"; --dtype {dtype}={other} --dtype-interface {CHANGE} changes it, which is not exact" if other else ""
            )
            yield Refusal(Why.TARGET, sentence + hint, "", "", GRAPH_PATH, "")


def _inputs_as_channels(facts: ModelFacts, target: Target) -> Iterator[Refusal]:
    index = facts.graph.index
    for info in facts.model.graph.input if target.most_channels else ():
        if info.name in facts.cut_inputs or info.name in index.initializers or not index.use_count(info.name):
            continue
        shape = facts.graph.shape(info.name)
        if shape is None or len(shape) != _AXES_OF_A_MATRIX_WITH_CHANNELS:
            continue
        if not isinstance(shape[-1], int) or shape[-1] <= target.most_channels:
            sentence = (
                f"input {info.name!r} has three axes, and {target.called} takes it for a matrix of channels; "
                "with one axis more it would be read as it is"
            )
            yield Refusal(Why.TARGET, sentence, "", "", GRAPH_PATH, "")


_AXES_OF_A_MATRIX_WITH_CHANNELS = 3


def _misread_names(facts: ModelFacts, target: Target) -> Iterator[Refusal]:
    computed = (name for node in facts.model.graph.node for name in node.output) if target.misread_endings else ()
    for name in computed:
        ending = next((one for one in target.misread_endings if name.endswith(one) and name != one), "")
        if ending:
            sentence = (
                f"the name of {name!r} ends in {ending!r}, and {target.called} looks for values that belong to such a "
                "name; another name would do"
            )
            yield Refusal(Why.TARGET, sentence, "", "", GRAPH_PATH, "")


def _is_fixed(size: int | str | None) -> bool:
    return isinstance(size, int)


def _sizes_to_fix(shapes: Mapping[str, Sequence[int | str | None] | None]) -> str:
    """What --fix-shapes takes for some inputs, each open size as 1: by its name, else with the shape of the input."""
    sizes: dict[str, str] = {}
    for name, shape in shapes.items():
        symbols = [size for size in shape or () if isinstance(size, str)]
        if shape is None or None in shape:
            sizes[name] = "x".join(str(size) if isinstance(size, int) else "1" for size in shape or (1,))
        else:
            sizes.update(dict.fromkeys(symbols, "1"))
    return ",".join(f"{name}={size}" for name, size in sizes.items())


def false_shapes(facts: ModelFacts) -> list[Refusal]:
    """The outputs of a model that are declared with another shape than the one that is computed."""
    found = []
    for info, declared, computed in _declared_falsely(facts):
        sentence = f"output {info.name!r} is declared as {_shown(declared)} but computed as {_shown(computed)}"
        found.append(Refusal(Why.TARGET, sentence, "", "", GRAPH_PATH, ""))
    return found


def with_true_shapes(facts: ModelFacts) -> tuple[ModelProto, list[str]]:
    """A model whose outputs are declared in the shapes that are computed, and a sentence for each that was not."""
    found = list(_declared_falsely(facts))
    if not found:
        return facts.model, []
    result, notes = ModelProto(), []
    result.CopyFrom(facts.model)
    outputs = {info.name: info for info in result.graph.output}
    for info, declared, computed in found:
        known: list[int | str | None] = [one if isinstance(one, int) else None for one in computed]
        if len(known) == len(declared):
            known = [before if one is None else one for one, before in zip(known, declared, strict=True)]
        element = dtype_name(info.type.tensor_type.elem_type)
        outputs[info.name].type.CopyFrom(tensor_type_proto(element, known))
        notes.append(
            f"output {info.name!r} was declared as {_shown(declared)}, which the runtime may not load; "
            f"now it is declared as it is computed, {_shown(known)}"
        )
    return result, notes


Shape = Sequence[int | str | None]


def _declared_falsely(facts: ModelFacts) -> Iterator[tuple[ValueInfoProto, Shape, Shape]]:
    """The outputs of a model whose shapes are not those that are declared, with both.

    Also where operators of other domains compute them: of those a runtime infers none itself, but what the conversion
    declares of values before an output contradicts what the model says of it.
    """
    for info in facts.model.graph.output:
        declared, computed = shape_of_type(info.type), facts.graph.shape(info.name)
        if declared is not None and computed is not None and _differ(declared, computed):
            yield info, declared, computed


def with_true_bodies(facts: ModelFacts) -> ModelProto:
    """A model whose subgraphs' outputs are declared in the shapes that are computed, where other ones were declared.

    To declare none is not enough: onnxruntime 1.0 to 1.2 take what has no shape in the body of a Loop for a scalar.
    """
    if not any(_declared_falsely_in_subgraphs(facts)):
        return facts.model
    result = ModelProto()
    result.CopyFrom(facts.model)
    for info, computed in _declared_falsely_in_subgraphs(ModelFacts(result, facts.base_dir)):
        known = [one if isinstance(one, int) else None for one in computed]
        info.type.CopyFrom(tensor_type_proto(dtype_name(info.type.tensor_type.elem_type), known))
    return result


def forget_false_shapes(facts: ModelFacts) -> None:
    """Take declared shapes that are not the computed ones off the outputs of a model's subgraphs."""
    for info, _ in _declared_falsely_in_subgraphs(facts):
        info.type.tensor_type.ClearField("shape")


def _declared_falsely_in_subgraphs(facts: ModelFacts) -> Iterator[tuple[ValueInfoProto, Shape]]:
    for scope in facts.all_scopes():
        for info in () if scope.parent is None else scope.container.output:
            declared, computed = shape_of_type(info.type), scope.shape(info.name)
            if declared is not None and computed is not None and _differ(declared, computed):
                yield info, computed


def _differ(declared: Sequence[int | str | None], computed: Sequence[int | str | None]) -> bool:
    return len(declared) != len(computed) or any(
        isinstance(one, int) and isinstance(other, int) and one != other
        for one, other in zip(declared, computed, strict=True)
    )


def _shown(shape: Iterable[int | str | None]) -> str:
    return f"[{', '.join('?' if dim is None else str(dim) for dim in shape)}]"


def _shapeless_values(facts: ModelFacts, target: Target) -> Iterator[Refusal]:
    """The inputs and outputs of subgraphs that declare no shape, or a false one, for a runtime that needs the rank."""
    for scope in facts.all_scopes():
        for info in () if scope.parent is None else (*scope.container.input, *scope.container.output):
            declared, computed = shape_of_type(info.type), scope.shape(info.name)
            if info.type.WhichOneof("value") is None:
                declared = computed  # what is known is declared before the conversion
            elif not info.type.HasField("tensor_type"):
                continue
            if declared is None or (computed is not None and _differ(declared, computed)):
                known = (
                    "without a shape" if declared is None else f"as {_shown(declared)}, not {_shown(computed or [])}"
                )
                sentence = f"{target.called} needs true shapes in subgraphs; {info.name!r} is declared {known}"
                yield Refusal(Why.TARGET, sentence, "", "", scope.path, "")


def _inputs_that_vary(node: NodeProto, scope: ScopeFacts, target: Target) -> Iterator[Refusal]:
    """The inputs of a node that the runtime takes as constants only, and that are computed."""
    domain = canonical_domain(node.domain)
    found = definition(domain, node.op_type, scope.imports.get(domain, 0))
    for one in input_operands(node, found) if found is not None else ():
        if (node.op_type, one.formal) not in target.constant_inputs:
            continue
        if not scope.is_initializer(one.name) and not scope.is_constant(one.name):
            sentence = (
                f"{target.title} {target.version} needs a constant {one.formal!r} for {node.op_type}; "
                f"{one.name!r} is computed at run time"
            )
            yield _refusal(sentence, node, scope)


def _possibly_refused(facts: ModelFacts, target: Target) -> frozenset[str]:
    """Those of the refused dtypes that a value of the model may have: mostly none, which is quick to tell."""
    possible = facts.possible_types
    if possible is None:
        return target.dtypes_refused
    return target.dtypes_refused & set(filter(None, map(dtype_of_type, possible)))


def _refused_values(
    scope: ScopeFacts, target: Target, refused: frozenset[str], cut_inputs: frozenset[str]
) -> Iterator[Refusal]:
    """The values with which a refused dtype begins: those that nodes pass it on to are not named again."""
    entering: Iterable[str] = [
        name if isinstance(name, str) else name.name
        for name in (*scope.container.input, *getattr(scope.container, "initializer", ()))
    ]
    for name in dict.fromkeys(entering):
        if name in cut_inputs:
            continue
        if dtype := _refused_dtype(scope, name, refused):
            is_interface = scope.path == GRAPH_PATH and any(one.name == name for one in scope.model.model.graph.input)
            sentence = _dtype_sentence(target, name, dtype, is_interface=is_interface)
            yield Refusal(Why.TARGET, sentence, "", "", scope.path, "")
    outputs = {one.name for one in scope.model.model.graph.output} if scope.path == GRAPH_PATH else set()
    for node in scope.container.node:
        taken = {_refused_dtype(scope, name, refused) for name in node.input if name}
        for name in filter(None, node.output):
            dtype = _refused_dtype(scope, name, refused)
            if dtype and dtype not in taken:
                yield _refusal(_dtype_sentence(target, name, dtype, is_interface=name in outputs), node, scope)


def _refused_dtype(scope: ScopeFacts, name: str, refused: frozenset[str]) -> str | None:
    spelt = scope.type_string(name)
    dtype = dtype_of_type(spelt) if spelt else None
    return dtype if dtype in refused else None


def _dtype_sentence(target: Target, name: str, dtype: str, *, is_interface: bool) -> str:
    """What is refused, and the change of dtypes that would do, which is not exact."""
    sentence = f"{name!r} is {dtype}, which {target.title} {target.version} does not take"
    other = dtype_that_would_do(dtype, target.dtypes_refused)
    if not other:
        return sentence
    interface = f" --dtype-interface {CHANGE}" if is_interface else ""
    return f"{sentence}; --dtype {dtype}={other}{interface} changes it, which is not exact"


def _refusal(sentence: str, node: NodeProto, scope: ScopeFacts) -> Refusal:
    return Refusal(Why.TARGET, sentence, node.op_type, node.name or next(iter(node.output), ""), scope.path, "")
