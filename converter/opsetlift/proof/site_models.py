"""A site by itself: a model of the original node at its opset, and one of what stands in its place at the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper

from opsetlift.model.arrays import Array
from opsetlift.model.scopes import called_function_key, function_key, subgraphs, subgraphs_within
from opsetlift.proof.inputs import Input
from opsetlift.proof.proven_bodies import DOMAIN
from opsetlift.proof.shapes import Dims, dims_of, may_be_sizes
from opsetlift.proof.sites import BodyOutput, Site
from opsetlift.specification import dtypes
from opsetlift.specification.history import Definition

ALTERNATIVES = 24
"""Where dtypes are not known, up to so many ways to choose them are tried."""

_INDEX_TYPES = frozenset(["tensor(int32)", "tensor(int64)"])


def typings(site: Site) -> list[dict[str, TypeProto]]:
    """The types of a site's inputs: one way where they are known, else every way that the original definition allows.

    Raises ValueError where nothing says what an unknown type could be.
    """
    known = {name: found for name, found in site.types.items() if found is not None and dtypes.type_string(found)}
    unknown = [name for name in site.types if name not in known]
    if not unknown:
        return [known]
    variables = _variables(site, unknown)
    bound = _bound_variables(site, known)
    choices = {
        variable: [bound[variable]] if variable in bound else allowed for variable, allowed in variables.values()
    }
    ways = []
    for combination in islice(product(*choices.values()), ALTERNATIVES):
        chosen = dict(zip(choices, combination, strict=True))
        ways.append({**known, **{name: _bare_type(chosen[variables[name][0]]) for name in unknown}})
    return ways


def _variables(site: Site, names: Sequence[str]) -> dict[str, tuple[str, list[str]]]:
    """The type variable of each input, and the types of tensors that it may stand for."""
    found = {}
    for name in names:
        variable = site.variables.get(name)
        if variable is None or site.definition is None:
            raise ValueError(f"the type of {name!r} is not known")
        allowed = sorted(site.definition.allowed_types(variable))
        found[name] = variable, [one for one in allowed if one.startswith("tensor(")] or allowed[:1]
    return found


def _bound_variables(site: Site, known: Mapping[str, TypeProto]) -> dict[str, str]:
    types = dict(known)
    for name, value in site.embedded.items():
        types[name] = helper.make_tensor_type_proto(dtypes.element_type(dtypes.name_of_numpy_dtype(value.dtype)), None)
    bound = {}
    for name, kind in types.items():
        variable, spelt = site.variables.get(name), dtypes.type_string(kind)
        if variable is not None and spelt is not None:
            bound[variable] = spelt
    return bound


def _bare_type(spelt: str) -> TypeProto:
    dtype = dtypes.dtype_of_type(spelt)
    if dtype is None:
        raise ValueError(f"an input that is not known must be a tensor to be drawn, not {spelt}")
    return helper.make_tensor_type_proto(dtypes.element_type(dtype), None)


def drawn_inputs(
    site: Site, types: Mapping[str, TypeProto], dims: Mapping[str, Dims | None], seen: Mapping[str, Array]
) -> list[Input]:
    """The inputs of a site to generate values for, with these types and dimensions; `seen` are values of them."""
    return [
        Input(
            name,
            _with_dims(kind, dims[name]),
            _controls_shapes(site, name),
            _may_control_shapes(site, name, kind),
            seen.get(name, site.example(name)),
        )
        for name, kind in types.items()
    ]


def _with_dims(kind: TypeProto, dims: Dims | None) -> TypeProto:
    if dims is None or dims == dims_of(kind) or kind.WhichOneof("value") != "tensor_type":
        return kind
    return helper.make_tensor_type_proto(kind.tensor_type.elem_type, list(dims))


def _controls_shapes(site: Site, name: str) -> bool:
    """Whether the formal parameter of an input takes only indices, or a fixed type while others are generic."""
    definition, variable = site.definition, site.variables.get(name)
    if definition is None or variable is None:
        return False
    allowed = definition.allowed_types(variable)
    return allowed <= _INDEX_TYPES or (variable == "tensor(float)" and _is_generic(definition))


def _may_control_shapes(site: Site, name: str, kind: TypeProto) -> bool:
    """Whether an input may control shapes where it has no formal parameter: single integers and lists of them may."""
    if site.definition is not None and site.variables.get(name) is not None:
        return False
    return may_be_sizes(kind)


def _is_generic(definition: Definition) -> bool:
    return any(not formal.type_str.startswith("tensor(") for formal in definition.schema.inputs)


def site_models(
    site: Site,
    types: Mapping[str, TypeProto],
    constants: Mapping[str, Array],
    original: ModelProto,
    result: ModelProto,
) -> tuple[ModelProto, ModelProto]:
    """The models of both sides, with the same inputs: `types` says which, and `constants` what is fixed."""
    initializers = [_tensor(name, value) for name, value in {**site.embedded, **constants}.items()]
    inputs = [_bare_input(name, kind) for name, kind in types.items() if name not in constants]
    shared_nodes = {id(node): node for node in site.shared.values() if isinstance(node, NodeProto)}
    shared_tensors = [_renamed(tensor, name) for name, tensor in site.shared.items() if isinstance(tensor, TensorProto)]
    before = _model(site.before_as_run, inputs, initializers, site.outputs, original, site.pair.source)
    if site.replaced is not None and site.replaced.functions:
        before.functions.extend(site.replaced.functions)
        before.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        before.graph.initializer.extend(_renamed(tensor, name) for name, tensor in site.replaced.tensors.items())
    nodes = [*shared_nodes.values(), *site.after]
    after = _model(nodes, inputs, [*initializers, *shared_tensors], site.outputs, result, site.pair.target)
    if site.body_outputs:
        for model in (before, after):
            _declare(model, site.body_outputs)
    return before, after


def _declare(model: ModelProto, known: Mapping[str, BodyOutput]) -> None:
    """Say of outputs of subgraphs what is known of them, where no rule said something else."""
    for graph in subgraphs_within(model.graph):
        for info in graph.output:
            output = known.get(info.name)
            if output is not None and (dims_of(info.type) is None or info == output.declared):
                info.type.CopyFrom(output.type)


def _bare_input(name: str, kind: TypeProto) -> ValueInfoProto:
    """An input of any shape: the test inputs vary what is open."""
    info = ValueInfoProto(name=name)
    info.type.CopyFrom(kind)
    inner = info.type
    while inner.WhichOneof("value") in ("sequence_type", "optional_type"):
        inner = getattr(inner, str(inner.WhichOneof("value"))).elem_type
    if inner.HasField("tensor_type"):
        inner.tensor_type.ClearField("shape")
    return info


def _tensor(name: str, value: Array) -> TensorProto:
    dtype = dtypes.name_of_numpy_dtype(value.dtype)
    if dtype == "string":
        strings = [str(text).encode() for text in value.reshape(-1).tolist()]
        return TensorProto(name=name, data_type=TensorProto.STRING, dims=value.shape, string_data=strings)
    return helper.make_tensor(name, dtypes.element_type(dtype), value.shape, value.copy(), raw=True)


def _renamed(tensor: TensorProto, name: str) -> TensorProto:
    if tensor.name == name:
        return tensor
    copy = TensorProto()
    copy.CopyFrom(tensor)
    copy.name = name
    return copy


def _model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    initializers: Sequence[TensorProto],
    outputs: Sequence[str],
    around: ModelProto,
    opsets: Mapping[str, int],
) -> ModelProto:
    graph = GraphProto(name="site", node=nodes, input=inputs, initializer=initializers)
    graph.output.extend(ValueInfoProto(name=name) for name in outputs)
    model = ModelProto(ir_version=max(around.ir_version, 4), graph=graph)
    model.opset_import.extend(helper.make_opsetid(domain, opset) for domain, opset in opsets.items())
    if around.functions:
        model.functions.extend(_functions_called(nodes, around))
    return model


def _functions_called(nodes: Sequence[NodeProto], around: ModelProto) -> list[FunctionProto]:
    functions = {function_key(function): function for function in around.functions}
    called: dict[object, FunctionProto] = {}
    pending = list(_all_nodes(nodes))
    while pending:
        key = called_function_key(pending.pop())
        if key in functions and key not in called:
            called[key] = functions[key]
            pending += _all_nodes(functions[key].node)
    return list(called.values())


def _all_nodes(nodes: Sequence[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for _, graph in subgraphs(node):
            yield from _all_nodes(graph.node)
