"""Whether a model hangs together: imports, names, order, types, nesting. One sentence for the first thing wrong.

`onnx.checker` looks at much of this too, but speaks in C++ field names, and it neither tells a cycle from a wrong order
nor a name that is missing from one that comes too late.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import onnx
from onnx import AttributeProto

from opsetlift.model.def_use import DefUse, ModelIndex
from opsetlift.model.files.bounded_attributes import (
    BOUNDED,
    BoundedParameters,
    bounded_parameters,
    bounds_of,
    fault_of_value,
)
from opsetlift.model.files.errors import ModelFileError
from opsetlift.model.files.order import find_cycle, missing_value
from opsetlift.model.files.tensors import stored_bytes
from opsetlift.model.scopes import (
    GRAPH_PATH,
    FunctionKey,
    called_function_key,
    function_key,
    function_path,
    imported_opsets,
    omitted_inputs,
    subgraph_path,
    subgraphs_within,
)
from opsetlift.specification.dtypes import type_string
from opsetlift.specification.experimental import experimental_operators
from opsetlift.specification.history import (
    AI_ONNX,
    CONVERTED_DOMAINS,
    canonical_domain,
    definition,
    display_domain,
    history,
    latest_opset,
)

DEEPEST_NESTING = 30
"""Subgraphs in subgraphs; protobuf cannot write many more (100 messages, three to a subgraph, more within the last)."""

OLDEST_IR_VERSION = 3
"""The first IR version with opset imports; nothing is known of the operators of older models."""

_MESSAGE_OF_KIND: dict[int, str] = {
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.TYPE_PROTO: "tp",
}

_GRAPH_KINDS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


def validate_model(model: onnx.ModelProto, index: ModelIndex | None = None) -> list[str]:
    """Check that a model is sound.

    Args:
        model: The model.
        index: Its definitions and uses, for those who need them afterwards, too.

    Returns:
        A sentence on each thing that is unusual, but accepted.

    Raises:
        ModelFileError: The model is not sound; with the first fault.
    """
    index = index or ModelIndex(model)
    if not model.HasField("graph"):
        raise ModelFileError("the model holds no graph")
    _check_text(model)
    _check_ir_version(model.ir_version)
    notes = _import_notes(model, "the model")
    imports = _checked_imports(model, "the model")
    _check_functions(model)
    omitted, bounded = _omitted_parameters(model), bounded_parameters(model)
    for function in model.functions:
        notes += _import_notes(function, f"function {function.name!r}")
        notes += _other_definition_notes(function, imports)
        _validate_function(function, index.function(function), omitted.get(function_key(function), set()), bounded)
    _check_inputs_are_typed(model.graph)
    _Scope(GRAPH_PATH, imports, index.graph, bounded=bounded).validate_graph(model.graph)
    return notes + _interface_notes(model.graph) + _unknown_notes(model, index)


def _check_text(model: onnx.ModelProto) -> None:
    """Protobuf gives text that is not UTF-8 as bytes, and writes it only where whole messages are copied."""
    for described, value in model.ListFields():
        if described.type == described.TYPE_STRING and isinstance(value, bytes):
            raise ModelFileError(f"the model has text in a {described.name} that is not UTF-8")


def _check_ir_version(version: int) -> None:
    if version < 1:
        raise ModelFileError("the model states no IR version; the file may be damaged")
    if version < OLDEST_IR_VERSION:
        raise ModelFileError(f"the model has IR version {version}, which has no opsets; OpsetLift reads 3 and later")
    if version > onnx.IR_VERSION:
        raise ModelFileError(
            f"the model has IR version {version}; the installed onnx {onnx.__version__} knows 3 to {onnx.IR_VERSION}"
        )


def _checked_imports(importer: onnx.ModelProto | onnx.FunctionProto, importer_name: str) -> dict[str, int]:
    imports = imported_opsets(importer.opset_import)
    if any(isinstance(domain, bytes) for domain in imports):
        raise ModelFileError(f"{importer_name} imports a domain whose name is not UTF-8 text")
    if not imports:
        raise ModelFileError(f"{importer_name} imports no opset; the file may be truncated")
    for domain, version in imports.items():
        latest = latest_opset(domain) if domain in CONVERTED_DOMAINS else 2**31 - 1
        if not 1 <= version <= latest:
            raise ModelFileError(
                f"{importer_name} imports opset {version} of {display_domain(domain)}, "
                f"and the installed onnx {onnx.__version__} knows 1 to {latest}"
            )
    return imports


def _import_notes(importer: onnx.ModelProto | onnx.FunctionProto, importer_name: str) -> list[str]:
    """A sentence for each domain that is imported at different opsets.

    onnx.proto speaks of "the highest version"; onnxruntime and onnx.checker take the last one, so a model that works
    was made to work with that. skl2onnx writes such models.
    """
    versions: dict[str, list[int]] = {}
    for entry in importer.opset_import:
        versions.setdefault(canonical_domain(entry.domain), []).append(entry.version)
    return [
        f"{importer_name} imports {display_domain(domain)} at opsets {' and '.join(map(str, found))}; "
        f"the last one, {found[-1]}, was used, as in onnxruntime"
        for domain, found in versions.items()
        if len(set(found)) > 1
    ]


def _other_definition_notes(function: onnx.FunctionProto, model_imports: Mapping[str, int]) -> list[str]:
    """A sentence for each domain of which a function uses operators that are others at the model's opset.

    onnx.proto wants the same definitions at both. onnxruntime (1.12 to 1.31, measured) reads the function's nodes at
    the model's opset all the same.
    """
    own_imports = imported_opsets(function.opset_import)
    nodes = [*function.node, *(node for one in subgraphs_within(function) for node in one.node)]
    notes = []
    for domain in CONVERTED_DOMAINS:
        if domain not in own_imports or domain not in model_imports:
            continue
        opsets = own_imports[domain], model_imports[domain]
        operators = {node.op_type for node in nodes if canonical_domain(node.domain) == domain}
        changed = sorted(one for one in operators if len({_since_version(domain, one, opset) for opset in opsets}) > 1)
        if changed:
            notes.append(
                f"function {function.name!r} imports {display_domain(domain)} at opset {opsets[0]}, which was used; "
                f"onnxruntime takes the model's, {opsets[1]}, where {', '.join(changed)} has another definition"
            )
    return notes


def _since_version(domain: str, operator: str, opset: int) -> int | None:
    found = definition(domain, operator, opset)
    return None if found is None else found.since_version


def _omitted_parameters(model: onnx.ModelProto) -> dict[FunctionKey, set[str]]:
    """For each function its inputs that some call leaves out, directly or by passing on what was left out."""
    functions = {function_key(function): function for function in model.functions}
    found: dict[FunctionKey, set[str]] = {key: set() for key in functions}
    calls = [
        (None if container is model.graph else function_key(container), node, functions[key])
        for container in ((model.graph, *model.functions) if functions else ())
        for graph in (container, *subgraphs_within(container))
        for node in graph.node
        if (key := called_function_key(node)) in functions
    ]
    changed = True
    while changed:
        changed = False
        for caller, call, function in calls:
            left_out = found[caller] if caller is not None else set()
            names = omitted_inputs(function, call) | {
                formal for formal, given in zip(function.input, call.input, strict=False) if given in left_out
            }
            known = found[function_key(function)]
            changed |= not names <= known
            known |= names
    return found


def _validate_function(
    function: onnx.FunctionProto, index: DefUse, omitted: Collection[str], bounded: BoundedParameters
) -> None:
    path = function_path(function)
    imports = _checked_imports(function, f"function {function.name!r}")
    parameters = {*function.attribute, *(attribute.name for attribute in function.attribute_proto)}
    for default in function.attribute_proto:
        if fault := fault_of_value(default, bounded.get(function_key(function), {}).get(default.name, frozenset())):
            raise ModelFileError(f"attribute {default.name!r} of function {path[9:]!r} {fault} by default")
    scope = _Scope(path, imports, index, parameters=parameters, omitted=omitted, bounded=bounded)
    scope.define(function.input, "input")
    scope.validate_nodes(function.node)
    scope.check_outputs(function.output)


def _check_functions(model: onnx.ModelProto) -> None:
    functions: dict[tuple[str, str, str], onnx.FunctionProto] = {}
    for function in model.functions:
        if any(isinstance(name, bytes) for name in (function.domain, function.name, *function.attribute)):
            raise ModelFileError("a function has a name that is not UTF-8 text")
        key = (canonical_domain(function.domain), function.name, function.overload)
        if not function.name:
            raise ModelFileError("the model has a function without a name")
        if key in functions:
            raise ModelFileError(f"the model has two functions {function_path(function)[9:]!r}")
        functions[key] = function
    calls = {key: _called(function.node, functions.keys(), function.name) for key, function in functions.items()}
    if cycle := find_cycle(calls):
        raise ModelFileError(f"functions call each other in a circle: {' -> '.join(name for _, name, _ in cycle)}")


def _called(
    nodes: Iterable[onnx.NodeProto], functions: Iterable[tuple[str, str, str]], name: str, depth: int = 0
) -> list[tuple[str, str, str]]:
    _check_depth(depth, f"function {name!r}")
    found = []
    for node in nodes:
        key = (canonical_domain(node.domain), node.op_type, node.overload)
        if key in functions:
            found.append(key)
        for attribute in node.attribute:
            if attribute.type in _GRAPH_KINDS:
                for graph in (attribute.g, *attribute.graphs):
                    found += _called(graph.node, functions, name, depth + 1)
    return found


def _check_depth(depth: int, path: str) -> None:
    if depth > DEEPEST_NESTING:
        raise ModelFileError(f"subgraphs are nested more than {DEEPEST_NESTING} deep in {path[:80]}")


def _check_inputs_are_typed(graph: onnx.GraphProto) -> None:
    """Those of outputs follow from what computes them."""
    for value in graph.input:
        if _has_no_type(value, GRAPH_PATH):
            raise ModelFileError(f"graph input {value.name!r} has no type")


def _has_no_type(value: onnx.ValueInfoProto, path: str) -> bool:
    """Raises ModelFileError for a dtype that does not exist."""
    if any(isinstance(dim.dim_param, bytes) for dim in value.type.tensor_type.shape.dim):
        raise ModelFileError(f"the shape of {value.name!r} in {path} has a name that is not UTF-8 text")
    try:
        return type_string(value.type) is None and value.type.WhichOneof("value") != "opaque_type"
    except ValueError as error:
        raise ModelFileError(f"value {value.name!r} in {path} has a dtype that onnx does not know") from error


def _interface_notes(graph: onnx.GraphProto) -> list[str]:
    without_shape = [
        value.name
        for value in (*graph.input, *graph.output)
        if value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape")
    ]
    if not without_shape:
        return []
    return [f"the specification requires a shape (its dimensions may be unknown) for {', '.join(without_shape)}"]


def _unknown_notes(model: onnx.ModelProto, index: ModelIndex) -> list[str]:
    """A sentence for each operator that is said to be ONNX's, and is in no release of it: a plugin of TensorRT, say."""
    functions = set(map(function_key, model.functions))
    scopes = [index.graph, *map(index.function, model.functions)]
    operators = {key for scope in scopes for one in (scope, *scope.within()) for key in one.operators}
    spelt = {(canonical_domain(domain), *rest) for domain, *rest in operators}
    return [
        f"{display_domain(domain)} has no operator {operator}; its nodes were left as they are"
        for domain, operator, overload in sorted(spelt)
        if domain in CONVERTED_DOMAINS and history(domain, operator) is None
        if (domain, operator, overload) not in functions and operator not in experimental_operators()
    ]


def describe(node: onnx.NodeProto) -> str:
    """A node for people: "Min 'clip'", named after its first output where it has no name."""
    return f"{node.op_type} {node.name or next(iter(node.output), '')!r}"


class _Scope:
    """The names that a graph or function body can see while its nodes are validated in order."""

    def __init__(
        self,
        path: str,
        imports: dict[str, int],
        index: DefUse,
        *,
        outer: Sequence[_Scope] = (),
        parameters: set[str] | None = None,
        omitted: Collection[str] = (),
        bounded: BoundedParameters,
    ) -> None:
        self.path = path
        self.imports = imports
        self.index = index
        self.outer = outer
        self.parameters = parameters
        """The attributes of the function around; None in the main graph, where nothing can be referred to."""
        self.omitted = frozenset({"", *omitted})
        """The names that stand for no value: inputs of the function around that calls leave out."""
        self.bounded = bounded
        self.given: set[str] = set()
        """The names of inputs and initializers."""
        self.reached = 0
        """The position of the node that is being validated: what nodes from it on compute is not there yet."""
        self.nodes: Sequence[onnx.NodeProto] = ()

    def sees(self, name: str) -> bool:
        """Whether a value of this scope is there for the node that is being validated."""
        return name in self.given or self.index.positions.get(name, self.reached) < self.reached

    def validate_graph(self, graph: onnx.GraphProto) -> None:
        _check_depth(len(self.outer), self.path)
        self.define((value.name for value in graph.input), "input")
        self._define_initializers(graph)
        self.validate_nodes(graph.node)
        self.check_outputs(value.name for value in graph.output)
        for value in (*graph.input, *graph.output, *graph.value_info):
            _has_no_type(value, self.path)

    def define(self, names: Iterable[str], kind: str) -> None:
        for name in names:
            if not name:
                raise ModelFileError(f"{self.path} has an {kind} without a name")
            if name in self.given:
                raise ModelFileError(f"{self.path} has two {kind}s named {name!r}")
            self.given.add(name)

    def _define_initializers(self, graph: onnx.GraphProto) -> None:
        names = [tensor.name for tensor in graph.initializer] + [s.values.name for s in graph.sparse_initializer]
        seen: set[str] = set()
        for name in names:
            if not name:
                raise ModelFileError(f"{self.path} has an initializer without a name")
            if name in seen:
                raise ModelFileError(f"{self.path} has two initializers named {name!r}")
            seen.add(name)
        self.given |= seen

    def validate_nodes(self, nodes: Sequence[onnx.NodeProto]) -> None:
        self.nodes = nodes
        outer, seen, here = self.outer, {"", *self.given}, self.index
        self._validate_operators(nodes)
        rows = zip(here.inputs_by_node, here.outputs_by_node, here.attributes_by_node, strict=True)
        for index, (inputs, outputs, attributes) in enumerate(rows):
            self.reached = index
            if not seen.issuperset(inputs):
                for name in inputs:
                    if name not in seen and not any(scope.sees(name) for scope in outer):
                        raise self._missing_value(nodes[index], name)
            if not self.omitted.isdisjoint(inputs):
                self._check_first_input(index, nodes[index])
            if attributes:
                self._validate_attributes(index, nodes[index], attributes)
            if outer or len(outputs) != 1 or not seen.isdisjoint(outputs):
                self._validate_outputs(nodes[index], outputs, seen)
            seen.update(outputs)
        self.reached = len(nodes)
        if bytes in {*map(type, seen), *map(type, here.own_node_names)}:
            raise self._not_text(next(one for one in (*seen, *here.own_node_names) if not isinstance(one, str)))

    def _validate_operators(self, nodes: Sequence[onnx.NodeProto]) -> None:
        domains = {*self.imports, "ai.onnx"} if AI_ONNX in self.imports else set(self.imports)
        known = {one for one in self.index.operators if one[0] in domains and one[1] and isinstance(one[1], str)}
        for node, (domain, operator, overload) in zip(nodes, self.index.operators_by_node, strict=True):
            if (domain, operator, overload) in known:
                continue
            if not operator:
                raise ModelFileError(f"a node in {self.path} names no operator: {describe(node).strip()}")
            if isinstance(operator, bytes):
                raise self._not_text(operator)
            raise ModelFileError(
                f"{describe(node)} in {self.path} is of domain {display_domain(domain)}, which is not imported"
            )

    def _check_first_input(self, index: int, node: onnx.NodeProto) -> None:
        """Without one that is required onnx's shape inference of some operators ends the process.

        Later ones are left out by exporters that runtimes follow, as roi of Resize-11 is.
        """
        domain, operator, _ = self.index.operators_by_node[index]
        found = definition(domain, operator, self.imports.get(domain, 0)) if node.input[0] in self.omitted else None
        for formal in found.formals[0][:1] if found is not None else ():
            if formal.is_required:
                raise ModelFileError(
                    f"{describe(node)} in {self.path} leaves out the input {formal.name!r}, which {operator} requires"
                )

    def _validate_outputs(self, node: onnx.NodeProto, outputs: Sequence[str], seen: set[str]) -> None:
        for position, name in enumerate(outputs):
            is_defined = name in seen or name in outputs[:position] or any(scope.sees(name) for scope in self.outer)
            if name and is_defined:
                raise ModelFileError(f"{describe(node)} in {self.path} computes {name!r}, which is already defined")

    def _not_text(self, name: object) -> ModelFileError:
        """The error for a name that is not UTF-8: protobuf gives such strings as bytes."""
        return ModelFileError(f"{self.path} has a name that is not UTF-8 text: {name!r}")

    def _missing_value(self, node: onnx.NodeProto, name: str) -> ModelFileError:
        scopes = [(scope.path, scope.nodes) for scope in (self, *reversed(self.outer))]
        return missing_value(f"{describe(node)} in {self.path}", name, scopes)

    def _validate_attributes(self, index: int, node: onnx.NodeProto, attributes: Iterable[AttributeProto]) -> None:
        seen: set[str] = set()
        for attribute in attributes:
            name, kind = attribute.name, attribute.type
            if not name:
                raise ModelFileError(f"{describe(node)} in {self.path} has an attribute without a name")
            for text in (name, attribute.ref_attr_name):
                if isinstance(text, bytes):
                    raise self._not_text(text)
            fault = "is there twice" if name in seen else self._fault_of(attribute)
            if not fault and (name in BOUNDED or self.bounded) and not attribute.ref_attr_name:
                key = self.index.operators_by_node[index]
                fault = fault_of_value(attribute, bounds_of(key, self.imports, name, len(node.output), self.bounded))
            if fault:
                raise ModelFileError(f"attribute {name!r} of {describe(node)} in {self.path} {fault}")
            seen.add(name)
            if attribute.ref_attr_name:
                continue
            if kind == AttributeProto.TENSOR:
                stored_bytes(attribute.t)
            elif kind in _GRAPH_KINDS:
                self._validate_subgraphs(index, node, attribute)

    def _fault_of(self, attribute: AttributeProto) -> str:
        """What is wrong with an attribute alone; "" where nothing is."""
        kind = attribute.type
        if kind == AttributeProto.UNDEFINED:
            return "has no type"
        reference = attribute.ref_attr_name
        if not reference:
            field = _MESSAGE_OF_KIND.get(kind)
            return "" if field is None or attribute.HasField(field) else "has no value"
        if self.parameters is None:
            return f"refers to an attribute {reference!r}, but is not inside a function"
        return "" if reference in self.parameters else f"refers to {reference!r}, which the function does not have"

    def _validate_subgraphs(self, index: int, node: onnx.NodeProto, attribute: AttributeProto) -> None:
        graphs = [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
        for number, graph in enumerate(graphs):
            name = attribute.name if attribute.type == AttributeProto.GRAPH else f"{attribute.name}[{number}]"
            path = subgraph_path(self.path, index, node, name)
            inner = self.index.child(index, name, graph)
            outer = (*self.outer, self)
            scope = _Scope(
                path,
                self.imports,
                inner,
                outer=outer,
                parameters=self.parameters,
                omitted=self.omitted,
                bounded=self.bounded,
            )
            scope.validate_graph(graph)

    def check_outputs(self, names: Iterable[str]) -> None:
        for name in names:
            if not self.sees(name):
                raise ModelFileError(f"{self.path} has an output {name!r} that nothing computes")
