"""The values of a scope while it is walked: new ones, and those that have become others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from opsetlift.facts import ScopeFacts
from opsetlift.model.arrays import Array, tensor_of
from opsetlift.model.inlining import Inlined
from opsetlift.model.scopes import Container
from opsetlift.rulebook.site import Site
from opsetlift.rulebook.site.operators import AT_TARGET
from opsetlift.specification import history
from opsetlift.specification.dtypes import dtype_name, name_of_numpy_dtype, tensor_type, tensor_type_proto
from opsetlift.specification.history import AI_ONNX, canonical_domain
from opsetlift.targets.forms import has_kernel

if TYPE_CHECKING:
    from opsetlift.conversion.walk.model import ModelWalk


_LARGEST_CONSTANT = 1 << 10
"""Elements of a constant that is moved with the nodes around it; larger ones are weights."""


class ScopeValues:
    """What rules may ask of a scope and add to it; `container` is changed, `facts` are those of the original."""

    def __init__(self, walk: ModelWalk, container: Container, facts: ScopeFacts, parent: ScopeValues | None) -> None:
        self.walk = walk
        self.container = container
        self.facts = facts
        self.imports = facts.imports
        self.parent = parent
        self.names = walk.names
        self.base_name = ""
        """What new names begin with: the first output of the original node that is being converted."""
        self.dropped_uses: list[str] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._unread: set[str] = set()
        self._parts: dict[str, tuple[str, ...]] = {}

    @property
    def path(self) -> str:
        return self.facts.path

    def target(self, domain: str) -> int:
        """The opset that the walk takes `domain` to."""
        return self.walk.targets.get(domain, self.imports.get(domain, 1))

    def computes(self, domain: str, operator: str, dtypes: Mapping[str, str]) -> bool:
        """Whether the runtime has a kernel of an operator for these dtypes, as far as is known."""
        runtime = self.walk.runtime
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
        """Whether anything reads a value: of the original's one knows, and of emitted ones it is assumed."""
        return name not in self._unread and (not self.facts.computes(name) or self.facts.reads(name))

    def constant(self, site: Site, array: Array, hint: str) -> str:
        """The name of a constant: a shared initializer, or in a function, which has none, a Constant node."""
        dtype = name_of_numpy_dtype(array.dtype)
        content = array.tobytes() if array.dtype != object else repr(array.tolist()).encode()
        key = (dtype, array.shape, content)
        if isinstance(self.container, FunctionProto):
            # Below 9 a Constant is a float; its own transitions say what becomes of the others.
            opset = site.opset if site.transition.domain == AI_ONNX else self.imports.get(AI_ONNX, 1)
            return str(site.op_in(AI_ONNX, max(opset, 9)).Constant(value=tensor_of(array)))
        if key not in self._constants:
            name = self.fresh_name(hint)
            self.container.initializer.append(tensor_of(array, name))
            self.facts.register_constant(name, array)
            self.walk.trace.scope(self.path).added_initializers.add(name)
            self._constants[key] = name
        return self._constants[key]

    def add_initializer(self, tensor: TensorProto, name: str, doc_string: str = "") -> str:
        """Give the graph an initializer with the tensor's content."""
        assert isinstance(self.container, GraphProto)
        added = self.container.initializer.add()
        added.CopyFrom(tensor)
        added.name = name
        added.doc_string = added.doc_string or doc_string
        self.facts.register_tensor(added)
        self.walk.trace.scope(self.path).added_initializers.add(name)
        return name

    def register(self, node: NodeProto, opset: int, domain: str) -> None:
        """Let the facts of an emitted node's outputs be known."""
        self.facts.register(node, opset, domain)

    def register_inlined(
        self, site: Site, attribute: str, content: Inlined, sink: list[tuple[NodeProto, int]] | None = None
    ) -> None:
        """Take over the initializers of a subgraph that is taken apart, and let the types of its values be known.

        Small ones become nodes in `sink`, if there is one: onnx's inference reads axes and the like off a subgraph's
        own constants only.
        """
        for tensor in content.initializers:
            is_kept = sink is not None and self._is_small_constant(tensor)
            if not is_kept and not isinstance(self.container, FunctionProto):
                self.add_initializer(tensor, tensor.name)
                continue
            constant = NodeProto(op_type="Constant", output=[tensor.name])
            constant.attribute.add(name="value", type=AttributeProto.TENSOR, t=tensor)
            (site.emitted if sink is None else sink).append((constant, AT_TARGET))
            self.register(constant, self.target(AI_ONNX), AI_ONNX)
        inside = self.facts.subgraph_of(next(filter(None, site.node.output)), attribute)
        for node in content.nodes:
            self.register(node, self.target(canonical_domain(node.domain)), canonical_domain(node.domain))
        computed = {name for node in content.nodes for name in node.output}
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

    def dissolve(self, name: str, parts: Sequence[str]) -> None:
        """Take note of a value that has no counterpart of its own, and of what stands for it."""
        self._parts[name] = tuple(parts)
        self.walk.trace.scope(self.path).dissolved.add(name)

    def parts(self, name: str) -> tuple[str, ...] | None:
        """What stands for a value, here or further out; None where it stands for itself."""
        if name in self._parts:
            return self._parts[name]
        return self.parent.parts(name) if self.parent else None
