"""Takes every node of one scope to the target, and writes the results into the scope."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from onnx import GraphProto, NodeProto, TensorProto

from opsetlift.conversion.walk.converted_site import ConvertedSite
from opsetlift.conversion.walk.declared_types import (
    declare_cut_sizes,
    declare_shapes_of_outputs,
    declare_types_not_inferred,
)
from opsetlift.conversion.walk.equal_sites import given_site_key
from opsetlift.conversion.walk.node import NodeWalk, RuleFailed, Stopped
from opsetlift.conversion.walk.refused_site import RefusedSite
from opsetlift.conversion.walk.type_gates import lost_types
from opsetlift.facts import ScopeFacts, objection_to
from opsetlift.model.dead_code import drop_unused
from opsetlift.model.def_use import uses_of
from opsetlift.model.files import ModelFileError
from opsetlift.model.scopes import called_function_key, operators_of, subgraphs
from opsetlift.rulebook.routes import Route
from opsetlift.rulebook.trace import AppliedRules, SiteTrace
from opsetlift.specification import history
from opsetlift.specification.dtypes import dtype_name, tensor_type
from opsetlift.specification.history import AI_ONNX, canonical_domain
from opsetlift.support.internal_error import Fault, InternalError
from opsetlift.support.refusal import Refusal, SiteRefused, Why
from opsetlift.targets import may_object


@dataclass(eq=False)
class ScopeWalk(NodeWalk):
    """The walk through one scope."""

    rounds: bool = field(default=False, init=False)
    """Whether a rule that rounds was applied to a node here or in a subgraph."""
    _applied: dict[int, AppliedRules] = field(default_factory=dict, init=False)
    _converted: dict[int, NodeProto] = field(default_factory=dict, init=False)
    _wanted_in_parts: frozenset[str] = field(default=frozenset(), init=False)

    def run(self) -> None:
        """Take each node to the target, remove what nothing uses any more, and write the results."""
        routes: dict[tuple[str, str], Route | None] = {}
        missing = Route()
        nodes = self.container.node[:]  # while they are held, protobuf makes no second object of each
        self._wanted_in_parts = self._wanted(nodes)
        for index, node in enumerate(nodes):
            spelt = node.domain
            if spelt != canonical_domain(spelt):
                node.domain = canonical_domain(spelt)
            key = (node.domain, node.op_type)
            route = routes.get(key, missing)
            if route is missing:
                route = routes[key] = self._route(*key)
            if node.op_type in self._ahead and not node.input:
                route = self._route_ahead(node) or route
            if self._lowers(node):
                route = self._route_below_introduction(node) or route
            if route is not None:
                self._take(index, node, route)
                if self.walk.is_over:
                    return
            if spelt != node.domain:
                self._applied.setdefault(index, [])
                self.walk.trace.notes.add(
                    f"nodes of domain {spelt!r} now have the domain '', the only spelling that checkers accept"
                )
        self._finish()

    def _route(self, domain: str, operator: str) -> Route | None:
        domain = canonical_domain(domain)
        opset = self.imports.get(domain, 1)
        route = self.walk.routes.find(domain, operator, opset, self.target(domain))
        if route is not None and route.needs_runtime_check and self.walk.runtime is not None:
            possible = self.walk.facts.possible_types
            if not may_object(domain, operator, self.target(domain), possible, self.walk.runtime):
                route = replace(route, needs_runtime_check=False)
        if route is None or not any(routed.gates for routed in route.transitions):
            return route
        possible = self.walk.facts.possible_types
        return route if possible is None else route.without_idle_transitions(possible)

    @cached_property
    def _ahead(self) -> frozenset[str]:
        """Operators without inputs, of which a later version gives types that the one in force here does not."""
        return history.gaining_types_from_nothing(self.imports.get(AI_ONNX, 1))

    def _route_ahead(self, node: NodeProto) -> Route | None:
        """The route of a node with a tensor of a type that only a later version gives: it is taken for one of that.

        Exporters wrote such constants, and runtimes, which fold them first, never looked.
        """
        opset = self.imports.get(AI_ONNX, 1)
        dtype = next((one.t.data_type for one in node.attribute if one.HasField("t")), TensorProto.UNDEFINED)
        found = history.history(node.domain, node.op_type)
        if found is None or dtype == TensorProto.UNDEFINED:
            return None
        later = found.first_to_give(tensor_type(dtype_name(dtype)), opset)
        if not later:
            return None
        self.walk.trace.notes.add(
            f"{node.op_type} gives no {dtype_name(dtype)} at opset {opset}; it was read as that of {later}"
        )
        return self.walk.routes.find(AI_ONNX, node.op_type, later, self.target(AI_ONNX))

    def _wanted(self, nodes: Sequence[NodeProto]) -> frozenset[str]:
        """The values that rules want in parts although the target has their type, and what these are made of."""
        operators = {(canonical_domain(domain), operator) for domain, operator in operators_of(nodes)}
        routes = {key: route for key in operators if (route := self._route(*key)) and route.before_bodies}
        wanted: set[str] = set()
        lost: set[str] = set()
        for node in reversed(nodes if routes else ()):
            route = routes.get((canonical_domain(node.domain), node.op_type))
            before = route and self.before_bodies(node, route)
            if before:
                lost |= lost_types(before, node, self.facts)
            if before or not wanted.isdisjoint(node.output):
                wanted.update(name for name in self._handed_on(node, lost) if self.facts.type_string(name) in lost)
        return frozenset(wanted)

    def _handed_on(self, node: NodeProto, types: Set[str]) -> Iterator[str]:
        """The values that a node reads, and in its subgraphs those that nodes which may give such types read."""
        yield from filter(None, node.input)
        for _, graph in subgraphs(node):
            yield from (info.name for info in graph.output)
            for one in graph.node:
                domain = canonical_domain(one.domain)
                found = history.definition(domain, one.op_type, self.imports.get(domain, 1))
                if found is not None and any(
                    not found.allowed_types(formal.type_str).isdisjoint(types) for formal in found.schema.outputs
                ):
                    yield from self._handed_on(one, types)

    def _lowers(self, node: NodeProto) -> bool:
        """Whether a node is lowered even if the target has its operator: it works on values in parts."""
        if not (self._wanted_in_parts or self.walk.has_parts):
            return False
        return not self._wanted_in_parts.isdisjoint(node.output) or any(
            self.parts(name) is not None for name in node.input
        )

    def _route_below_introduction(self, node: NodeProto) -> Route | None:
        found = history.history(node.domain, node.op_type)
        if found is None or not 1 < found.introduction <= self.target(node.domain):
            return None
        opset = self.imports.get(node.domain, 1)
        return self.walk.routes.find(node.domain, node.op_type, opset, found.introduction - 1)

    def _take(self, index: int, node: NodeProto, route: Route) -> None:
        if before := self.before_bodies(node, route):
            route = Route((before,))
        rounds_below = self._descend(index, node) if route.descend else False
        if not (route.transitions or route.why or route.needs_runtime_check) or (
            self.walk.functions and called_function_key(node) in self.walk.functions
        ):
            return
        key = given_site_key(index, node, self) if self.walk.wants_verdict_only or self.walk.is_dry else None
        known = None if key is None else self.walk.converted_sites.get(key)
        if known is not None and (self.walk.wants_verdict_only or not known.applied):
            if known.applied and self.walk.only_counts:
                self._applied[index] = known.applied
                self.index.replace(index, [known.like_converted(node)])
            return
        operator, inputs, outputs = node.op_type, node.input[:], node.output[:]
        self._base_node_name = node.name
        self.base_name = next(filter(None, outputs), "") or self._base_node_name or operator
        name, names = self._base_node_name or self.base_name, inputs + outputs
        refused = None if key is None else self.walk.refused_sites.get(key)
        if refused is not None and (like := refused.like(name, names, self.base_name, self.names.is_free)) is not None:
            self.walk.refusals.append(like)
            return
        asked = self.walk.facts.large_constants_asked
        applied: AppliedRules = []
        converted = self._converted_bodies(node, rounds_below=rounds_below) if route.descend else None
        try:
            if route.why:
                raise Stopped(SiteRefused(route.why, route.sentence), None)
            nodes = self._convert_node(index, node, route, applied)
        except Stopped as stopped:
            transition, reason = stopped.transition, stopped.reason
            shown = str(transition) if transition else ""
            opset = transition.last_opset_before if transition else None
            possible_at = (transition.domain, opset) if transition and opset else None
            refusal = Refusal(reason.why, reason.sentence, operator, name, self.path, shown, possible_at)
            self.walk.refusals.append(refusal)
            if key is not None and self.walk.facts.large_constants_asked == asked:
                self._remember(key, refusal, names)
            return
        except (ModelFileError, InternalError, MemoryError):
            raise
        except Exception as error:
            self._note_failure(index, error, operator, name)
            return
        if key is not None and self.walk.facts.large_constants_asked == asked:
            self.walk.converted_sites[key] = ConvertedSite.of(inputs, [node] if nodes is None else nodes, applied)
        if applied:
            self._applied[index] = applied
            if converted is not None:
                self._converted[index] = converted
        if nodes is not None:
            self.index.replace(index, nodes)
            self.facts.note_producers(nodes)
        elif applied:
            self.index.update(index)

    def _remember(self, key: Hashable, refusal: Refusal, names: Sequence[str]) -> None:
        """Note how a node was refused, for those that are equal to it."""
        known = self.walk.refused_sites.get(key)
        if known is not None:
            known.confirm(refusal, names, self.base_name)
            return
        shapes = (self.facts.shape(name) or () for name in names if name)
        symbols = [size for shape in shapes for size in shape if isinstance(size, str)]
        self.walk.refused_sites[key] = RefusedSite(refusal, names, self.base_name, symbols)

    def _convert_node(self, index: int, node: NodeProto, route: Route, applied: AppliedRules) -> list[NodeProto] | None:
        facts = self.walk.facts
        facts.tables.asked.clear()
        try:
            return self.convert_node(node, route, applied)
        finally:
            if facts.tables.asked and self.parent is None:
                facts.tables.asked_by_nodes.setdefault(index, set()).update(facts.tables.asked)

    def _note_failure(self, index: int, error: Exception, operator: str, name: str) -> None:
        """Note an unexpected error: the model's fault if the given node is illegal, else the rule's or ours."""
        before = self.facts.container.node[index]
        objection = objection_to(before, self.facts)
        transition = str(error.transition) if isinstance(error, RuleFailed) else ""
        if objection:
            sentence = f"the node is invalid at its opset: {objection}"
            self.walk.refusals.append(Refusal(Why.INVALID_MODEL, sentence, operator, name, self.path, transition))
            return
        what, module = "the walk", "opsetlift"
        if isinstance(error, RuleFailed):
            module = self.walk.rule_book.module_of(error.transition, error.rule)
            what = f"the rule {error.rule.name!r} of {module}"
        cause = error.__cause__ if isinstance(error, RuleFailed) and error.__cause__ else error
        self.walk.faults.append(Fault(cause, what, module, operator, name, self.path, transition))

    def _converted_bodies(self, node: NodeProto, *, rounds_below: bool) -> NodeProto | None:
        """A copy of a node whose bodies round, before its own rules change it; None where it is not needed.

        The bodies are proven as they are here, and what the rules do then is proven with equal bodies.
        """
        if not any(subgraphs(node)) or not (self.walk.functions or rounds_below):
            return None
        copy = NodeProto()
        copy.CopyFrom(node)
        return copy

    def _descend(self, index: int, node: NodeProto) -> bool:
        """Take the subgraphs of a node to the target; returns whether a rule that rounds was applied in one."""
        rounds = False
        original = self.facts.container.node[index]
        for (attribute, before), (_, graph) in zip(subgraphs(original), subgraphs(node), strict=True):
            facts = self.facts.child(index, original, attribute, before)
            walk = ScopeWalk(self.walk, graph, facts, self, index)
            walk.run()
            rounds |= walk.rounds
        self.rounds |= rounds
        return rounds

    def walk_emitted_body(self, node: NodeProto, opset: int) -> None:
        """Take the subgraphs of an emitted node, written for `opset`, to the target, unless its own rule takes them."""
        domain = canonical_domain(node.domain)
        route = self.walk.routes.find(domain, node.op_type, opset, self.target(domain))
        if route is not None and self.before_bodies(node, route):
            return
        imports = {**self.imports, domain: opset}
        for attribute, graph in subgraphs(node):
            original = GraphProto()
            original.CopyFrom(graph)
            path = f"{self.path}/{node.output[0]}.{attribute}"
            facts = ScopeFacts(self.walk.facts, original, path, self.facts, imports, node)
            ScopeWalk(self.walk, graph, facts, self).run()
            # The subgraph is part of a site, which has its rules: the original has no such scope, nor those in it.
            scopes = self.walk.trace.scopes
            for inner in [one for one in scopes if one == path or one.startswith(f"{path}/")]:
                for site in scopes.pop(inner).sites:
                    self._applied_inside += site.applied

    def _finish(self) -> None:
        self._drop_unused()
        sites: list[SiteTrace] = []
        if self.index.has_replaced_nodes:
            stop = 0
            for index, nodes in self.index.all_nodes():
                start, stop = stop, stop + len(nodes)
                if index in self._applied:
                    sites.append(SiteTrace(index, start, stop, self._applied[index], self._converted.get(index)))
        else:
            sites = [
                SiteTrace(index, index, index + 1, applied, self._converted.get(index))
                for index, applied in self._applied.items()
            ]
        if self._parts:
            self._refuse_uses_as_a_whole()
        has_other_nodes = self.index.has_replaced_nodes
        self.index.write()
        if sites:
            self.walk.trace.scope(self.path).sites.extend(sites)
            self.rounds |= any(site.ulps for site in sites)
        if isinstance(self.container, GraphProto):
            declare_types_not_inferred(self, self.container)
            declare_cut_sizes(self, self.container)
            if has_other_nodes:
                declare_shapes_of_outputs(self, self.container)

    def _drop_unused(self) -> None:
        dropped = drop_unused(self.index, self.imports)
        if self.parent is not None:
            self.parent.discard(dropped.outer)
        if dropped.initializers:
            scope = self.walk.trace.scope(self.path)
            scope.dropped_initializers |= dropped.initializers - scope.added_initializers
            scope.added_initializers -= dropped.initializers
        for index in dropped.positions:
            self._applied.setdefault(index, [])

    def _refuse_uses_as_a_whole(self) -> None:
        """Refuse what still reads a value that has become its elements."""
        if not any(map(self.index.use_count, self._parts)):
            return
        refused = {(refusal.path, refusal.node) for refusal in self.walk.refusals}
        readers: list[tuple[str, str, set[str]]] = []
        for node in (node for _, nodes in self.index.all_nodes() for node in nodes):
            name = node.name or next(iter(filter(None, node.output)), "")
            readers.append((node.op_type, name, set(uses_of([node]))))
        outputs = {one if isinstance(one, str) else one.name for one in self.container.output}
        for operator, reader, names in (*readers, ("", "", outputs)):
            for value in sorted(names & self._parts.keys()):
                if (self.path, reader) not in refused:
                    kind = self.facts.type_string(value)
                    sentence = (
                        f"{value!r} is a {kind}, a type that the target opset lacks here or in control flow; its "
                        "elements cannot replace it, because it is used as a whole"
                    )
                    self.walk.refusals.append(Refusal(Why.NO_EQUIVALENT, sentence, operator, reader, self.path, ""))
