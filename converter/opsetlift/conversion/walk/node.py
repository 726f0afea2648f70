"""Takes one node of a scope, and what rules emit in its place, to the target."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from onnx import GraphProto, NodeProto, ValueInfoProto

from opsetlift.conversion.walk.converted_site import ConvertedSite
from opsetlift.conversion.walk.declared_types import declare_types_not_inferred
from opsetlift.conversion.walk.equal_sites import site_key
from opsetlift.conversion.walk.site import NodeSite
from opsetlift.conversion.walk.type_gates import check_emitted, check_gates, lost_types
from opsetlift.conversion.walk.values import AT_TARGET, Emitted, ScopeValues
from opsetlift.model.files import ModelFileError
from opsetlift.rulebook.rounding import EXACT
from opsetlift.rulebook.routes import Route, RoutedTransition
from opsetlift.rulebook.rule import Rule, becomes_its_values, leaves_out_absent_inputs
from opsetlift.rulebook.trace import AppliedRules
from opsetlift.specification.history import Transition, canonical_domain
from opsetlift.support.internal_error import InternalError
from opsetlift.support.protobuf import text_of
from opsetlift.support.refusal import SiteRefused, Why
from opsetlift.targets import Target, node_objection

_DEEPEST_RECURRENCE = 12
"""How often a transition may apply to what its own rule emits, before its rules are taken not to terminate."""

_MOST_FALLBACKS = 3
"""How often a fallback may apply to what it emits itself."""


class Stopped(Exception):
    """A site was refused, at a transition or (None) before any."""

    def __init__(self, reason: SiteRefused, transition: Transition | None) -> None:
        self.reason = reason
        self.transition = transition
        super().__init__(reason.sentence)


class _LeftAsItIs(Exception):
    """A fallback is of no use for a node."""


class RuleFailed(Exception):
    """A rule raised an error that is no refusal; that error is the cause."""

    def __init__(self, rule: Rule, transition: Transition) -> None:
        self.rule = rule
        self.transition = transition
        super().__init__(rule.name)


def _copy(node: NodeProto) -> NodeProto:
    copied = NodeProto()
    copied.CopyFrom(node)
    return copied


@dataclass(eq=False)
class NodeWalk(ScopeValues):
    """Takes nodes of a scope through their transitions."""

    _base_node_name: str = field(default="", init=False)
    _in_progress: list[Transition] = field(default_factory=list, init=False)
    _applied_inside: AppliedRules = field(default_factory=list, init=False)
    """The rules that were applied to emitted subgraphs of the site whose rule is running."""
    _is_first_attempt: bool = field(default=False, init=False)
    """Whether there is another fallback for a node around, if the one that is running does not serve."""

    def convert_node(self, node: NodeProto, route: Route, applied: AppliedRules) -> list[NodeProto] | None:
        """Take a node along its route.

        Args:
            node: It is edited in place as far as its rules do so.
            route: Its transitions.
            applied: The rules that apply are added to it.

        Returns:
            The nodes that replace it; None where it stays.

        Raises:
            Stopped: It is refused at a transition.
        """
        emitted: list[NodeProto] = []
        for routed in route.transitions:
            site = NodeSite(node, routed.transition, self, routed.rule.bound if routed.rule else EXACT)
            try:
                applied_inside = self._apply(routed, site)
                if site.touched:
                    assert routed.rule is not None
                    self._note_applied(routed.transition, routed.rule, site, applied)
                    applied += applied_inside
                    emitted += self._lower_emitted(routed.transition, site, applied)
                if not site.is_replaced:
                    check_gates(routed, node, self.facts, self._unread)
            except SiteRefused as reason:
                raise Stopped(reason, routed.transition) from reason
            if site.is_replaced:
                return emitted
        if route.needs_runtime_check and (replacing := self._fit(node, applied)) is not None:
            return [*emitted, *replacing]
        return [*emitted, node] if emitted else None

    def _fit(self, node: NodeProto, applied: AppliedRules) -> list[NodeProto] | None:
        """What replaces a node that the runtime does not accept as it is written; None where it accepts it.

        Raises:
            Stopped: No fallback is known, or the runtime takes nothing of what those emit.
        """
        runtime, domain = self.walk.runtime, canonical_domain(node.domain)
        objection = node_objection(node, self.target(domain), self.facts, runtime) if runtime else ""
        if not objection or not runtime:
            return None
        rules = self._fallbacks(node, domain)
        around = self._is_first_attempt
        sentences = [objection]
        for position, rule in enumerate(rules):
            is_last = position == len(rules) - 1
            given = node if is_last else _copy(node)
            own: AppliedRules = []
            self._is_first_attempt = around or not is_last
            try:
                fitted = self._fit_by(rule, node, runtime, objection, own)
                applied += own
                return fitted
            except _LeftAsItIs:
                continue
            except (SiteRefused, Stopped) as refused:
                reason = refused.reason.sentence if isinstance(refused, Stopped) else refused.sentence
                sentences += reason.split("; ")
                if around:
                    # What is emitted inside of one is not tried in all ways, as the node around it can still be written
                    # otherwise.
                    break
                if given is not node:
                    node.CopyFrom(given)
            finally:
                self._is_first_attempt = around
        raise Stopped(SiteRefused(Why.TARGET, "; ".join(dict.fromkeys(sentences))), None)

    def _fallbacks(self, node: NodeProto, domain: str) -> tuple[Rule, ...]:
        """What to try for a node that the runtime does not accept, in this order."""
        known = [self.facts.content(name) if name else None for name in node.output]
        if node.input and all(value is not None for value, name in zip(known, node.output, strict=True) if name):
            return (becomes_its_values,)
        if node.input and not node.input[-1]:
            return (leaves_out_absent_inputs,)
        return self.walk.rule_book.fallbacks(domain, node.op_type)

    def _fit_by(
        self, rule: Rule, node: NodeProto, runtime: Target, objection: str, applied: AppliedRules
    ) -> list[NodeProto]:
        """What replaces a node by one fallback. Raises SiteRefused or Stopped where the runtime does not take that."""
        domain = canonical_domain(node.domain)
        opset = self.target(domain)
        transition = Transition(domain, node.op_type, opset, opset, False)
        if self._in_progress.count(transition) >= _MOST_FALLBACKS:
            raise SiteRefused(Why.TARGET, objection)
        site = NodeSite(node, transition, self, rule.bound)
        applied_inside = self._apply(RoutedTransition(transition, rule, ()), site)
        if not site.touched:
            raise _LeftAsItIs
        self._note_applied(transition, rule, site, applied)
        applied += applied_inside
        emitted = self._lower_emitted(transition, site, applied)
        if not site.is_replaced and (remaining := node_objection(node, opset, self.facts, runtime)):
            raise SiteRefused(Why.TARGET, remaining)
        return emitted if site.is_replaced else [*emitted, node]

    def _apply(self, routed: RoutedTransition, site: NodeSite) -> AppliedRules:
        """Give the site to its rule; returns the rules that were applied to subgraphs that it emitted."""
        if routed.rule is None:
            site.refuse(Why.NOT_WRITTEN, "no rule has been written for this transition yet")
        if routed.rule.apply is None:
            return []
        if omitted := self.facts.omissible.intersection(site.node.input):
            site.refuse(
                Why.ATTRIBUTE_REFERENCE,
                f"callers of the function may omit the input {min(omitted)!r}, and the conversion depends on it",
            )
        around, self._applied_inside = self._applied_inside, []
        try:
            routed.rule.apply(site)
            return self._applied_inside
        except (SiteRefused, Stopped, RuleFailed, ModelFileError, InternalError, MemoryError):
            raise
        except Exception as error:
            raise RuleFailed(routed.rule, routed.transition) from error
        finally:
            self._applied_inside = around

    def _note_applied(self, transition: Transition, rule: Rule, site: NodeSite, applied: AppliedRules) -> None:
        if rule.ulps:
            by_default = 0 if rule.when else rule.largest_ulps()
            rule = replace(rule, ulps=by_default if site.rounding is None else site.rounding, fewer_digits=0, when="")
        if self.walk.exact and not rule.is_exact:
            raise SiteRefused(
                Why.ROUNDING, f"the rule {rule.name!r} rounds ({rule.because}), but --exact forbids rounding"
            )
        applied.append((transition, rule))

    def _lower_emitted(self, transition: Transition, site: NodeSite, applied: AppliedRules) -> list[NodeProto]:
        """Take what a rule emitted to the target, with the name and the metadata of the original.

        Raises:
            SiteRefused: A rule emits nodes to which it applies again, without end.
        """
        if self._in_progress.count(transition) >= _DEEPEST_RECURRENCE:
            chain = ", ".join(dict.fromkeys(map(str, self._in_progress)))
            raise SiteRefused(Why.NOT_WRITTEN, f"rewrite rules do not terminate: {chain}")
        self._in_progress.append(transition)
        try:
            before = site.node
            main_output = next(filter(None, before.output), "") if site.is_replaced else None
            nodes: list[NodeProto] = []
            self.facts.note_producers(node for node, _ in site.emitted)
            for node, opset in site.emitted:
                if node is before:
                    nodes += self._lowered(node, opset, applied)
                else:
                    is_heir = main_output in node.output
                    nodes += self._lowered_new(node, opset, before, site.transition, applied, is_heir=is_heir)
            return nodes
        finally:
            self._in_progress.pop()

    def _lowered_new(
        self,
        node: NodeProto,
        opset: int,
        before: NodeProto,
        transition: Transition,
        applied: AppliedRules,
        *,
        is_heir: bool,
    ) -> list[NodeProto]:
        """What becomes of a new node, which a rule emitted for `before` and wrote for `opset`."""
        if opset == AT_TARGET:
            return [node]
        self._copy_metadata(node, before, is_heir=is_heir)
        check_emitted(node, opset, transition, self.facts, self.imports)
        return self._lowered(node, opset, applied)

    def _lowered(self, node: NodeProto, opset: int, applied: AppliedRules) -> list[NodeProto]:
        domain = canonical_domain(node.domain)
        route = self.walk.routes.find(domain, node.op_type, opset, self.target(domain))
        if route is None:
            return [node]
        if before := self.before_bodies(node, route):
            route = Route((before,))
        key = self.key_for_verdict(node, opset)
        known = None if key is None else self.walk.converted_sites.get(key)
        if known is not None:
            applied += known.applied
            return [known.like_converted(node) if known.applied and self.walk.only_counts else node]
        inputs, asked = node.input[:], self.walk.facts.large_constants_asked
        own: AppliedRules = []
        replacing = self.convert_node(node, route, own)
        applied += own
        nodes = [node] if replacing is None else replacing
        if key is not None and self.walk.facts.large_constants_asked == asked:
            self.walk.converted_sites[key] = ConvertedSite.of(inputs, nodes, own)
        return nodes

    def before_bodies(self, node: NodeProto, route: Route) -> RoutedTransition | None:
        """The transition whose rule a node is given to before its subgraphs are converted; None where there is none."""
        return next((one for one in route.before_bodies if lost_types(one, node, self.facts)), None)

    def key_for_verdict(self, node: NodeProto, opset: int) -> Hashable | None:
        """What to compare a node by, written for `opset`; None where it has to be converted anyway."""
        return site_key(node, opset, self) if self.walk.wants_verdict_only else None

    def _copy_metadata(self, node: NodeProto, before: NodeProto, *, is_heir: bool) -> None:
        if not node.name and before.name:
            node.name = before.name if is_heir else self.names.fresh(f"{self._base_node_name}_{node.op_type}")
        node.doc_string = text_of(node.doc_string or before.doc_string)
        if not node.metadata_props:
            node.metadata_props.extend(before.metadata_props)

    def finish_subgraph(
        self,
        node: NodeProto,
        transition: Transition,
        emitted: Emitted,
        inputs: Sequence[ValueInfoProto],
        outputs: Sequence[str],
    ) -> GraphProto:
        """A subgraph of nodes that the rule for `node` emitted at a transition, taken to the target already."""
        graph = GraphProto(name=self.fresh_name("graph"), input=inputs)
        applied = self._applied_inside
        for one, opset in emitted:
            graph.node.extend(self._lowered_new(one, opset, node, transition, applied, is_heir=False))
        for name in outputs:
            info = ValueInfoProto(name=name)
            found = self.facts.type_of(name)
            if found is not None:
                info.type.CopyFrom(found)
            graph.output.append(info)
        declare_types_not_inferred(self, graph)
        return graph
