"""A snapshot of a model, to be compared with an earlier one: whether a pass changed something, and how much.

One is taken and compared after every pass. So everything is put into lists of plain values and identities, which Python
compares without executing a statement per node; what has not changed is shared with the earlier snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import compress, repeat
from operator import attrgetter, is_, ne
from typing import Any

import onnx_graphsurgeon as gs

from opsetlift.normalizer.graphs.attached_metadata import metadata_of_tensor
from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values
from opsetlift.normalizer.snapshots.node_attributes import NodeAttributes
from opsetlift.normalizer.snapshots.structure import Structure, are

_head_of = attrgetter("op", "domain", "name")
_declaration_of = attrgetter("dtype", "shape")
_dtype_of = attrgetter("dtype")


class Snapshot:
    """The structure of a model, and what the nodes and the tensors in it are.

    `before` is an earlier snapshot: what still holds of it is shared.
    """

    def __init__(self, structure: Structure, before: Snapshot | None = None) -> None:
        self.structure = structure
        self._heads: _Heads
        self._attributes: NodeAttributes
        self._declarations: _Declarations
        self._values: _Values
        if before is not None and before.structure is structure:
            self._heads = before._heads.renewed()
            self._attributes = before._attributes.renewed()
            self._declarations = before._declarations.renewed()
            self._values = before._values.renewed()
        else:
            self._heads = _Heads(structure.nodes)
            self._attributes = NodeAttributes(structure.nodes, before._attributes if before is not None else None)
            self._declarations = _Declarations(structure.variables)
            self._values = _Values(structure.constants)

    def renewed(self) -> Snapshot:
        """The snapshot now, where the structure is unchanged; this very object where nothing has changed."""
        now = Snapshot(self.structure, self)
        is_same = (
            now._heads is self._heads
            and now._attributes is self._attributes
            and now._declarations is self._declarations
            and now._values is self._values
        )
        return self if is_same else now

    @property
    def node_count(self) -> int:
        """The nodes, those of subgraphs and functions included."""
        return len(self.structure.nodes)

    @property
    def bytes(self) -> int:
        """The bytes of constants and of the defaults of inputs."""
        return self._values.bytes + self.structure.bytes_of_defaults

    @property
    def operators(self) -> set[str]:
        """The names of the operators."""
        return self._heads.operators

    def differs_in_names_only(self, before: Snapshot) -> bool:
        """Whether nothing but names and declared types are others than before."""
        return (
            self.structure.is_same_but_for_names(before.structure)
            and self._heads.without_names == before._heads.without_names
            and self._attributes.shown == before._attributes.shown
            and are(self._values.stored, before._values.stored)
        )

    def changes_since(self, before: Snapshot) -> int:
        """How many nodes and constants are new, gone, or others than before; 1 where nothing but an order is."""
        is_same_structure = self.structure is before.structure
        nodes = _changed(self._nodes(not is_same_structure), before._nodes(not is_same_structure))
        constants = _changed(self._constants, before._constants)
        if nodes or constants or _changed(self._variables, before._variables):
            return nodes + constants or 1
        return int(not is_same_structure and not self.structure.has_same_lists(before.structure))

    def nodes_changed_since(self, before: Snapshot) -> Sequence[gs.Node]:
        """The nodes that are new, or others than before."""
        is_same_structure = self.structure is before.structure
        nodes, rows = self._nodes(not is_same_structure)
        nodes_before, rows_before = before._nodes(not is_same_structure)
        if are(nodes, nodes_before):
            return list(compress(nodes, map(ne, rows, rows_before)))
        row_before = dict(zip(map(id, nodes_before), rows_before, strict=True))
        return list(compress(nodes, map(ne, rows, map(row_before.get, map(id, nodes)))))

    def _nodes(self, with_links: bool) -> _Rows:
        columns: list[Sequence[Any]] = [self._heads.heads, self._attributes.shown]
        if with_links:
            columns.append(self.structure.links)
        return self.structure.nodes, list(zip(*columns, strict=True))

    @property
    def _constants(self) -> _Rows:
        stored = map(id, self._values.stored)
        return self.structure.constants, list(zip(self.structure.names_of_constants, stored, strict=True))

    @property
    def _variables(self) -> _Rows:
        names = self.structure.names_of_variables
        return self.structure.variables, list(zip(names, self._declarations.declared, strict=True))


class _Heads:
    """The operators and the names of nodes."""

    def __init__(self, nodes: Sequence[gs.Node]) -> None:
        self._of = nodes
        self.heads = list(map(_head_of, nodes))

    def renewed(self) -> _Heads:
        """These as they are now; this very object where they are as they were."""
        return self if list(map(_head_of, self._of)) == self.heads else _Heads(self._of)

    @cached_property
    def operators(self) -> set[str]:
        """The names of the operators."""
        return {operator for operator, _, _ in self.heads}

    @property
    def without_names(self) -> Sequence[tuple[str, str]]:
        """The operator and the domain of each node."""
        return [(operator, domain) for operator, domain, _ in self.heads]


class _Declarations:
    """The dtypes and the shapes that variables are declared to have."""

    def __init__(self, variables: Sequence[gs.Variable]) -> None:
        self._of = variables
        self._without_dtype = self._found_without_dtype()
        self.declared = [
            (dtype, None if shape is None else list(shape), is_without)
            for (dtype, shape), is_without in zip(map(_declaration_of, variables), self._without_dtype, strict=True)
        ]
        self._seen = [(dtype, shape) for dtype, shape, _ in self.declared]

    def _found_without_dtype(self) -> list[bool]:
        """What is not seen by comparing dtypes: numpy's float64 is equal to None."""
        return list(map(is_, map(_dtype_of, self._of), repeat(None)))

    def renewed(self) -> _Declarations:
        """These as they are now; this very object where they are as they were."""
        is_same = (
            list(map(_declaration_of, self._of)) == self._seen and self._found_without_dtype() == self._without_dtype
        )
        return self if is_same else _Declarations(self._of)


class _Values:
    """The values of constants."""

    def __init__(self, constants: Sequence[gs.Constant]) -> None:
        self._of = constants
        self._values = list(map(held_values, constants))

    def renewed(self) -> _Values:
        """These as they are now; this very object where they are as they were, though perhaps read since."""
        if are(list(map(held_values, self._of)), self._values):
            return self
        now = _Values(self._of)
        return self if are(now.stored, self.stored) else now

    @cached_property
    def stored(self) -> Sequence[Any]:
        """What holds the values."""
        return list(map(_as_stored, self._of, self._values))

    @cached_property
    def bytes(self) -> int:
        """Their size."""
        return sum(int(values.nbytes) for values in self._values)


_Rows = tuple[Sequence[Any], Sequence[Any]]
"""Objects, and what is to be compared of each."""


def _changed(now: _Rows, before: _Rows) -> int:
    """How many objects are new, gone, or have another row than before."""
    if are(now[0], before[0]):
        return list(map(ne, now[1], before[1])).count(True)
    row_now, row_before = ({id(one): row for one, row in zip(*rows, strict=True)} for rows in (now, before))
    both = row_now.keys() & row_before.keys()
    others = list(map(ne, map(row_now.get, both), map(row_before.get, both))).count(True)
    return len(row_now) + len(row_before) - 2 * len(both) + others


def _as_stored(tensor: gs.Constant, values: Any) -> Any:
    """What holds a constant's values; values that have only been read are the same."""
    metadata = metadata_of_tensor(tensor)
    stored = metadata.stored if metadata is not None else None
    return stored if stored is not None and values is stored.loaded else values
