"""The values of a scope while it is converted: new ones, and those that others replace."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from opsetlift.conversion.walk.state import WalkState
from opsetlift.facts import ScopeFacts
from opsetlift.model.arrays import Array, tensor_of
from opsetlift.model.def_use import DefUse
from opsetlift.model.inlining import Inlined
from opsetlift.model.scopes import Container
from opsetlift.specification import history
from opsetlift.specification.dtypes import dtype_name, name_of_numpy_dtype, tensor_type, tensor_type_proto
from opsetlift.specification.history import AI_ONNX, Transition, canonical_domain
from opsetlift.support.protobuf import text_of
from opsetlift.targets import has_kernel

_LARGEST_CONSTANT = 1 << 10
"""Elements of a constant that is moved with the nodes around it; larger ones are weights."""


AT_TARGET = 0
"""The opset of emitted nodes that have been taken to the target before."""

Emitted = list[tuple[NodeProto, int]]
"""Nodes that a rule has emitted, in order, each with the opset that it is written for."""


def constant_node(tensor: TensorProto) -> NodeProto:
    """A Constant that gives a tensor its name."""
    constant = NodeProto(op_type="Constant", output=[tensor.name])
    constant.attribute.add(name="value", type=AttributeProto.TENSOR, t=tensor)
    return constant


@dataclass(eq=False)
class ScopeValues(ABC):
    """What a site asks of the scope that its node is in: facts, names, and what a rule may add to it."""

    walk: WalkState
    """What all scopes of the model share."""
    container: Container
    """The scope, which is changed."""
    facts: ScopeFacts
    """Those of the original scope."""
    parent: ScopeValues | None = None
    """The scope around."""
    position: int | None = None
    """That of the node in `parent` that has this subgraph; None for a node that a rule emitted."""
    base_name: str = field(default="", init=False)
    """What new names begin with: the first output of the original node that is being converted."""
    _constants: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict, init=False)
    _unread: set[str] = field(default_factory=set, init=False)
    _parts: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.imports = self.facts.imports
        self.names = self.walk.names
        around = self.parent.index if self.parent is not None and self.position is not None else None
        self.index: DefUse = self.facts.index.fork(self.container, around, self.position or 0)
        """Definitions and uses in the scope as it is now."""

    @property
    def path(self) -> str:
        """Where the scope is in the original."""
        return self.facts.path

    def target(self, domain: str) -> int:
        """The opset that the walk takes `domain` to."""
        return self.walk.targets.get(domain, self.imports.get(domain, 1))

    def computes(self, domain: str, operator: str, dtypes: Mapping[str, str]) -> bool:
        """Whether the runtime has a kernel of an operator for these dtypes, as far as is known."""
        runtime = self.walk.runtime
        self.walk.kernels_asked.add((domain, operator))
        return runtime is None or has_kernel(domain, operator, self.target(domain), dtypes, runtime)

    @property
    def takes_initializers(self) -> bool:
        """Whether the scope is a graph; functions have no initializers."""
        return not isinstance(self.container, FunctionProto)

    @cached_property
    def output_names(self) -> frozenset[str]:
        """The outputs of the graph."""
        assert isinstance(self.container, GraphProto)
        return frozenset(info.name for info in self.container.output)

    def fresh_name(self, hint: str) -> str:
        """A name that nothing in the model has, made from that of the model's node that is being converted."""
        return self.names.fresh(f"{self.base_name}_{hint}")

    def unread_name(self) -> str:
        """A new name for an output that nothing reads."""
        name = self.fresh_name("unread")
        self._unread.add(name)
        return name

    def is_read(self, name: str) -> bool:
        """Whether anything reads a value of the original; of an emitted one it is assumed."""
        return name not in self._unread and (not self.facts.computes(name) or self.facts.reads(name))

    def discard(self, names: Iterable[str]) -> None:
        """Take note that emitted nodes which read these values are not needed after all."""
        self.index.discard(names)

    def shared_constant(self, array: Array, hint: str) -> str:
        """The name of an initializer with this value; equal ones share one."""
        assert isinstance(self.container, GraphProto)
        dtype = name_of_numpy_dtype(array.dtype)
        content = array.tobytes() if array.dtype != object else repr(array.tolist()).encode()
        key = (dtype, array.shape, content)
        if key not in self._constants:
            name = self.fresh_name(hint)
            self.container.initializer.append(tensor_of(array, name))
            self.facts.register_constant(name, array)
            self.index.add_initializer(name)
            self.walk.trace.scope(self.path).added_initializers.add(name)
            self._constants[key] = name
        return self._constants[key]

    def add_initializer(self, tensor: TensorProto, name: str, doc_string: str = "") -> str:
        """Give the graph an initializer with the tensor's content."""
        assert isinstance(self.container, GraphProto)
        added = self.container.initializer.add()
        added.CopyFrom(tensor)
        added.name = name
        added.doc_string = text_of(added.doc_string or doc_string)
        self.facts.register_tensor(added)
        self.index.add_initializer(name)
        self.walk.trace.scope(self.path).added_initializers.add(name)
        return name

    def register(self, node: NodeProto, opset: int, domain: str) -> None:
        """Let the facts of an emitted node's outputs be known."""
        self.facts.register(node, opset, domain)

    def register_inlined(
        self, node: NodeProto, attribute: str, content: Inlined, emitted: Emitted, *, as_nodes: bool
    ) -> None:
        """Take over the initializers of a subgraph that is inlined, and let the types of its values be known.

        Small ones become nodes where the nodes stay in a subgraph: onnx's inference reads axes and the like off a
        subgraph's own constants only.
        """
        for tensor in content.initializers:
            is_node = as_nodes and self._is_small_constant(tensor)
            if not is_node and not isinstance(self.container, FunctionProto):
                self.add_initializer(tensor, tensor.name)
                continue
            constant = constant_node(tensor)
            emitted.append((constant, AT_TARGET))
            self.register(constant, self.target(AI_ONNX), AI_ONNX)
        inside = self.facts.subgraph_of(next(filter(None, node.output)), attribute)
        for one in content.nodes:
            self.register(one, self.target(canonical_domain(one.domain)), canonical_domain(one.domain))
        computed = {name for one in content.nodes for name in one.output}
        for old, new in content.names.items():
            found = inside.type_of(old) if inside is not None and new in computed else None
            if found is not None:
                self.facts.register_type(new, found)

    def _is_small_constant(self, tensor: TensorProto) -> bool:
        """Whether a Constant node of the target may hold the tensor, and it is no weight."""
        definition = history.definition(AI_ONNX, "Constant", self.target(AI_ONNX))
        dtype = tensor_type(dtype_name(tensor.data_type))
        is_allowed = definition is not None and dtype in definition.allowed_types("T")
        return is_allowed and math.prod(tensor.dims) <= _LARGEST_CONSTANT

    def declare(self, name: str, dtype: str, shape: Sequence[int | str | None] | None) -> None:
        """Let the type of an emitted value be known."""
        self.facts.register_type(name, tensor_type_proto(dtype, shape))

    def subgraph_input(self, kind: TypeProto) -> ValueInfoProto:
        """An input for a subgraph of emitted nodes."""
        info = ValueInfoProto(name=self.fresh_name("input"), type=kind)
        self.facts.register_type(info.name, info.type)
        return info

    def scalarize(self, name: str, parts: Sequence[str]) -> None:
        """Take note of a value that has no counterpart of its own, and of what stands for it."""
        self._parts[name] = parts if isinstance(parts, tuple) else tuple(parts)
        self.walk.has_parts = True
        self.walk.trace.scope(self.path).scalarized.add(name)

    def parts(self, name: str) -> tuple[str, ...] | None:
        """What stands for a value, here or further out; None where it stands for itself."""
        if name in self._parts:
            return self._parts[name]
        return self.parent.parts(name) if self.parent else None

    @abstractmethod
    def walk_emitted_body(self, node: NodeProto, opset: int) -> None:
        """Take the subgraphs of an emitted node, written for `opset`, to the target."""

    @abstractmethod
    def finish_subgraph(
        self,
        node: NodeProto,
        transition: Transition,
        emitted: Emitted,
        inputs: Sequence[ValueInfoProto],
        outputs: Sequence[str],
    ) -> GraphProto:
        """A subgraph of nodes that the rule for `node` emitted at a transition, taken to the target already."""
