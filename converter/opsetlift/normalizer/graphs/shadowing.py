"""Inner names that hide outer ones give way.

The specification wants the names of a subgraph to differ from those that it can see around it, but onnx's checker and
runtimes take models in which they do not: there the inner one is meant. A rewrite lets a subgraph read another outer
value than before, and must not be caught by such a name. Callers know none of the inner names.
"""

from __future__ import annotations

from collections.abc import Callable

import onnx_graphsurgeon as gs

from opsetlift.normalizer.graphs.attached_metadata import metadata_of_graph
from opsetlift.normalizer.graphs.traversal import holders_in, subgraphs_of, tensors_in


def rename_shadowing(graph: gs.Graph, fresh_name: Callable[[str], str]) -> None:
    """Rename what a graph's subgraphs call like something around them; `graph` is a main graph or a function."""
    if holders_in(graph):
        own = _tensors(graph)
        _rename(graph, set(map(id, own)), {tensor.name for tensor in own}, fresh_name)


def _rename(graph: gs.Graph, visible: set[int], names: set[str], fresh_name: Callable[[str], str]) -> None:
    for _, node in holders_in(graph):
        for _, subgraph in subgraphs_of(node):
            own = [tensor for tensor in _tensors(subgraph) if id(tensor) not in visible]
            for tensor in own:
                if tensor.name in names:
                    tensor.name = fresh_name(tensor.name)
            keys, added = set(map(id, own)), {tensor.name for tensor in own}
            visible |= keys
            names |= added
            _rename(subgraph, visible, names, fresh_name)
            visible -= keys
            names -= added


def _tensors(graph: gs.Graph) -> list[gs.Tensor]:
    metadata = metadata_of_graph(graph)
    listed = metadata.initializers if metadata is not None else []
    return [*tensors_in(graph), *(tensor for tensor in listed if tensor.name)]
