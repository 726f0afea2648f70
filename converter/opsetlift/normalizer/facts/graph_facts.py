"""Facts of the tensors of gs.Graphs: inferred on a copy of the model, and for nodes and constants that are new."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from itertools import count

import numpy
import onnx
import onnx_graphsurgeon as gs
from onnx import ModelProto, NodeProto, TypeProto

from opsetlift.evaluator import constant_results
from opsetlift.facts import MADE_UP, ModelFacts, ScopeFacts, elements_of, inferred_types, is_static, merged
from opsetlift.model.arrays import Array
from opsetlift.model.scopes import called_function_key
from opsetlift.normalizer.facts.declarations import forget_declarations
from opsetlift.normalizer.facts.dependence import Dependence
from opsetlift.normalizer.graphs.exporting import to_model, write_node
from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values
from opsetlift.normalizer.graphs.places import Place, key_of, opsets_of
from opsetlift.normalizer.graphs.traversal import subgraphs_of, tensors_in
from opsetlift.normalizer.graphs.value_infos import element_type_of
from opsetlift.specification import dtypes

_LARGEST_READ = 1 << 23
"""Bytes. Constants up to this are read when a pass asks; larger ones are weights, read where a node is evaluated."""

_LARGEST_COPIED = 1 << 14
"""Bytes. Constants up to this are copied for facts; larger ones hold neither shapes nor axes."""

_LARGEST_EVALUATED = 1 << 28
"""Bytes of inputs, and elements of an output, up to which a node of weights is evaluated."""


Revision = tuple[int, int]
"""How often the graphs had changed, names and declared types aside: by now, and when the facts were inferred."""


class _Known:
    """What is known of a tensor, which is kept alive."""

    __slots__ = ("dtype", "is_static", "shape", "tensor", "type")

    def __init__(self, tensor: gs.Tensor, found: TypeProto) -> None:
        self.tensor = tensor
        self.type = found
        spelt = dtypes.type_string(found)
        self.dtype = spelt and dtypes.dtype_of_type(spelt)
        """None for what is no tensor."""
        shape = dtypes.shape_of_type(found)
        self.shape = None if shape is None else tuple(shape)
        """A number, a symbol or None per dimension; None where not even the rank is known."""
        self.is_static = shape is not None and all(type(size) is int for size in shape)
        """Whether nothing more can become known."""

    def with_type_of(self, tensor: gs.Tensor) -> _Known:
        """The same of a tensor that has the very type of this one."""
        other = copy(self)
        other.tensor = tensor
        return other

    @property
    def has_made_up_sizes(self) -> bool:
        """Whether a size has a name that onnx's inference gave it, which means another size in another inference."""
        return not self.is_static and any(type(size) is str and size.startswith(MADE_UP) for size in self.shape or ())

    @property
    def may_be_sizes(self) -> bool:
        """Whether the shapes of other tensors may depend on the value: it is a scalar or a vector, for all we know."""
        return self.shape is None or len(self.shape) < 2

    def tells_all_of(self, found: TypeProto | None) -> bool:
        """Whether a type that was inferred anew tells no more than this one, which is not wholly known."""
        if found is None or self.shape is None or self.has_made_up_sizes:
            return False
        both = TypeProto()
        both.CopyFrom(self.type)
        return bool(merged(both, found) == self.type)


class GraphFacts:
    """Types, shapes and constants by tensor.

    They are inferred on a copy of the model, when they are asked for. Built-in passes never change the value of an
    existing tensor (a value of another shape gets a new tensor), so the facts of a tensor stay true while passes edit
    the graphs around it.
    """

    def __init__(self, graph: gs.Graph, places: Callable[[], Iterable[Place]], base_dir: str) -> None:
        self._graph = graph
        self._places = places
        self._base_dir = base_dir
        self._known: dict[int, _Known] = {}
        self._scopes: dict[int, tuple[gs.Tensor, str, ScopeFacts]] | None = None
        self._has_inferred_new_types = True
        """Whether the types of new nodes have been inferred from those known before, without a copy of the model."""
        self._dependence: Dependence | None = None
        self._evaluated: dict[int, tuple[gs.Node, list[Array] | None]] = {}
        self._state = 0
        self._revision_of_facts: int | None = None
        self._made_up = count()
        self._changed: dict[int, gs.Node] = {}
        """The nodes that have changed since the facts were inferred, by identity, and kept alive."""

    @property
    def revision(self) -> Revision:
        """While it stays the same, so do the facts of every tensor."""
        return self._state, self._state if self._revision_of_facts is None else self._revision_of_facts

    def graph_has_changed(self, nodes: Iterable[gs.Node]) -> None:
        """Note that more than names and declared types has changed: new nodes, and those that are not as they were."""
        self._state += 1
        self._changed.update((id(node), node) for node in nodes)

    def renew(self) -> None:
        """Forget the types of which more may be known now: nodes before them have changed."""
        if self._revision_of_facts in (None, self._state):
            return
        places = list(self._places())
        if len(places) == 1 and not self._graph.functions:
            self._forget_all_but(self._still_exact(places[0].graph))
        else:
            self._forget_all_but({key: known for key, known in self._known.items() if known.is_static})

    def _still_exact(self, graph: gs.Graph) -> dict[int, _Known]:
        """The known types of a graph without subgraphs of which a new inference could not know more."""
        kept = {id(one): self._known[id(one)] for one in graph.inputs if id(one) in self._known}
        model = ModelFacts(ModelProto(ir_version=self._graph.ir_version))
        imports = opsets_of(graph)
        improved: set[int] = set()
        """The tensors of whose types or values more may be known."""
        like_nodes: dict[tuple[object, ...], Sequence[TypeProto | None]] = {}
        """Models repeat the same blocks, so most nodes are like one before them."""
        for node in graph.nodes:
            known = [self._known.get(id(tensor)) for tensor in node.outputs if tensor.name]
            if not self._may_be_improved(node, improved):
                kept.update((id(one.tensor), one) for one in known if one is not None and not one.has_made_up_sizes)
                improved.update(id(one) for one in node.outputs if id(one) not in kept)
                continue
            types: Sequence[TypeProto | None] = [None] * len(known)
            if self._reads_no_values(node, kept):
                key = self._key(node)
                if key not in like_nodes:
                    inferred = self._inferred(node, write_node(node), model, imports)
                    like_nodes[key] = [inferred.get(tensor.name) for tensor in node.outputs if tensor.name]
                types = like_nodes[key]
            improved.update(map(id, node.outputs))
            for one, found in zip(known, types, strict=True):
                if one is not None and (one.is_static or one.tells_all_of(found)):
                    kept[id(one.tensor)] = one
                    if not one.may_be_sizes:
                        improved.discard(id(one.tensor))
        return kept

    def _key(self, node: gs.Node) -> tuple[object, ...]:
        """What the types of a node's outputs follow from: equal keys, equal types in the same order."""
        known = [self._known.get(id(tensor)) for tensor in node.inputs]
        read = [
            (one.dtype, one.shape) if one is not None else id(tensor) if tensor.name else None
            for one, tensor in zip(known, node.inputs, strict=True)
        ]
        names = tuple(not tensor.name for tensor in node.outputs)
        attributes = [(name, *_plain(value)) for name, value in sorted(node.attrs.items())]
        return (node.op, node.domain or "", *attributes, *read, names)

    def _may_be_improved(self, node: gs.Node, improved: Collection[int]) -> bool:
        """Whether a node has changed, or more may be known of what it reads, also by having become a constant."""
        return id(node) in self._changed or any(
            id(tensor) in improved or (isinstance(tensor, gs.Constant) and id(tensor) in self._known)
            for tensor in node.inputs
        )

    @staticmethod
    def _reads_no_values(node: gs.Node, kept: Mapping[int, _Known]) -> bool:
        """Whether types and constants are all that inference needs of what a node reads: no computed sizes."""
        return all(
            isinstance(tensor, gs.Constant)
            or not tensor.name
            or (id(tensor) in kept and not kept[id(tensor)].may_be_sizes)
            for tensor in node.inputs
        )

    def forget_everything(self) -> None:
        """Infer everything anew: tensors may hold other values than before."""
        self._forget_all_but({})
        self.forget_nodes()

    def _forget_all_but(self, known: dict[int, _Known]) -> None:
        self._known = known
        self._scopes = None
        self._has_inferred_new_types = not known
        self._dependence = None
        self._revision_of_facts = None
        self._changed = {}

    def forget_nodes(self) -> None:
        """Forget the results of evaluated nodes: nodes have changed."""
        self._evaluated.clear()

    def _known_of(self, tensor: gs.Tensor) -> _Known | None:
        known = self._known.get(id(tensor))
        if known is None and not self._has_inferred_new_types:
            self._has_inferred_new_types = True
            self._begin()
            self._infer_new_types()
            known = self._known.get(id(tensor))
        if known is None and self._scopes is None:
            self._facts_of_copy()
            known = self._known.get(id(tensor))
        return known

    def _begin(self) -> None:
        if self._revision_of_facts is None:
            self._revision_of_facts = self._state

    def _infer_new_types(self) -> None:
        """Infer the outputs of nodes whose inputs are wholly known: most of what is new since the copy."""
        model = ModelFacts(ModelProto(ir_version=self._graph.ir_version))
        functions = {key_of(function) for function in self._graph.functions}
        for place in reversed(list(self._places())):  # what holds a subgraph comes before it
            imports = opsets_of(place.graph)
            for node in place.graph.nodes:
                if all(id(tensor) in self._known for tensor in node.outputs) or subgraphs_of(node):
                    continue
                if gs.Node.AttributeRef in map(type, node.attrs.values()):
                    continue
                if all(isinstance(one, gs.Constant) or id(one) in self._known or not one.name for one in node.inputs):
                    proto = write_node(node)
                    if called_function_key(proto) not in functions:
                        self._infer(node, proto, model, imports)

    def _infer(self, node: gs.Node, proto: NodeProto, model: ModelFacts, imports: Mapping[str, int]) -> None:
        inferred = self._inferred(node, proto, model, imports)
        for tensor in node.outputs:
            found = inferred.get(tensor.name) if tensor.name else None
            if found is not None and is_static(found):
                self._known.setdefault(id(tensor), _Known(tensor, found))

    def _inferred(
        self, node: gs.Node, proto: NodeProto, model: ModelFacts, imports: Mapping[str, int]
    ) -> Mapping[str, TypeProto]:
        """The types of a node's outputs by name, from the types and the constants that it reads."""
        inputs = {tensor.name: tensor for tensor in node.inputs}
        types = {name: self.type_of(tensor) for name, tensor in inputs.items() if name}

        def constant(name: str) -> Array | None:
            tensor = inputs[name]
            return tensor.values if isinstance(tensor, gs.Constant) else None

        return inferred_types(model, proto, imports, types.get, constant)

    def infer_again(self, node: gs.Node, opsets: Mapping[str, int]) -> bool:
        """Infer the types of a node's outputs from what is known by now; returns whether more is known of one.

        Later inferences find the same on a copy of the model. Here a pass need not wait for them.
        """
        if subgraphs_of(node) or gs.Node.AttributeRef in map(type, node.attrs.values()):
            return False
        proto = write_node(node)
        if called_function_key(proto) in {key_of(function) for function in self._graph.functions}:
            return False
        inferred = self._inferred(node, proto, ModelFacts(ModelProto(ir_version=self._graph.ir_version)), opsets)
        is_more = False
        for tensor in node.outputs:
            known, found = self._known_of(tensor), inferred.get(tensor.name)
            if found is None or (known is not None and known.is_static):
                continue
            both = TypeProto()
            both.CopyFrom(found if known is None else known.type)
            both = merged(both, found)
            if known is None or both != known.type:
                # As in onnx's inference of a model: a size that is not known is the same size behind it.
                for dim in both.tensor_type.shape.dim:
                    if dim.WhichOneof("value") is None:
                        dim.dim_param = f"{MADE_UP}again_{next(self._made_up)}"
                self._known[id(tensor)] = _Known(tensor, both)
                is_more = True
        return is_more

    def _facts_of_copy(self) -> Mapping[int, tuple[gs.Tensor, str, ScopeFacts]]:
        if self._scopes is None:
            self._scopes = {}
            self._begin()
            model = to_model(self._graph, largest=_LARGEST_COPIED)
            forget_declarations(model)
            facts = ModelFacts(model, self._base_dir, is_undeclared=True)
            by_scope = [(facts.scope(place.path), tensors_in(place.graph)) for place in self._places()]
            for scope, tensors in by_scope:
                self._scopes.update({id(one): (one, one.name, scope) for one in tensors})
                scope.presume({one.name: self._known[id(one)].type for one in tensors if id(one) in self._known})
            # Values share the types that are equal.
            by_type: dict[int, _Known] = {}
            for scope, tensors in by_scope:
                for one in tensors:
                    if id(one) in self._known or isinstance(one, gs.Constant):
                        continue
                    if (found := scope.type_of(one.name)) is not None:
                        like = by_type.get(id(found))
                        known = _Known(one, found) if like is None else like.with_type_of(one)
                        by_type[id(found)] = self._known[id(one)] = known
        return self._scopes

    def type_of(self, tensor: gs.Tensor) -> TypeProto | None:
        """The type with as much of the shape as is known."""
        if not isinstance(tensor, gs.Constant):
            known = self._known_of(tensor)
            if known is not None:
                return known.type
            if tensor.dtype is None or getattr(tensor, "type", "tensor_type") != "tensor_type":
                return None
        return onnx.helper.make_tensor_type_proto(element_type_of(tensor.dtype), tensor.shape)

    def dtype_of(self, tensor: gs.Tensor) -> str | None:
        """The dtype of a tensor; None for what is none, or is not known."""
        if isinstance(tensor, gs.Constant):
            return dtypes.dtype_name(element_type_of(tensor.dtype))
        known = self._known_of(tensor)
        if known is not None:
            return known.dtype
        found = self.type_of(tensor)
        spelt = found and dtypes.type_string(found)
        return dtypes.dtype_of_type(spelt) if spelt else None

    def shape_of(self, tensor: gs.Tensor) -> tuple[int | str | None, ...] | None:
        """The shape of a tensor, as far as it is known."""
        if isinstance(tensor, gs.Constant):
            return tuple(tensor.shape)
        known = self._known_of(tensor)
        if known is not None:
            return known.shape
        found = self.type_of(tensor)
        shape = None if found is None else dtypes.shape_of_type(found)
        return None if shape is None else tuple(shape)

    def constant(
        self, tensor: gs.Tensor, opsets: Mapping[str, int], may_evaluate: Callable[[gs.Node], bool]
    ) -> Array | None:
        """The value of a tensor, where it is the same in every run."""
        if isinstance(tensor, gs.Constant):
            return tensor.values if held_values(tensor).nbytes <= _LARGEST_READ else None
        if not self._depends_on_run(tensor):
            found = self._facts_of_copy().get(id(tensor))
            value = found[2].constant(found[1]) if found is not None else None
            if value is not None:
                return value
        if len(tensor.inputs) != 1:
            return None
        node = tensor.inputs[0]
        if not _reads_constants_only(node) or not may_evaluate(node):
            return None
        values = self.evaluate(node, opsets) or ()
        return next((one for output, one in zip(node.outputs, values, strict=False) if output is tensor), None)

    def _depends_on_run(self, tensor: gs.Tensor) -> bool:
        if self._dependence is None:
            self._begin()
            self._dependence = Dependence(self._places())
        return self._dependence.holds(tensor)

    def evaluate(self, node: gs.Node, opsets: Mapping[str, int]) -> list[Array] | None:
        """The outputs of a deterministic operator whose inputs are constants; None where it cannot be run."""
        if id(node) not in self._evaluated:
            self._evaluated[id(node)] = (node, self._evaluate(node, opsets))
        return self._evaluated[id(node)][1]

    def _evaluate(self, node: gs.Node, opsets: Mapping[str, int]) -> list[Array] | None:
        if not _reads_constants_only(node):
            return None
        if sum(held_values(tensor).nbytes for tensor in node.inputs if tensor.name) > _LARGEST_EVALUATED:
            return None
        if any(isinstance(value, gs.Node.AttributeRef) for value in node.attrs.values()) or subgraphs_of(node):
            return None
        if any(elements_of(self.type_of(tensor)) > _LARGEST_EVALUATED for tensor in node.outputs if tensor.name):
            return None
        try:
            inputs = [tensor.values if tensor.name else None for tensor in node.inputs]
        except (ValueError, OSError):  # what a file holds of them cannot be read
            return None
        results = constant_results(write_node(node), inputs, opsets, element_limit=_LARGEST_EVALUATED)
        return results if results is not None and all(isinstance(one, numpy.ndarray) for one in results) else None


def _plain(value: object) -> tuple[object, ...]:
    """An attribute as a part of a key: numbers and lists by what they are, everything else by identity."""
    if isinstance(value, list) and all(isinstance(one, (int, float, str)) for one in value):
        return (*map(type, value), *value)
    return (type(value), value) if isinstance(value, (int, float, str)) else (id(value),)


def _reads_constants_only(node: gs.Node) -> bool:
    return all(isinstance(tensor, gs.Constant) or not tensor.name for tensor in node.inputs)
