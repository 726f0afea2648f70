"""A model with other dtypes: what the schemas let be another dtype becomes it, and Cast nodes stand at the borders.

What stays as it was: operands whose operator has no other dtype for them (lengths, axes, shapes), what nodes of unknown
operators read and give, and what a node takes together with a constant that the new dtype does not hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto
from onnx.defs import OpSchema

from converter.arrays import Array, array_of, tensor_of
from converter.carriers import cast_takes
from converter.dtypes import dtype_of_type, element_type, type_of_spelling, type_string
from converter.evaluator.kernels.registry import find_body_inputs
from converter.facts import ModelFacts, ScopeFacts
from converter.history import AI_ONNX, Definition, canonical_domain, definition
from converter.names import Names
from converter.refusal import ConversionRefused, Refusal, Why
from converter.retyped_node import (
    DoesNotFit,
    Retyper,
    Surroundings,
    changed_type,
    dtype_in,
    operands,
    retyped_array,
    retyped_tensor,
    set_type,
)
from converter.scopes import Container, called_function_key, subgraphs

INTEGERS = ("int64", "int32", "uint64", "uint32")
FLOATS = ("double", "float", "float16", "bfloat16")
"""The dtypes that may stand for each other."""

_SMALL = 1 << 6
"""Elements. Constants up to this size may be axes, shapes and the like, which onnx's inference reads."""


@dataclass
class Retyped:
    """A model with other dtypes, and what became of the old ones."""

    model: ModelProto
    values: int = 0
    """How many values that nodes compute have another dtype."""
    constants: int = 0
    """How many constants have another dtype, or a copy that has."""
    casts: int = 0
    """How many Cast nodes were added."""
    kept: Counter[str] = field(default_factory=Counter)
    """Why values kept their dtype, a sentence each, and at how many nodes."""


def retype(model: ModelProto, facts: ModelFacts, changes: Mapping[str, str], *, keep_interface: bool) -> Retyped:
    """A copy of `model`, whose facts are `facts`, with the dtypes `changes` says. Raises ConversionRefused."""
    whole = _Model(model, facts, changes)
    for function in whole.done.model.functions:
        scope = _Scope(whole, facts.function_scope(function), function, None)
        for name in function.input:
            scope.define(name, scope.new_type(name))
        scope.run([scope.new_type(name) for name in function.output])
    graph = whole.done.model.graph
    scope = _Scope(whole, facts.graph, graph, None)
    scope.take_interface(keep=keep_interface)
    types = [
        facts.graph.type_string(info.name) if keep_interface else scope.new_type(info.name) for info in graph.output
    ]
    scope.run(types, keeps_names=True)
    if whole.refusals:
        raise ConversionRefused(whole.refusals)
    return whole.done


class _Model:
    """What all scopes share."""

    def __init__(self, model: ModelProto, facts: ModelFacts, changes: Mapping[str, str]) -> None:
        self.facts = facts
        self.changes = changes
        self.names = Names(model)
        self.retyper = Retyper(changes, model.ir_version)
        self.refusals: list[Refusal] = []
        self.done = Retyped(ModelProto())
        self.done.model.CopyFrom(model)


@dataclass
class _Constant:
    """A constant of a scope, which may be read in the old dtype, in the new one, or in both."""

    name: str
    old: str
    node: NodeProto | None
    """None for an initializer."""
    array: Array | None
    retyped: TensorProto | None = None
    """It in the new dtype, under a name of its own."""
    misfit: str = ""
    """Why it cannot be had in the new dtype."""
    is_read_as_it_was: bool = False
    is_read_anew: bool = False

    def nodes(self) -> Iterator[NodeProto]:
        """What computes it, where it is no initializer."""
        if self.node is not None and (self.is_read_as_it_was or not self.is_read_anew):
            yield self.node
        if self.node is not None and self.is_read_anew and self.retyped is not None:
            node = NodeProto(op_type="Constant", name=self.node.name, output=[self.retyped.name])
            node.doc_string = self.node.doc_string
            node.metadata_props.extend(self.node.metadata_props)
            node.attribute.add(name="value", type=AttributeProto.TENSOR, t=self.retyped)
            node.attribute[0].t.ClearField("name")
            yield node


BodyTypes = dict[str, Sequence[str | None]]
"""The types of the inputs of subgraphs, by attribute."""


class _Scope:
    """One scope on its way; `facts` are those of the original."""

    def __init__(self, whole: _Model, facts: ScopeFacts, container: Container, parent: _Scope | None) -> None:
        self._whole = whole
        self._changes = whole.changes
        self._facts = facts
        self._container = container
        self._parent = parent
        self._nodes: list[NodeProto | _Constant] = []
        self._forms: dict[str, dict[str, str]] = {}
        """Under which name a value is known in which type; of values in whose type nothing changes, nothing."""
        self._own: set[str] = set()
        self._constants: dict[str, _Constant] = {}
        self._types: dict[str, str] = {}
        """The types of the values above, by the names that they have now."""
        self._beyond: set[str] = set()
        """Values that may be beyond the range of the new dtype, as the constant was that they were computed from."""
        self._required: dict[str, str] = {}
        """The types that the outputs of a model must have under their own names."""
        self._take_constants()

    def _take_constants(self) -> None:
        if not isinstance(self._container, GraphProto):
            return
        inputs = {info.name for info in self._container.input}
        for tensor in self._container.initializer:
            old = self._facts.type_string(tensor.name)
            if old and tensor.name not in inputs and changed_type(old, self._changes):
                array = array_of(tensor, self._whole.facts.base_dir)
                self._constants[tensor.name] = _Constant(tensor.name, old, None, array)
        for sparse in self._container.sparse_initializer:
            self.define(sparse.values.name, self._facts.type_string(sparse.values.name))

    def new_type(self, name: str) -> str | None:
        """What the type of a value becomes; what it was, where nothing in it changes."""
        old = self._facts.type_string(name) if name else None
        return changed_type(old, self._changes) or old

    def _changing(self, name: str) -> str | None:
        """The new type of a value, None where nothing in its type changes."""
        return changed_type(self._facts.type_string(name), self._changes) if name else None

    def define(self, name: str, spelt: str | None, known_as: str = "") -> None:
        """Take note that a value whose type changes, or could, is known under a name in a type."""
        if spelt and self._changing(name):
            self._own.add(name)
            self._forms[name] = {spelt: known_as or name}
            self._types[known_as or name] = spelt

    def take_interface(self, *, keep: bool) -> None:
        """The inputs of the model, with the defaults that initializers give them."""
        assert isinstance(self._container, GraphProto)
        defaults = {tensor.name: tensor for tensor in self._container.initializer}
        for info in self._container.input:
            new = self._changing(info.name)
            if new is None or keep:
                self.define(info.name, self._facts.type_string(info.name))
                if new is not None and info.name in defaults:
                    self._keep("initializers that are inputs, too, are for callers to override")
                continue
            set_type(info.type, new)
            self.define(info.name, new)
            default = defaults.get(info.name)
            array = None if default is None else array_of(default, self._whole.facts.base_dir)
            if default is not None and array is not None:
                try:
                    default.CopyFrom(retyped_tensor(default, array, dtype_in(new)))
                except DoesNotFit as error:
                    self._refuse(f"the default of input {info.name!r} {error}")

    def take_inputs(self, types: Sequence[str | None]) -> None:
        """The inputs of a subgraph, which the node around it gives these types."""
        assert isinstance(self._container, GraphProto)
        for info, spelt in zip(self._container.input, types, strict=True):
            if spelt and self._changing(info.name):
                if type_string(info.type) is not None:
                    set_type(info.type, spelt)
                self.define(info.name, spelt)

    def run(self, types: Sequence[str | None], *, keeps_names: bool = False) -> None:
        """Take all nodes, and bring the outputs to these types; `keeps_names` where they have to keep their names."""
        container = self._container
        is_graph = isinstance(container, GraphProto)
        names = [info.name for info in container.output] if is_graph else list(container.output)
        if keeps_names:
            self._required = {name: spelt for name, spelt in zip(names, types, strict=True) if spelt}
        for index, node in enumerate(self._facts.container.node):
            self._take(index, node)
        for position, (name, spelt) in enumerate(zip(names, types, strict=True)):
            if spelt is None or not self._changing(name):
                continue
            known_as = self._in(name, spelt)
            if is_graph:
                container.output[position].name = known_as
                set_type(container.output[position].type, spelt)
            else:
                container.output[position] = known_as
        self._finish()

    # Nodes

    def _take(self, index: int, node: NodeProto) -> None:
        whole = self._whole
        touched = any(self._changing(name) for name in (*node.input, *node.output))
        if not touched and not node.attribute:
            self._nodes.append(_copy(node))
            return
        key = called_function_key(node)
        domain = canonical_domain(node.domain)
        found = definition(domain, node.op_type, self._facts.imports.get(domain, 0))
        if key in whole.facts.functions:
            self._emit(index, node, _copy(node), [self.new_type(name) for name in node.input], self._new_outputs(node))
        elif found is None:
            old = [self._facts.type_string(name) if name else None for name in node.input]
            if touched:
                self._keep(f"nothing is known of the dtypes that {node.op_type} takes")
            self._emit(index, node, _copy(node), old, {})
        elif not node.input and touched and len(node.output) == 1 and self._take_constant_node(node):
            return
        else:
            self._take_standard(index, node, found)

    def _take_constant_node(self, node: NodeProto) -> bool:
        """A node that computes a constant is written anew where it is read in the new dtype."""
        name = node.output[0]
        array, old = self._facts.constant(name), self._facts.type_string(name)
        if array is None or old is None or name in self._required:
            return False
        constant = _Constant(name, old, _copy(node), array)
        self._constants[name] = constant
        self._nodes.append(constant)
        return True

    def _new_outputs(self, node: NodeProto) -> dict[str, str]:
        return {name: new for name in node.output if (new := self._changing(name))}

    def _take_standard(self, index: int, node: NodeProto, found: Definition) -> None:
        inputs, outputs = operands(node, found)
        bound: dict[str, str] = {}
        for one in (*inputs, *outputs):
            if (old := self._facts.type_string(one.name)) is not None:
                bound.setdefault(one.variable, old)
        wanted = {variable: new for variable, old in bound.items() if (new := changed_type(old, self._changes))}
        possible = {
            one.variable: wanted[one.variable]
            for one in (*inputs, *outputs)
            if one.variable in wanted and wanted[one.variable] in one.allowed
        }
        for one in {one.variable: one for one in (*outputs, *inputs)}.values():
            if one.variable in wanted and one.variable not in possible:
                self._keep(f"{node.op_type} has no {dtype_in(wanted[one.variable])} for {one.formal!r}")
        blocked = set()
        for one in inputs:
            why = self._obstacle(one.name, wanted[one.variable]) if one.variable in possible else ""
            if why:
                self._keep(f"{node.op_type} reads a value that {why}")
                blocked.add(one.variable)
        if blocked:
            # What is computed from a number beyond the range may be beyond it, too.
            bound_by_input = {one.variable for one in inputs}
            blocked |= {one.variable for one in outputs if found.takes_subgraphs or one.variable not in bound_by_input}
            possible = {} if found.takes_subgraphs else {one: possible[one] for one in possible.keys() - blocked}
            self._beyond.update(one.name for one in outputs if one.variable in blocked)
        types: list[str | None] = [None] * len(node.input)
        for one in inputs:
            types[one.position] = possible.get(one.variable, bound.get(one.variable))
        chosen = self._with_types(node, found, types, possible) if possible else None
        if chosen is not None:
            self._emit(index, node, chosen[0], types, chosen[1], chosen[2])
            return
        if possible:
            self._keep(f"{node.op_type} as it is used here has to keep its dtypes")
        for one in inputs:
            types[one.position] = bound.get(one.variable)
        self._emit(index, node, _copy(node), types, {})

    def _with_types(
        self, node: NodeProto, found: Definition, types: Sequence[str | None], possible: Mapping[str, str]
    ) -> tuple[NodeProto, dict[str, str], BodyTypes | None] | None:
        """The node for inputs of `types`, the new types of its outputs, and those of its bodies' inputs.

        None where it cannot be.
        """
        inputs, outputs = operands(node, found)
        new = {one.name: possible[one.variable] for one in outputs if one.variable in possible}
        if found.takes_subgraphs:
            bodies = self._body_types(node, found, types)
            return None if bodies is None else (_copy(node), new, bodies)
        bound_by_input = {one.variable for one in inputs}
        hoped = {one.name: new[one.name] for one in outputs if one.name in new and one.variable not in bound_by_input}
        expected = {name: spelt for name, spelt in new.items() if name not in hoped}
        constants = self._small_constants(node, types)
        named = filter(None, node.input if constants else ())
        shaped = {name: one for name in named if (one := self._facts.type_of(name)) is not None}
        around = Surroundings(self._facts.imports, constants, shaped)
        retyped = self._whole.retyper.retyped(node, found, types, expected, hoped, around)
        if retyped is None:
            return None
        if any(retyped[1].get(name) != spelt for name, spelt in hoped.items()):
            self._keep(f"no attribute of {node.op_type} says that it gives another dtype")
        given = {name: spelt for name, spelt in retyped[1].items() if new.get(name) == spelt}
        return retyped[0], given, None

    def _small_constants(self, node: NodeProto, types: Sequence[str | None]) -> dict[str, TensorProto]:
        """Those of a node's inputs, as they are read in `types`."""
        found = {}
        for name, spelt in zip(node.input, types, strict=True):
            constant = self._constant(name) if name else None
            if constant is not None and constant.array is not None and constant.array.size <= _SMALL:
                is_new = spelt != constant.old and constant.retyped is not None
                found[name] = constant.retyped if is_new and constant.retyped else tensor_of(constant.array, name)
        return found

    def _body_types(self, node: NodeProto, found: Definition, types: Sequence[str | None]) -> BodyTypes | None:
        """The types that the inputs of subgraphs have for inputs of `types`; None where it is not known."""
        given = find_body_inputs(canonical_domain(node.domain), node.op_type, found.since_version)
        protos = [(type_of_spelling(spelt) if spelt else None) or TypeProto() for spelt in types]
        result: BodyTypes = {}
        for attribute, graph in subgraphs(node):
            if not graph.input:
                result[attribute] = []
                continue
            if given is None:
                return None
            spelt = list(map(type_string, given(node, protos)))
            if len(spelt) != len(graph.input) or None in spelt:
                return None
            result[attribute] = spelt
        return result

    def _obstacle(self, name: str, new: str) -> str:
        """Why a value cannot be had in its new type; "" where it can."""
        constant = self._constant(name)
        if constant is not None:
            self._retype(constant)
            return constant.misfit
        if self._is_beyond(name) and dtype_in(new) in INTEGERS:
            return f"may be beyond {dtype_in(new)}, as it was computed from a constant that is"
        if dtype_of_type(new) or new in self._known_forms(name):
            return ""
        return f"is {self._facts.type_string(name)}, which Cast does not take"

    def _emit(
        self,
        index: int,
        node: NodeProto,
        new: NodeProto,
        types: Sequence[str | None],
        given: Mapping[str, str],
        bodies: BodyTypes | None = None,
    ) -> None:
        """Put `new` in the place of the node at `index`, for inputs of `types`; its outputs are `given`, or as before.

        `bodies` are the types of the inputs of subgraphs, whose outputs change then, too.
        """
        for position, (name, spelt) in enumerate(zip(node.input, types, strict=True)):
            new.input[position] = self._in(name, spelt)
        for (attribute, before), (_, after) in zip(subgraphs(node), subgraphs(new), strict=True):
            facts = self._facts.child(index, node, attribute, before)
            scope = _Scope(self._whole, facts, after, self)
            old = [facts.type_string(info.name) for info in before.input]
            scope.take_inputs(old if bodies is None else bodies[attribute])
            if not self._beyond.isdisjoint(node.output):
                scope._beyond.update(info.name for info in before.input)
            names = [info.name for info in before.output]
            scope.run([facts.type_string(name) if bodies is None else scope.new_type(name) for name in names])
        for position, name in enumerate(node.output):
            if self._changing(name):
                spelt = given.get(name) or self._facts.type_string(name)
                assert spelt is not None
                self._whole.done.values += name in given
                is_free = self._required.get(name) in (None, spelt)
                known_as = name if is_free else self._whole.names.fresh(f"{name}_{dtype_in(spelt)}")
                new.output[position] = known_as
                self.define(name, spelt, known_as)
        self._nodes.append(new)

    # Values

    def _known_forms(self, name: str) -> dict[str, str]:
        own = self._forms.get(name, {})
        return {**(self._parent._known_forms(name) if self._parent and name not in self._own else {}), **own}

    def _is_beyond(self, name: str) -> bool:
        if name in self._beyond:
            return True
        return self._parent is not None and name not in self._own and self._parent._is_beyond(name)

    def _constant(self, name: str) -> _Constant | None:
        if name in self._own or name in self._constants:
            return self._constants.get(name)
        return self._parent._constant(name) if self._parent else None

    def _retype(self, constant: _Constant) -> None:
        new = changed_type(constant.old, self._changes)
        if constant.retyped is not None or constant.misfit or new is None:
            return
        if constant.array is None:
            constant.misfit = f"cannot be read ({constant.name!r})"
            return
        try:
            array = retyped_array(constant.array, dtype_in(new))
        except DoesNotFit as error:
            constant.misfit = str(error)
        else:
            constant.retyped = tensor_of(array, self._whole.names.fresh(f"{constant.name}_{dtype_in(new)}"))

    def _in(self, name: str, spelt: str | None) -> str:
        """Under which name a value is known in a type, which a Cast may have to see to."""
        if not name or spelt is None:
            return name
        constant = self._constant(name)
        if constant is not None:
            if spelt == constant.old:
                constant.is_read_as_it_was = True
                return name
            self._retype(constant)
            if constant.retyped is None:
                self._refuse(f"{name!r} {constant.misfit}")
                return name
            constant.is_read_anew = True
            return constant.retyped.name
        forms = self._known_forms(name)
        if spelt in forms:
            return forms[spelt]
        is_unknown = self._facts.type_string(name) is None and dtype_of_type(spelt) in self._changes.values()
        return self._cast(name, next(iter(forms.values()), name), spelt) if forms or is_unknown else name

    def _cast(self, name: str, source: str, spelt: str) -> str:
        whole = self._whole
        dtype = dtype_of_type(spelt)
        opset = self._facts.imports.get(AI_ONNX, 0)
        dtypes = {dtype, dtype_of_type(self._facts.type_string(name) or spelt)}
        cast = definition(AI_ONNX, "Cast", opset)
        if dtype is None or cast is None or not all(one and cast_takes(one, opset) for one in dtypes):
            where = f"opset {opset}" if opset else "a model that does not import ai.onnx"
            self._refuse(f"{name!r} would have to become {spelt}, for which {where} has no Cast")
            return name
        is_output = self._required.get(name) == spelt and name not in self._types
        known_as = name if is_output else whole.names.fresh(f"{name}_{dtype}")
        node = NodeProto(op_type="Cast", name=whole.names.fresh(f"{name}_to_{dtype}"), input=[source])
        node.output.append(known_as)
        if cast.schema.attributes["to"].type == OpSchema.AttrType.STRING:
            node.attribute.add(name="to", type=AttributeProto.STRING, s=dtype.upper().encode())
        else:
            node.attribute.add(name="to", type=AttributeProto.INT, i=element_type(dtype))
        self._nodes.append(node)
        self._forms.setdefault(name, {})[spelt] = known_as
        self._types[known_as] = spelt
        whole.done.casts += 1
        return known_as

    def _refuse(self, sentence: str) -> None:
        self._whole.refusals.append(Refusal(Why.DTYPE_NOT_AVAILABLE, sentence, "", "", self._facts.path, ""))

    def _keep(self, sentence: str) -> None:
        self._whole.done.kept[sentence] += 1

    # The end

    def _finish(self) -> None:
        """Settle the constants: one that is read in its new dtype only keeps its name, the others exist twice."""
        names: dict[str, str] = {}
        for constant in self._constants.values():
            if constant.retyped is None or not constant.is_read_anew:
                continue
            self._whole.done.constants += 1
            temporary = constant.retyped.name
            new = changed_type(constant.old, self._changes)
            if not constant.is_read_as_it_was:
                names[temporary] = constant.name
                self._types[constant.name] = new or constant.old
            elif self._required.get(constant.name) == new:
                names[temporary], names[constant.name] = constant.name, temporary
        nodes = [node for one in self._nodes for node in (one.nodes() if isinstance(one, _Constant) else [one])]
        container = self._container
        if isinstance(container, GraphProto):
            tensors = [one for tensor in container.initializer for one in self._forms_of_initializer(tensor)]
            del container.initializer[:]
            container.initializer.extend(tensors)
        del container.node[:]
        container.node.extend(nodes)
        if names:
            _rename(container, names)
        for info in container.value_info:
            if info.name in self._types:
                set_type(info.type, self._types[info.name])

    def _forms_of_initializer(self, tensor: TensorProto) -> Iterator[TensorProto]:
        constant = self._constants.get(tensor.name)
        if constant is None or not constant.is_read_anew or constant.is_read_as_it_was:
            yield tensor
        if constant is not None and constant.is_read_anew and constant.retyped is not None:
            constant.retyped.doc_string = tensor.doc_string
            constant.retyped.metadata_props.extend(tensor.metadata_props)
            yield constant.retyped


def _rename(container: Container, names: Mapping[str, str]) -> None:
    """Other names for constants, wherever they stand."""
    if isinstance(container, FunctionProto):
        container.output[:] = [names.get(name, name) for name in container.output]
    else:
        for named in (*container.initializer, *container.output):
            named.name = names.get(named.name, named.name)
    for node in container.node:
        for place in (node.input, node.output):
            for position, name in enumerate(place):
                if name in names:
                    place[position] = names[name]
        for _, graph in subgraphs(node):
            _rename(graph, names)


def _copy(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy
