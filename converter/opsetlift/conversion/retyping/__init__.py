"""A model with other dtypes: what the schemas let be another dtype becomes it, and Cast nodes stand at the borders.

What stays as it was: operands whose operator has no other dtype for them (lengths, axes, shapes), what nodes of unknown
operators read and give, and what a node takes together with a constant that the new dtype does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import ModelProto

from opsetlift.conversion.retyping.changes import FLOATS, INTEGERS, changed_type, set_type
from opsetlift.conversion.retyping.scope import Scope
from opsetlift.conversion.retyping.values import Retyped, Shared
from opsetlift.facts import ModelFacts
from opsetlift.support.refusal import ConversionRefused

__all__ = ["FLOATS", "INTEGERS", "Retyped", "changed_type", "retype", "set_type"]


def retype(model: ModelProto, facts: ModelFacts, changes: Mapping[str, str], *, keep_interface: bool) -> Retyped:
    """A copy of `model`, whose facts are `facts`, with the dtypes `changes` says. Raises ConversionRefused."""
    whole = Shared(model, facts, changes)
    for function in whole.done.model.functions:
        scope = Scope(whole, facts.function_scope(function), function, None)
        for name in function.input:
            scope.define(name, scope.new_type(name))
        scope.run([scope.new_type(name) for name in function.output])
    graph = whole.done.model.graph
    scope = Scope(whole, facts.graph, graph, None)
    scope.take_interface(keep=keep_interface)
    types = [
        facts.graph.type_string(info.name) if keep_interface else scope.new_type(info.name) for info in graph.output
    ]
    scope.run(types, keeps_names=True)
    if whole.refusals:
        raise ConversionRefused(whole.refusals)
    return whole.done
