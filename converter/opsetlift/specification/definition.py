"""One operator at one since-version, and the domains that operators are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from onnx import FunctionProto, NodeProto, TypeProto
from onnx.defs import OpSchema, get_all_schemas_with_history

AI_ONNX = ""
AI_ONNX_ML = "ai.onnx.ml"

CONVERTED_DOMAINS = (AI_ONNX, AI_ONNX_ML)
"""The domains that OpsetLift has rules for; preview domains have one version each and hence no step."""

PREVIEW_DOMAINS = ("ai.onnx.preview", "ai.onnx.preview.training")
"""The domains in which ONNX tries out operators."""


FLAGS = frozenset(
    """
    align_corners allowzero antialias broadcast ceil_mode center_point_box count_include_pad detect_negative
    detect_positive exclude_outside exclusive fmod input_forget interleaved inverse is_case_sensitive is_causal
    keepdims largest layout linear_before_reset new_axis noop_with_empty_axes onesided output_sequence periodic
    reverse saturate select_last_index sorted spatial storage_order training_mode transA transB upper zeros
    """.split()  # noqa: SIM905  # a list would have a line for each
)
"""Attributes of which the texts name two values, 0 and 1; runtimes disagree about others."""


def canonical_domain(domain: str) -> str:
    """The default domain has two spellings, "" and "ai.onnx" (IR spec, Operator Sets); ours is ""."""
    return AI_ONNX if domain == "ai.onnx" else domain


def display_domain(domain: str) -> str:
    """The spelling for people: "ai.onnx" for the default domain."""
    return domain or "ai.onnx"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


@cache
def _operators_with_seed() -> frozenset[tuple[str, str]]:
    schemas = get_all_schemas_with_history()
    return frozenset((schema.domain, schema.name) for schema in schemas if "seed" in schema.attributes)


class Formal(NamedTuple):
    """An input or output that a schema declares."""

    name: str
    variable: str
    """Its type variable, or its one type."""
    allowed: frozenset[str]
    takes_any_types: bool
    """Whether each of the many operands that it stands for has a type of its own."""
    is_required: bool
    """Whether it stands for exactly one operand."""


class Definition:
    """One operator at one since-version: a view of its OpSchema."""

    def __init__(self, schema: OpSchema) -> None:
        self.schema = schema

    @property
    def _untyped_schema(self) -> Any:
        """The schema, for what onnx's type stubs leave out."""
        return self.schema

    @cached_property
    def attribute_kinds(self) -> Mapping[str, int]:
        """The type of each attribute, as AttributeProto numbers them."""
        # The schemas' enumeration has AttributeProto's numbers; onnx's stubs do not say that it is one of ints.
        return {name: int(one.type) for name, one in self.schema.attributes.items()}  # type: ignore[call-overload]

    @cached_property
    def required_attributes(self) -> frozenset[str]:
        """The attributes that a node must set."""
        return frozenset(name for name, one in self.schema.attributes.items() if one.required)

    def requires_input(self, position: int) -> bool:
        """Whether a node must have the input at a position."""
        formals = self.schema.inputs
        return position < len(formals) and formals[position].option == OpSchema.FormalParameterOption.Single

    @property
    def since_version(self) -> int:
        """The opset in which the definition took effect."""
        return self.schema.since_version

    @cached_property
    def types_by_variable(self) -> Mapping[str, frozenset[str]]:
        """Type variable -> the types it may stand for: {"T": {"tensor(float)", ...}}."""
        return {
            constraint.type_param_str: frozenset(constraint.allowed_type_strs)
            for constraint in self.schema.type_constraints
        }

    def allowed_types(self, type_variable: str) -> frozenset[str]:
        """The types that a formal parameter's `type_str`, a variable or a type itself, stands for."""
        return self.types_by_variable.get(type_variable) or frozenset([type_variable])

    @cached_property
    def formals(self) -> tuple[Sequence[Formal], Sequence[Formal]]:
        """The inputs and the outputs that the schema declares: to read them off the schema makes new objects."""
        return self._formals(self.schema.inputs), self._formals(self.schema.outputs)

    def _formals(self, declared: Sequence[OpSchema.FormalParameter]) -> list[Formal]:
        variadic = OpSchema.FormalParameterOption.Variadic
        return [
            Formal(
                one.name,
                one.type_str,
                self.allowed_types(one.type_str),
                one.option == variadic and not one.is_homogeneous,
                one.option == OpSchema.FormalParameterOption.Single,
            )
            for one in declared
        ]

    @property
    def given_types(self) -> frozenset[str]:
        """The types of the first output."""
        outputs = self.schema.outputs
        return self.allowed_types(outputs[0].type_str) if outputs else frozenset()

    @cached_property
    def takes_subgraphs(self) -> bool:
        """Whether it has an attribute that holds graphs."""
        return any(
            attribute.type in (OpSchema.AttrType.GRAPH, OpSchema.AttrType.GRAPHS)
            for attribute in self.schema.attributes.values()
        )

    @cached_property
    def is_random(self) -> bool:
        """Whether two runs on equal inputs may differ.

        ONNX's own operators that draw random numbers take a seed, at the latest in their newest version. The schemas'
        `node_determinism` also marks operators that draw none, and others in each release of onnx.
        """
        if self.schema.domain in CONVERTED_DOMAINS:
            return (self.schema.domain, self.schema.name) in _operators_with_seed()
        return str(self._untyped_schema.node_determinism) == "NodeDeterminism.NonDeterministic"

    @property
    def infers_types(self) -> bool:
        """Whether onnx's shape inference says anything about the outputs."""
        return bool(self._untyped_schema.has_type_and_shape_inference_function)

    @cached_property
    def infers_through_body(self) -> bool:
        """Whether onnx infers the outputs' types from the function body."""
        return bool(self._untyped_schema.has_function) and not self.infers_types

    @property
    def has_function(self) -> bool:
        """Whether onnx defines it by other operators."""
        schema = self._untyped_schema
        return bool(schema.has_function or schema.has_context_dependent_function)

    @property
    def needs_context_for_body(self) -> bool:
        """Whether the function body depends on the node and on its inputs' types."""
        schema = self._untyped_schema
        return bool(schema.has_context_dependent_function and not schema.has_function)

    def function_body(self, node: NodeProto, input_types: Sequence[TypeProto]) -> FunctionProto | None:
        """The operator's function body, of several the one for the oldest opset; None where the schema has none."""
        schema = self._untyped_schema
        if schema.has_function:
            data = schema.get_function_with_opset_version(min(schema.function_opset_versions))
        elif schema.has_context_dependent_function:
            opset = min(schema.context_dependent_function_opset_versions)
            types = [one.SerializeToString() for one in input_types]
            data = schema.get_context_dependent_function_with_opset_version(opset, node.SerializeToString(), types)
        else:
            return None
        if not data:
            return None
        body = FunctionProto()
        body.ParseFromString(data)
        return body

    @cached_property
    def signature(self) -> object:
        """What has to be the same for two versions to differ in their types and text only."""
        schema = self.schema

        def formal(parameter: OpSchema.FormalParameter) -> object:
            return (str(parameter.option), parameter.is_homogeneous, parameter.min_arity, parameter.type_str)

        attributes = sorted(
            (a.name, str(a.type), a.required, a.default_value.SerializeToString()) for a in schema.attributes.values()
        )
        return (
            [formal(i) for i in schema.inputs],
            [formal(o) for o in schema.outputs],
            attributes,
            (schema.min_input, schema.max_input, schema.min_output, schema.max_output, schema.deprecated),
        )

    @cached_property
    def text(self) -> object:
        """Everything that the schema says in words, white space folded: the meaning, as far as it is documented."""
        schema = self.schema
        return (
            _one_line(schema.doc),
            [_one_line(i.description) for i in schema.inputs],
            [_one_line(o.description) for o in schema.outputs],
            sorted((a.name, _one_line(a.description)) for a in schema.attributes.values()),
        )
