"""Takes one node of a scope, and what rules emit in its place, across their transitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from onnx import GraphProto, NodeProto, ValueInfoProto

from opsetlift.conversion.walk.declaring import declare_silent_values
from opsetlift.conversion.walk.type_gates import check_emitted, check_gates
from opsetlift.conversion.walk.values import ScopeValues
from opsetlift.facts import ScopeFacts
from opsetlift.model.files.errors import ModelFileError
from opsetlift.model.scopes import Container
from opsetlift.rulebook.routes import Route, RoutedTransition
from opsetlift.rulebook.rule import Rule, becomes_its_values
from opsetlift.rulebook.site import Site
from opsetlift.rulebook.site.operators import AT_TARGET
from opsetlift.rulebook.trace import Crossings
from opsetlift.specification.history import Transition, canonical_domain
from opsetlift.support.internal_error import InternalError
from opsetlift.support.refusal import SiteRefused, Why
from opsetlift.targets.forms import node_objection

if TYPE_CHECKING:
    from opsetlift.conversion.walk.model import ModelWalk

_DEEPEST_RECURRENCE = 12
"""How often a transition may be crossed by what its own rule emits, before its rules are taken to go in circles."""

_MOST_FALLBACKS = 3
"""How often a fallback may call for itself."""


class Stopped(Exception):
    """A site was refused at a transition."""

    def __init__(self, reason: SiteRefused, transition: Transition | None) -> None:
        self.reason = reason
        self.transition = transition
        super().__init__(reason.sentence)


class RuleFailed(Exception):
    """A rule raised what it should not; the cause is its error."""

    def __init__(self, rule: Rule, transition: Transition) -> None:
        self.rule = rule
        self.transition = transition
        super().__init__(rule.name)


class NodeWalk(ScopeValues, ABC):
    """Takes nodes of a scope across their transitions."""

    def __init__(self, walk: ModelWalk, container: Container, facts: ScopeFacts, parent: ScopeValues | None) -> None:
        super().__init__(walk, container, facts, parent)
        self._base_node_name = ""
        self._under_way: list[Transition] = []

    @abstractmethod
    def walk_emitted_body(self, node: NodeProto, opset: int) -> None:
        """Take the subgraphs of an emitted node, written for `opset`, to the target."""

    def cross(self, node: NodeProto, route: Route, crossings: Crossings) -> list[NodeProto] | None:
        """Take a node along its route, in place as far as its rules do so; else return what stands in its place.

        Raises Stopped where a transition cannot be crossed.
        """
        emitted: list[NodeProto] = []
        for routed in route.transitions:
            site = Site(node, routed.transition, self)
            try:
                self._apply(routed, site)
                if site.touched:
                    assert routed.rule is not None
                    self._note_crossing(routed.transition, routed.rule, site, crossings)
                    crossings += site.inner_crossings
                    emitted += self._bring_home_below(routed.transition, site, crossings)
                if not site.is_replaced:
                    check_gates(routed, node, self.facts, self._unread)
            except SiteRefused as reason:
                raise Stopped(reason, routed.transition) from reason
            if site.is_replaced:
                return emitted
        if route.needs_check and (standing := self._fit(node, crossings)) is not None:
            return [*emitted, *standing]
        return [*emitted, node] if emitted else None

    def _fit(self, node: NodeProto, crossings: Crossings) -> list[NodeProto] | None:
        """What stands in for a node that the runtime does not take as it is written; None where it takes it.

        Raises Stopped where nothing is known to stand in for it.
        """
        runtime, domain = self.walk.runtime, canonical_domain(node.domain)
        opset = self.target(domain)
        objection = node_objection(node, opset, self.facts, runtime) if runtime else ""
        if not objection or not runtime:
            return None
        transition = Transition(domain, node.op_type, opset, opset, False)
        rule = self.walk.rule_book.fallback(domain, node.op_type)
        site = Site(node, transition, self)
        known = [self.facts.constant(name) if name else None for name in node.output]
        if node.input and all(value is not None for value, name in zip(known, node.output, strict=True) if name):
            rule = becomes_its_values
        try:
            if rule is None or self._under_way.count(transition) >= _MOST_FALLBACKS:
                raise SiteRefused(Why.TARGET, objection)
            self._apply(RoutedTransition(transition, rule, ()), site)
            if not site.touched:
                raise SiteRefused(Why.TARGET, objection)
            self._note_crossing(transition, rule, site, crossings)
            crossings += site.inner_crossings
            emitted = self._bring_home_below(transition, site, crossings)
            if not site.is_replaced and (remaining := node_objection(node, opset, self.facts, runtime)):
                raise SiteRefused(Why.TARGET, remaining)
        except SiteRefused as reason:
            sentence = objection if reason.sentence == objection else f"{objection}; {reason.sentence}"
            raise Stopped(SiteRefused(Why.TARGET, sentence), None) from reason
        return emitted if site.is_replaced else [*emitted, node]

    def _apply(self, routed: RoutedTransition, site: Site) -> None:
        if routed.rule is None:
            site.refuse(Why.NOT_WRITTEN, "no rule has been written for this transition yet")
        if routed.rule.apply is None:
            return
        site.rule = routed.rule
        if omitted := self.facts.omissible.intersection(site.node.input):
            site.refuse(
                Why.ATTRIBUTE_REFERENCE,
                f"whether there is an input {min(omitted)!r} is known only at each call of the function",
            )
        try:
            routed.rule.apply(site)
        except (SiteRefused, Stopped, RuleFailed, ModelFileError, InternalError, MemoryError):
            raise
        except Exception as error:
            raise RuleFailed(routed.rule, routed.transition) from error

    def _note_crossing(self, transition: Transition, rule: Rule, site: Site, crossings: Crossings) -> None:
        if rule.ulps:
            by_default = 0 if rule.when else rule.largest_ulps()
            rule = replace(rule, ulps=by_default if site.rounding is None else site.rounding, fewer_digits=0, when="")
        if self.walk.exact and not rule.is_exact:
            raise SiteRefused(
                Why.ROUNDING, f"the rule {rule.name!r} rounds ({rule.because}), and --exact was asked for"
            )
        crossings.append((transition, rule))

    def _bring_home_below(self, transition: Transition, site: Site, crossings: Crossings) -> list[NodeProto]:
        """`_bring_home`, with an end to rules that call for one another."""
        if self._under_way.count(transition) >= _DEEPEST_RECURRENCE:
            chain = ", ".join(dict.fromkeys(map(str, self._under_way)))
            raise SiteRefused(Why.NOT_WRITTEN, f"rewrite rules do not terminate: {chain}")
        self._under_way.append(transition)
        try:
            return self._bring_home(site, crossings)
        finally:
            self._under_way.pop()

    def _bring_home(self, site: Site, crossings: Crossings) -> list[NodeProto]:
        """Take what a rule emitted to the target, dressed with the original's name and metadata."""
        before = site.node
        main_output = next(filter(None, before.output), "")
        nodes: list[NodeProto] = []
        for node, opset in site.emitted:
            if opset == AT_TARGET:
                nodes.append(node)
                continue
            if node is not before:
                self._dress(node, before, is_heir=site.is_replaced and main_output in node.output)
                check_emitted(node, opset, site.transition, self.facts, self.imports)
            route = self._route_from(node, opset)
            replaced = self.cross(node, route, crossings) if route is not None else None
            nodes += [node] if replaced is None else replaced
        if site.is_replaced:
            used = {name for node in nodes for name in node.input}
            self.dropped_uses += [name for name in before.input if name and name not in used]
        return nodes

    def _dress(self, node: NodeProto, before: NodeProto, *, is_heir: bool) -> None:
        if not node.name and before.name:
            node.name = before.name if is_heir else self.names.fresh(f"{self._base_node_name}_{node.op_type}")
        node.doc_string = node.doc_string or before.doc_string
        if not node.metadata_props:
            node.metadata_props.extend(before.metadata_props)

    def _route_from(self, node: NodeProto, opset: int) -> Route | None:
        domain = canonical_domain(node.domain)
        return self.walk.routes.find(domain, node.op_type, opset, self.target(domain))

    def finish_subgraph(
        self,
        site: Site,
        sink: Sequence[tuple[NodeProto, int]],
        inputs: Sequence[ValueInfoProto],
        outputs: Sequence[str],
    ) -> GraphProto:
        """A subgraph of emitted nodes, taken to the target already."""
        graph = GraphProto(name=self.fresh_name("graph"), input=inputs)
        for node, opset in sink:
            if opset == AT_TARGET:
                graph.node.append(node)
                continue
            self._dress(node, site.node, is_heir=False)
            check_emitted(node, opset, site.transition, self.facts, self.imports)
            route = self._route_from(node, opset)
            crossed = self.cross(node, route, site.inner_crossings) if route is not None else None
            graph.node.extend([node] if crossed is None else crossed)
        for name in outputs:
            info = ValueInfoProto(name=name)
            found = self.facts.type_of(name)
            if found is not None:
                info.type.CopyFrom(found)
            graph.output.append(info)
        declare_silent_values(self, graph)
        return graph
