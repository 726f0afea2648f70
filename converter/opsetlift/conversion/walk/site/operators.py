"""Emits what rules write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from onnx import AttributeProto, GraphProto, NodeProto, TypeProto

from opsetlift.conversion.walk.site.attributes import encode_attribute
from opsetlift.conversion.walk.site.view import SiteView
from opsetlift.conversion.walk.values import AT_TARGET, Emitted, constant_node
from opsetlift.model.inlining import inlined
from opsetlift.rulebook.site import Dims, Operators
from opsetlift.specification.dtypes import element_type, tensor_type_proto
from opsetlift.specification.history import canonical_domain


class Emitter(Operators):
    """Emits to the list of a site, or of a subgraph that is built at one."""

    __slots__ = ("_domain", "_emitted", "_opset", "_site")

    def __init__(self, site: SiteView, opset: int, domain: str, emitted: Emitted) -> None:
        self._site = site
        self._opset = opset
        self._domain = domain
        self._emitted = emitted

    def emit(self, operator: str, *inputs: str | None, outputs: int = 1, **attributes: Any) -> Any:
        """Emit a node of the operator of this name."""
        node = self._emit(operator, inputs, outputs, attributes)
        return node.output[0] if outputs == 1 else tuple(node.output)

    def _emit(
        self,
        operator: str,
        inputs: Sequence[str | None],
        outputs: int,
        attributes: Mapping[str, Any],
        copied: Iterable[AttributeProto] = (),
    ) -> NodeProto:
        node = NodeProto(op_type=operator, domain=self._domain)
        node.input.extend(name or "" for name in inputs)
        node.output.extend(self._site.scope.fresh_name(operator) for _ in range(outputs))
        for name, value in attributes.items():
            if value is not None:
                attribute = node.attribute.add(name=name)
                if name in ("to", "dtype") and isinstance(value, str):
                    # Before opset 6 dtypes are written in words.
                    value = element_type(value) if self._opset >= 6 else value.upper()
                encode_attribute(attribute, value)
        node.attribute.extend(copied)
        self._emitted.append((node, self._opset))
        self._site.scope.register(node, self._opset, self._domain)
        return node

    def copy(self, *inputs: str | None, outputs: int | None = None, **changed: Any) -> Any:
        """Emit the site's operator with the attributes of its node on other inputs."""
        site = self._site.node
        kept = [attribute for attribute in site.attribute if attribute.name not in changed]
        node = self._emit(site.op_type, inputs, outputs or len(site.output), changed, kept)
        if outputs is None and not all(site.output):
            # To ask for an output may mean something, as for a BatchNormalization.
            for absent in [place for place, name in enumerate(site.output) if not name]:
                node.output[absent] = ""
            return tuple(node.output)
        return node.output[0] if len(node.output) == 1 else tuple(node.output)

    def at(self, opset: int) -> Emitter:
        """Emits to the same place nodes that are written for another opset."""
        return Emitter(self._site, opset, self._domain, self._emitted)

    def inline(self, attribute: str, *inputs: str, keep_names: bool = False) -> list[str]:
        """Emit the nodes of one of the site's subgraphs."""
        site = self._site
        content = inlined(site.attribute(attribute), inputs, site.scope.fresh_name, keep_names=keep_names)
        site.scope.register_inlined(site.node, attribute, content, self._emitted, as_nodes=keep_names)
        self._emitted.extend((node, AT_TARGET) for node in content.nodes)
        return self._as_outputs(content.outputs, content.nodes)

    def _as_outputs(self, names: Iterable[str], nodes: Iterable[NodeProto]) -> list[str]:
        """The values, each computed by a node of its own: Identity where that is not so."""
        computed = {name for node in nodes for name in node.output}
        results: list[str] = []
        for name in names:
            is_own = name in computed and name not in results
            results.append(name if is_own else self.Identity(name))
        return results

    def subgraph(
        self,
        build: Callable[..., Sequence[str]],
        *,
        takes: Sequence[tuple[str, Sequence[int | str | None] | None] | TypeProto] = (),
    ) -> GraphProto:
        """Build a subgraph for a node that is emitted afterwards."""
        site, emitted = self._site, Emitted()
        types = [one if isinstance(one, TypeProto) else tensor_type_proto(*one) for one in takes]
        inputs = [site.scope.subgraph_input(one) for one in types]
        emitter = Emitter(site, self._opset, self._domain, emitted)
        results = build(emitter, *(info.name for info in inputs))
        outputs = emitter._as_outputs(results, [node for node, _ in emitted])
        return site.scope.finish_subgraph(site.node, site.transition, emitted, inputs, outputs)

    def declare(self, name: str, dtype: str, shape: Dims | None) -> None:
        """Declare the type of an emitted value."""
        self._site.scope.declare(name, dtype, shape)

    def given(self, graph: GraphProto, *inputs: str, keep_names: bool = False) -> tuple[list[NodeProto], list[str]]:
        """The nodes of a subgraph that has not been converted, and the names of its outputs."""
        scope = self._site.scope
        content = inlined(graph, inputs, scope.fresh_name, keep_names=keep_names)
        for tensor in content.initializers:
            self.add_given(constant_node(tensor))
        return content.nodes, content.outputs

    def add_given(self, node: NodeProto) -> None:
        """Emit a node of the model, which has not been converted."""
        scope, domain = self._site.scope, canonical_domain(node.domain)
        opset = scope.imports.get(domain, 1)
        scope.register(node, opset, domain)
        scope.walk_emitted_body(node, opset)
        self._emitted.append((node, opset))

    def preview(self, node: NodeProto) -> None:
        """Make the facts known of a node that may be added later."""
        self._site.scope.register(node, self._opset, canonical_domain(node.domain))

    def add(self, node: NodeProto) -> None:
        """Emit a node that is written already."""
        self.preview(node)
        self._site.scope.walk_emitted_body(node, self._opset)
        self._emitted.append((node, self._opset))

    def fresh_name(self, hint: str) -> str:
        """A name that nothing in the model has."""
        return self._site.scope.fresh_name(hint)
