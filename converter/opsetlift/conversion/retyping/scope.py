"""The nodes of a scope, with other dtypes where their schemas let them have these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import GraphProto, NodeProto, TensorProto, TypeProto

from opsetlift.conversion.retyping.changes import DoesNotFit, changed_type, dtype_in, retyped_tensor, set_type
from opsetlift.conversion.retyping.constants import Constant
from opsetlift.conversion.retyping.node import Surroundings
from opsetlift.conversion.retyping.values import ScopeValues
from opsetlift.evaluator import find_body_inputs
from opsetlift.model.arrays import array_of, tensor_of
from opsetlift.model.scopes import called_function_key, subgraphs
from opsetlift.specification.dtypes import type_of_spelling, type_string
from opsetlift.specification.history import Definition, canonical_domain, definition
from opsetlift.specification.operands import operands

_SMALL = 1 << 6
"""Elements. Constants up to this size may be axes, shapes and the like, which onnx's inference reads."""

BodyTypes = dict[str, Sequence[str | None]]
"""The types of the inputs of subgraphs, by attribute."""


class Scope(ScopeValues):
    """One scope on its way."""

    def take_interface(self, *, keep: bool) -> None:
        """The inputs of the model, with the defaults that initializers give them."""
        assert isinstance(self._container, GraphProto)
        defaults = {tensor.name: tensor for tensor in self._container.initializer}
        for info in self._container.input:
            new = self._changing(info.name)
            if new is None or keep:
                self.define(info.name, self._facts.type_string(info.name))
                if new is not None and info.name in defaults:
                    self._keep("initializers that are also graph inputs can be overridden by callers")
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
                self._keep(f"there is no information on the dtypes that {node.op_type} takes")
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
        constant = Constant(name, old, _copy(node), array)
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
            self._keep(f"{node.op_type} must keep its dtypes here")
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
            self._keep(f"no attribute of {node.op_type} sets the dtype of its output")
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
            scope = Scope(self._whole, facts, after, self)
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


def _copy(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy
