"""Runs passes over a model, again and again until nothing changes, and keeps account of what each did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import onnx_graphsurgeon as gs

from converter.normalize.carried import carried_graph, carried_tensor
from converter.normalize.model_state import ModelState
from converter.normalize.rewriting import Context, Pass
from converter.normalize.sweeping import CyclicGraph

MOST_ROUNDS = 24
"""How often all passes run at most. They settle in a few rounds, unless two of them undo each other's work."""


class PassFailed(Exception):
    """A pass raised an error, or left something behind that is no model. The message is one sentence."""


@dataclass
class Account:
    """What a pass did, in all its runs."""

    name: str
    ulps: int = 0
    runs: int = 0
    changes: int = 0
    """Nodes that it changed, added or removed, and initializers that it added or removed."""
    nodes: int = 0
    """By how many nodes the model grew through it; it shrank where this is negative."""
    bytes: int = 0
    """By how many bytes of constants the model grew through it."""


@dataclass(frozen=True)
class _Picture:
    """A model as it stands, to be compared with how it stood."""

    nodes: dict[int, tuple[gs.Node, Any]]
    constants: dict[int, tuple[gs.Tensor, Any]]
    interface: Any
    rest: Any

    def changes_since(self, before: _Picture) -> int:
        changed = sum(
            len(now.keys() ^ then.keys()) + sum(now[key][1] != then[key][1] for key in now.keys() & then.keys())
            for now, then in ((self.nodes, before.nodes), (self.constants, before.constants))
        )
        return changed or int(self.rest != before.rest)

    @property
    def bytes(self) -> int:
        return sum(tensor._values.nbytes for tensor, _ in self.constants.values() if isinstance(tensor, gs.Constant))


class Pipeline:
    """Passes over one model. It stops early after `most_changes` runs of passes that changed something."""

    def __init__(self, state: ModelState, passes: Sequence[Pass], most_changes: int | None = None) -> None:
        self._state = state
        self._passes = passes
        self._most_changes = most_changes
        self.changed_by: list[str] = []
        """The pass of each run that changed something, in order."""
        self.accounts = [Account(one.name, one.ulps) for one in passes]
        self.rounds = 0
        self._is_tidy = False
        self.has_settled = not passes

    def run(self) -> None:
        """Run the passes. Raises PassFailed."""
        now = self._picture()
        while not self.has_settled and self.rounds < MOST_ROUNDS:
            self.rounds += 1
            self.has_settled = True
            self._state.facts.forget()
            for one, account in zip(self._passes, self.accounts, strict=True):
                before = now
                now = self._apply(one, before)
                changes = now.changes_since(before) if now is not before else 0
                account.runs += 1
                if changes:
                    if now.interface != before.interface:
                        raise PassFailed(f"pass {one.name}: it changes the inputs or the outputs of the model")
                    self.has_settled = False
                    account.changes += changes
                    account.nodes += len(now.nodes) - len(before.nodes)
                    account.bytes += now.bytes - before.bytes
                    self.changed_by.append(one.name)
                    if len(self.changed_by) == self._most_changes:
                        return

    def _apply(self, one: Pass, before: _Picture) -> _Picture:
        """The model after a pass; the very picture of before where the pass found nothing to do."""
        try:
            for place in list(self._state.places()):
                one.rewrite(place.graph, Context(self._state, place))
            if self._is_tidy and not self._picture().changes_since(before):
                return before
            self._state.tidy()
            self._is_tidy = True
        except CyclicGraph as error:
            raise PassFailed(f"pass {one.name}: {error}") from error
        except Exception as error:
            reason = " ".join(str(error).split())
            raise PassFailed(f"pass {one.name} failed with {type(error).__name__}: {reason}") from error
        return self._picture()

    def _picture(self) -> _Picture:
        nodes: dict[int, tuple[gs.Node, Any]] = {}
        constants: dict[int, tuple[gs.Tensor, Any]] = {}
        rest: list[Any] = []
        for place in self._state.places():
            graph = place.graph
            for node in graph.nodes:
                nodes[id(node)] = (node, _node_as_it_is(node, constants))
            carried = carried_graph(graph)
            listed = [*(carried.initializers if carried else ()), *graph.outputs]
            for tensor in listed:
                if isinstance(tensor, gs.Constant):
                    constants[id(tensor)] = (tensor, _constant_as_it_is(tensor))
            rest.append((place.path, [id(tensor) for tensor in (*graph.inputs, *graph.outputs)]))
            rest.append([id(node) for node in graph.nodes])
        rest.append([id(function) for function in self._state.graph.functions])
        graph = self._state.graph
        interface = [tensor.name for tensor in graph.inputs], [tensor.name for tensor in graph.outputs]
        return _Picture(nodes, constants, interface, rest)


def _node_as_it_is(node: gs.Node, constants: dict[int, tuple[gs.Tensor, Any]]) -> Any:
    for tensor in node.inputs:
        if isinstance(tensor, gs.Constant) and id(tensor) not in constants:
            constants[id(tensor)] = (tensor, _constant_as_it_is(tensor))
    return (
        node.op,
        node.domain or "",
        node.name,
        [(id(tensor), tensor.name) if tensor.name else None for tensor in node.inputs],
        [_declared(tensor) if tensor.name else None for tensor in node.outputs],
        [(name, _attribute(value)) for name, value in node.attrs.items()],
    )


def _declared(tensor: gs.Tensor) -> Any:
    if isinstance(tensor, gs.Constant):
        return id(tensor), tensor.name
    return id(tensor), tensor.name, tensor.dtype, None if tensor.shape is None else tuple(tensor.shape)


def _constant_as_it_is(tensor: gs.Constant) -> Any:
    """Its name and which values it has; values that have only been read are the same."""
    carried = carried_tensor(tensor)
    stored = carried.stored if carried is not None else None
    values = tensor._values
    is_stored = stored is not None and (values is stored or values is stored.loaded)
    return tensor.name, id(stored) if is_stored else id(values)


def _attribute(value: Any) -> Any:
    match value:
        case gs.Constant():
            return id(value._values)
        case numpy.ndarray() | gs.Graph():
            return id(value)
        case list():
            return [_attribute(one) for one in value]
        case gs.Node.AttributeRef():
            return value.name
        case float():
            return repr(value)
        case int() | str() | bytes():
            return value
    return repr(value)
