"""Conditions and loops.

If    11: the branches' shapes may differ · 13, 16, 19, 21, 23, 24, 25: more types
Loop  11: states are optional · 13: sequences, too · 13, 16, 19, 21, 23, 24, 25: more types
"""

from __future__ import annotations

import numpy
from onnx import GraphProto

from opsetlift.model.loop_bodies import mentions, passed_on_elsewhere, reads_its_condition
from opsetlift.rulebook.rule import Fallback, Step, before_bodies, for_lost_types, in_turn, unchanged
from opsetlift.rulebook.site import Operators, Site, is_constant
from opsetlift.specification.dtypes import dtype_name, shape_of_type
from opsetlift.specification.history import AI_ONNX, canonical_domain
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.bodies import cast_values_around_the_body, subgraph_input_types, subgraph_output_shape
from opsetlift_rules.helpers.broadcasting import have_one_shape
from opsetlift_rules.helpers.counting import endless
from opsetlift_rules.helpers.dtype_groups import FLOATING
from opsetlift_rules.helpers.sequences_in_bodies import carried_as_tensors
from opsetlift_rules.helpers.zeros import zero

_BRANCHES = ("then_branch", "else_branch")


def replace_branches_of_different_shapes(site: Site) -> None:
    """Replace If-11 whose branches may give different shapes, which If-1 does not allow.

    With a constant condition the branch is inlined, else each branch becomes a Loop of at most one iteration, whose
    states may change their shape.
    """
    positions = range(len(site.node.output))
    if all(have_one_shape([subgraph_output_shape(site, one, position) for one in _BRANCHES]) for position in positions):
        return
    condition = site.constant_value(0)
    if condition is not None and condition.size == 1:
        site.replace(*site.op.inline(_BRANCHES[0] if condition.item() else _BRANCHES[1]))
    else:
        _branches_become_loops(site)


def _branches_become_loops(site: Site) -> None:
    """Emit a Loop that runs once if the condition holds, and one if it does not: states may change their shapes."""
    op = site.op
    dtypes = [site.dtype(name) for name in site.node.output]
    values = [zero(site, dtype) for dtype in dtypes]
    takes = [("int64", ()), ("bool", ()), *((dtype, None) for dtype in dtypes)]
    condition = site.input(0)
    if site.shape(0) != []:
        condition = op.Reshape(condition, site.constant(numpy.zeros(0, numpy.int64), hint="scalar"))
    for branch, runs in (("then_branch", condition), ("else_branch", op.Not(condition))):

        def build(inner: Operators, number: str, going: str, *states: str, branch: str = branch) -> list[str]:
            return [going, *inner.inline(branch, keep_names=True)]

        body = site.op.subgraph(build, takes=takes)
        results = op.Loop(op.Cast(runs, to="int64"), endless(site), *values, body=body, outputs=len(values))
        values = [results] if isinstance(results, str) else list(results)
        for value, dtype in zip(values, dtypes, strict=True):
            site.op.declare(value, dtype, None)
    site.replace(*values)


@before_bodies
@for_lost_types
def carry_sequences_as_tensors(site: Site) -> None:
    """Carry the sequences of an If-13 or a Loop-13 in vectors: of their elements, and of the shapes of these."""
    if not any(site.dtype(name, "").startswith("seq(") for name in (*site.inputs, *site.node.output) if name):
        return
    results = carried_as_tensors(site, site.op_at(opsets.AXES_AS_INPUTS))
    for position, (name, result) in enumerate(zip(site.node.output, results, strict=False)):
        if not isinstance(result, str):
            site.scalarize(position, result)
        elif name:
            site.op.declare(result, site.dtype(name), site.shape(name))
    if any(isinstance(result, str) for result in results):
        site.replace(*(result if isinstance(result, str) else None for result in results))


def add_a_dummy_loop_state(site: Site) -> None:
    """Add a state to a Loop without any: Loop-1 requires at least one, and so did Loop-11 in its first years."""
    if len(site.inputs) > 2:
        return
    given = subgraph_input_types(site, "body")
    if len(given) != 2:
        site.refuse(Why.INVALID_MODEL, f"the body has {len(given)} inputs; without states it must have 2")

    def build(op: Operators, number: str, going: str, state: str) -> list[str]:
        condition, *elements = op.inline("body", number, going, keep_names=True)
        return [condition, state, *elements]

    body = site.op.subgraph(build, takes=[*given, ("bool", [])])
    trip_count, condition = site.input(0), site.input(1)
    state = site.constant(True, "bool", "state")
    _, *results = site.op.Loop(trip_count, condition, state, body=body, outputs=1 + len(site.node.output))
    for result, output in zip(results, site.node.output, strict=True):
        if output:
            site.op.declare(result, site.dtype(output), site.shape(output))
    site.replace(*results)


def replace_branches_or_gather_constants(site: Site) -> None:
    """Gather constant outputs of If branches by an index that is always 0 and depends on the condition.

    The runtime that needs this takes such outputs for constants. A constant condition inlines the branch instead, and
    results whose rank is not known come from Loops, for runtimes that have no such If.
    """
    known = site.constant_value(0)
    if known is not None and known.size == 1:
        site.replace(*site.op.inline("then_branch" if known.item() else "else_branch"))
        return
    if _gives_tensors_of_any_rank(site):
        _branches_become_loops(site)
        return
    op = site.op_at(opsets.AXES_AS_INPUTS)
    condition, first = site.input(0), site.constant([0], "int64", "first")
    if site.shape(0) != []:
        condition = op.Reshape(condition, site.constant(numpy.zeros(0, numpy.int64), hint="scalar"))
    index = op.Cast(op.And(condition, op.Not(condition)), to="int64")
    branches = {}
    for branch in _BRANCHES:

        def build(inner: Operators, branch: str = branch) -> list[str]:
            values = inner.inline(branch, keep_names=True)
            return [inner.Gather(inner.Unsqueeze(value, first), index) for value in values]

        branches[branch] = site.op_at(opsets.AXES_AS_INPUTS).subgraph(build)
    results = site.op.If(condition, outputs=len(site.node.output), **branches)
    results = [results] if isinstance(results, str) else list(results)
    for result, name in zip(results, site.node.output, strict=True):
        if name:
            site.op.declare(result, site.dtype(name), site.shape(name))
    site.replace(*(result if name else None for result, name in zip(results, site.node.output, strict=True)))


def _gives_tensors_of_any_rank(site: Site) -> bool:
    if any(site.dtype(name, "").startswith(("seq(", "optional(")) for name in site.node.output if name):
        return False
    places = range(len(site.node.output))
    return any(subgraph_output_shape(site, branch, place) is None for branch in _BRANCHES for place in places)


def compute_both_branches(site: Site) -> None:
    """Compute both branches and select by the condition: for runtimes without If.

    Only where neither can fail on inputs that lead to the other one, and the sizes of all values in them are known.
    """
    places = range(len(site.node.output))
    shapes = [[subgraph_output_shape(site, one, place) for one in _BRANCHES] for place in places]
    if not all(have_one_shape(some) for some in shapes) or not all(_always_runs(site, one) for one in _BRANCHES):
        return
    op = site.op_at(opsets.WHERE)
    condition, given = site.input(0), site.shape(0)
    if given is None or len(given) > min(len(some[0] or ()) for some in shapes):
        condition = op.Reshape(condition, site.constant(numpy.zeros(0, numpy.int64), hint="scalar"))
    found = [site.op.inline(one) for one in _BRANCHES]
    rows = zip(site.node.output, *found, strict=True)
    site.replace(*(op.Where(condition, one, other) if name else None for name, one, other in rows))


def _always_runs(site: Site, branch: str) -> bool:
    """Whether a branch computes something whatever it is given: sizes and operators do not depend on values."""
    graph: GraphProto = site.attribute(branch)
    types = {name: site.type_inside(branch, name) for node in graph.node for name in (*node.input, *node.output)}
    constants = {one.name for one in graph.initializer}
    for node in graph.node:
        if canonical_domain(node.domain) != AI_ONNX or node.op_type not in _ALWAYS_RUN | _RUN_WITH_CONSTANTS:
            return False
        if node.op_type in _RUN_WITH_CONSTANTS:
            parameters = [name for name in node.input[1:] if name and name not in constants]
            if not all(is_constant(site, name) for name in parameters):
                return False
        if node.op_type == "Constant":
            constants.update(node.output)
        for name in filter(None, (*node.input, *node.output)):
            found = types[name]
            shape = None if found is None else shape_of_type(found)
            if shape is None or not all(isinstance(size, int) for size in shape):
                return False
        given = [types[name] for name in node.input if name]
        are_floats = all(one is not None and dtype_name(one.tensor_type.elem_type) in FLOATING for one in given)
        if node.op_type in _RUN_WITH_FLOATS and not are_floats:
            return False  # a quotient of integers by 0 ends the process
    return True


_NUMBERS = FLOATING | {"int32", "int64"}
_RUN_WITH_FLOATS = frozenset(("Div", "Pow", "Reciprocal"))
_RUN_WITH_CONSTANTS = frozenset(
    (
        *("Clip", "Expand", "Pad", "Reshape", "Slice", "Split", "Squeeze", "Unsqueeze"),
        *("ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "ReduceSumSquare"),
    )
)
_ALWAYS_RUN = frozenset(
    (
        *("Abs", "Add", "And", "AveragePool", "BatchNormalization", "Cast", "Ceil", "Concat", "Constant", "Conv"),
        *("ConvTranspose", "Cos", "Div", "Elu", "Equal", "Erf", "Exp", "Flatten", "Floor", "Gelu", "Gemm"),
        *("GlobalAveragePool", "GlobalMaxPool", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity"),
        *("InstanceNormalization", "LayerNormalization", "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax"),
        *("MatMul", "Max", "MaxPool", "Mean", "Min", "Mish", "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal"),
        *("Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softmax", "Softplus", "Softsign", "Sqrt", "Sub", "Sum"),
        *("Tanh", "Transpose", "Where", "Xor"),
    )
)


def name_the_condition_or_write_the_body_anew(site: Site) -> None:
    """Give a Loop that ends by its trip count a condition, or a body in which the number of the run surely is a scalar.

    What a body passes on of its inputs, the new one copies; a number that becomes another state as it is, it multiplies
    by 1. A runtime that gives the last number for each run where the body copies it by Identity alone finds a Reshape
    before that. What reads the condition in it reads true: else there would be no run.
    """
    if site.input(0) and not site.input(1):
        site.set_input(1, endless(site))
        return
    types = [site.type_of(name) for name in site.node.output if name]
    if not all(one is not None and one.HasField("tensor_type") for one in types):
        return
    graph: GraphProto = site.attribute("body")
    true = site.constant(True, "bool", "true") if reads_its_condition(graph) else ""
    takes = subgraph_input_types(site, "body")
    dtypes = {place: dtype_name(takes[place + 1].tensor_type.elem_type) for place in passed_on_elsewhere(graph)}
    ones = {place: site.constant(1, dtype, "one") for place, dtype in dtypes.items() if dtype in _NUMBERS}
    reads_number = not true and not ones and any(mentions(node, graph.input[0].name) for node in graph.node)
    scalar = site.constant(numpy.zeros(0, numpy.int64), hint="scalar") if reads_number else ""

    def build(op: Operators, number: str, going: str, *others: str) -> list[str]:
        number = op.Reshape(number, scalar) if scalar else number
        results = op.inline("body", number, true or going, *others, keep_names=True)
        return [op.Mul(one, ones[place]) if place in ones else one for place, one in enumerate(results)]

    body = site.op.subgraph(build, takes=takes)
    results = site.op.Loop(*site.inputs, body=body, outputs=len(site.node.output))
    results = [results] if isinstance(results, str) else list(results)
    for result, name in zip(results, site.node.output, strict=True):
        if name:
            site.op.declare(result, site.dtype(name), site.shape(name))
    site.replace(*(result if name else None for result, name in zip(results, site.node.output, strict=True)))


_SHAPES = "11 lets the branches give different shapes"
_WITHOUT_STATES = "11 adds loops without states"
_SEQUENCES = "13 adds sequences"
_MODES = "16 adds bfloat16 and optionals; the list of modes is only reformatted"
_CARRY_OR_ADD = in_turn(carry_sequences_as_tensors, add_a_dummy_loop_state)

STEPS = [
    Step("If", 1, 11, up=unchanged, down=replace_branches_of_different_shapes, because=_SHAPES),
    Step("If", 11, 13, up=unchanged, down=carry_sequences_as_tensors, because=_SEQUENCES),
    Step("If", 13, 16, up=unchanged, down=cast_values_around_the_body),
    Step("Loop", 1, 11, up=unchanged, down=add_a_dummy_loop_state, because=_WITHOUT_STATES),
    Step("Loop", 11, 13, up=unchanged, down=_CARRY_OR_ADD, because=_SEQUENCES),
    Step("Loop", 13, 16, up=unchanged, down=cast_values_around_the_body, because=_MODES),
]

FALLBACKS = [
    Fallback("If", replace_branches_or_gather_constants, otherwise=compute_both_branches),
    Fallback("Loop", name_the_condition_or_write_the_body_anew),
]
