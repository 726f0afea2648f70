"""How rules write the nodes that they emit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from onnx import NodeProto

from opsetlift.model.inlining import inlined
from opsetlift.rulebook.site.attributes import encode_attribute
from opsetlift.rulebook.site.scope import AT_TARGET, Emitted
from opsetlift.rulebook.site.view import SiteView
from opsetlift.specification.dtypes import element_type


class Operators:
    """Emits nodes as the specification writes them: `op.Clip(x, low, high)` -> the name of its output.

    Inputs are value names, "" (or None) for an absent optional one; attributes are keywords. `outputs=2` gives a tuple
    of two names; `to=` and `dtype=` take dtype names ("float") as well as numbers.
    """

    def __init__(self, site: SiteView, opset: int, domain: str, emitted: Emitted) -> None:
        self._site = site
        self._opset = opset
        self._domain = domain
        self._emitted = emitted

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        if operator.startswith("__"):
            raise AttributeError(operator)
        return partial(self.emit, operator)

    def emit(self, operator: str, *inputs: str | None, outputs: int = 1, **attributes: Any) -> Any:
        """Emit a node of the operator of this name: `op.emit("Clip", x, low, high)` is `op.Clip(x, low, high)`.

        Args:
            operator: The operator's name.
            inputs: Names of values; "" or None for an optional one that is absent.
            outputs: How many outputs the node has.
            attributes: By name; one that is None is left out.

        Returns:
            The name of the output; of several, a tuple.
        """
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
        self._emitted.append((node, self._opset))
        self._site.scope.register(node, self._opset, self._domain)
        return node.output[0] if outputs == 1 else tuple(node.output)

    def at(self, opset: int) -> Operators:
        """Emits to the same place nodes that are written for another opset."""
        return Operators(self._site, opset, self._domain, self._emitted)

    def inline(self, attribute: str, *inputs: str, keep_names: bool = False) -> list[str]:
        """The nodes of one of the site's subgraphs, which have been taken to the target, on `inputs` for its own.

        `keep_names` is for when they stand in a subgraph again, and only once.
        """
        site = self._site
        content = inlined(site.attribute(attribute), inputs, site.scope.fresh_name, keep_names=keep_names)
        site.scope.register_inlined(site.node, attribute, content, self._emitted, as_nodes=keep_names)
        self._emitted.extend((node, AT_TARGET) for node in content.nodes)
        computed = {name for node in content.nodes for name in node.output}
        results: list[str] = []
        for name in content.outputs:
            is_own = name in computed and name not in results
            results.append(name if is_own else self.Identity(name))
        return results
