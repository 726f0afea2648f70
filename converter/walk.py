"""Takes every node of every scope from one opset to another, by the rules, and keeps the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
)

from converter import history
from converter.arrays import Array, tensor_of
from converter.dtypes import dtype_name, dtype_of_type, name_of_numpy_dtype, tensor_type, tensor_type_proto
from converter.facts import ModelFacts, ScopeFacts
from converter.history import AI_ONNX, Cell, canonical_domain
from converter.inlining import Inlined
from converter.names import Names
from converter.refusal import Refusal, SiteRefused, Why
from converter.routes import Leg, Route, Routes, lost_type_sentence
from converter.rule import Rule
from converter.rulebook import RuleBook
from converter.scopes import called_function_key, imported_opsets, referenced_names, subgraphs
from converter.site import Site
from converter.site.operators import AT_TARGET
from converter.sweep import drop_unused
from converter.trace import ConversionTrace, SiteTrace

Crossings = list[tuple[Cell, Rule]]

_DEEPEST_RECURRENCE = 12
"""How often a cell may be crossed by what its own rule emits, before its rules are taken to go in circles."""


class ModelWalk:
    """Takes `model` to `targets` in place. `original` is an untouched copy, which the facts are read off."""

    def __init__(
        self,
        original: ModelProto,
        model: ModelProto,
        targets: Mapping[str, int],
        rule_book: RuleBook,
        *,
        exact: bool = False,
        base_dir: str = "",
        facts: ModelFacts | None = None,
        names: Names | None = None,
    ) -> None:
        self.model = model
        self.exact = exact
        self.targets = targets
        self.routes = Routes(rule_book)
        self.facts = facts or ModelFacts(original, base_dir)
        self.names = names or Names(original)
        self.functions = frozenset(self.facts.functions)
        self.trace = ConversionTrace()
        self.refusals: list[Refusal] = []

    def run(self) -> None:
        """Walk the graph and the functions. `refusals` tells whether the result may be used."""
        original = self.facts.model
        ScopeWalk(
            self, original.graph, self.model.graph, self.facts.graph, imported_opsets(original.opset_import)
        ).run()
        for before, function in zip(original.functions, self.model.functions, strict=True):
            facts = self.facts.function_scope(before)
            ScopeWalk(self, before, function, facts, imported_opsets(before.opset_import)).run()


class ScopeWalk:
    """The walk through one scope."""

    def __init__(
        self,
        walk: ModelWalk,
        original: GraphProto | FunctionProto,
        container: GraphProto | FunctionProto,
        facts: ScopeFacts,
        imports: Mapping[str, int],
        parent: ScopeWalk | None = None,
    ) -> None:
        self.walk = walk
        self.original = original
        self.container = container
        self.facts = facts
        self.imports = imports
        self.parent = parent
        self.names = walk.names
        self.base_name = ""
        """What new names begin with: the first output of the original node that is being converted."""
        self._base_node_name = ""
        self._under_way: list[Cell] = []
        self.dropped_uses: list[str] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._replacements: dict[int, list[NodeProto]] = {}
        self._crossings: dict[int, Crossings] = {}
        self._unread: set[str] = set()
        self._parts: dict[str, tuple[str, ...]] = {}

    @property
    def path(self) -> str:
        return self.facts.path

    def run(self) -> None:
        """Take each node across its cells, then put the results into place."""
        routes: dict[tuple[str, str], Route | None] = {}
        missing = Route()
        for index, node in enumerate(self.container.node):
            spelt = node.domain
            if spelt != canonical_domain(spelt):
                node.domain = canonical_domain(spelt)
            key = (node.domain, node.op_type)
            route = routes.get(key, missing)
            if route is missing:
                route = routes[key] = self._route(*key)
            if node.op_type in self._ahead and not node.input:
                route = self._route_ahead(node) or route
            if route is not None:
                self._take(index, node, route)
            if spelt != node.domain:
                self._crossings.setdefault(index, [])
                self.walk.trace.notes.add(f"nodes of domain {spelt!r} have the domain '' now: checkers know no other")
        self._finish()

    def _route(self, domain: str, operator: str) -> Route | None:
        domain = canonical_domain(domain)
        opset = self.imports.get(domain, 1)
        route = self.walk.routes.find(domain, operator, opset, self.target(domain))
        if route is None or not any(leg.gates for leg in route.legs):
            return route
        possible = self.walk.facts.possible_types
        return route if possible is None else route.without_idle_legs(possible)

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
            f"{node.op_type} gives no {dtype_name(dtype)} at opset {opset}; it was taken for that of {later}"
        )
        return self.walk.routes.find(AI_ONNX, node.op_type, later, self.target(AI_ONNX))

    def _take(self, index: int, node: NodeProto, route: Route) -> None:
        if route.descend:
            self._descend(index, node)
        if not (route.legs or route.why) or (self.walk.functions and called_function_key(node) in self.walk.functions):
            return
        self.base_name = next(iter(filter(None, node.output)), "") or node.name or node.op_type
        self._base_node_name = node.name
        name = node.name or self.base_name
        operator = node.op_type
        crossings: Crossings = []
        try:
            if route.why:
                raise Stopped(SiteRefused(route.why, route.sentence), None)
            nodes = self.cross(node, route, crossings)
        except Stopped as stopped:
            cell = str(stopped.cell) if stopped.cell else ""
            reason = stopped.reason
            self.walk.refusals.append(Refusal(reason.why, reason.sentence, operator, name, self.path, cell))
            return
        if crossings:
            self._crossings[index] = crossings
        if nodes is not None:
            self._replacements[index] = nodes

    def _descend(self, index: int, node: NodeProto) -> None:
        original = self.original.node[index]
        for (attribute, before), (_, graph) in zip(subgraphs(original), subgraphs(node), strict=True):
            facts = self.facts.child(index, original, attribute, before)
            ScopeWalk(self.walk, before, graph, facts, self.imports, self).run()

    def cross(self, node: NodeProto, route: Route, crossings: Crossings) -> list[NodeProto] | None:
        """Take a node along its route, in place as far as its rules do so; else return what stands in its place.

        Raises Stopped where a cell cannot be crossed.
        """
        emitted: list[NodeProto] = []
        for leg in route.legs:
            site = Site(node, leg.cell, self)
            try:
                self._apply(leg, site)
                if site.touched:
                    assert leg.rule is not None
                    self._note_crossing(leg.cell, leg.rule, site, crossings)
                    crossings += site.inner_crossings
                    emitted += self._bring_home_below(leg.cell, site, crossings)
                if not site.is_replaced:
                    self._check_types(leg, node)
            except SiteRefused as reason:
                raise Stopped(reason, leg.cell) from reason
            if site.is_replaced:
                return emitted
        return [*emitted, node] if emitted else None

    def _apply(self, leg: Leg, site: Site) -> None:
        if leg.rule is None:
            site.refuse(Why.NOT_WRITTEN, "no rule has been written for this cell yet")
        if leg.rule.apply is None:
            return
        if omitted := self.facts.omissible.intersection(site.node.input):
            site.refuse(
                Why.ATTRIBUTE_REFERENCE,
                f"whether there is an input {min(omitted)!r} is known only at each call of the function",
            )
        try:
            leg.rule.apply(site)
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError) as error:
            site.refuse(Why.INVALID_MODEL, f"the rule {leg.rule.name!r} could not read the node: {error}")

    def target(self, domain: str) -> int:
        """The opset that the walk takes `domain` to."""
        return self.walk.targets.get(domain, self.imports.get(domain, 1))

    def _route_from(self, node: NodeProto, opset: int) -> Route | None:
        domain = canonical_domain(node.domain)
        return self.walk.routes.find(domain, node.op_type, opset, self.target(domain))

    def _note_crossing(self, cell: Cell, rule: Rule, site: Site, crossings: Crossings) -> None:
        if site.rounding is not None:
            ulps, because = site.rounding
            rule = replace(rule, ulps=ulps, because=because)
        if self.walk.exact and not rule.is_exact:
            raise SiteRefused(
                Why.ROUNDING, f"the rule {rule.name!r} rounds ({rule.because}), and --exact was asked for"
            )
        crossings.append((cell, rule))

    def _bring_home_below(self, cell: Cell, site: Site, crossings: Crossings) -> list[NodeProto]:
        """`_bring_home`, with an end to rules that call for one another."""
        if self._under_way.count(cell) >= _DEEPEST_RECURRENCE:
            chain = ", ".join(dict.fromkeys(map(str, self._under_way)))
            raise SiteRefused(Why.NOT_WRITTEN, f"the rules of these cells call for one another without end: {chain}")
        self._under_way.append(cell)
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
                self._check_emitted(node, opset, site)
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

    def _check_emitted(self, node: NodeProto, opset: int, site: Site) -> None:
        domain = canonical_domain(node.domain)
        if domain not in self.imports:
            raise SiteRefused(
                Why.NO_EQUIVALENT,
                f"this needs {node.op_type} of {history.display_domain(domain)}, which the model does not import",
            )
        definition = history.definition(domain, node.op_type, opset)
        if definition is None:
            raise RuntimeError(f"the rule of {site.cell} emits {node.op_type}, which opset {opset} does not have")
        for verb, names, formals in (
            ("take", node.input, definition.schema.inputs),
            ("give", node.output, definition.schema.outputs),
        ):
            for position, name in enumerate(names):
                if not name or not formals:
                    continue
                found = self.facts.type_string(name)
                allowed = definition.allowed_types(formals[min(position, len(formals) - 1)].type_str)
                if found is not None and found not in allowed:
                    shown = dtype_of_type(found) or found
                    raise SiteRefused(
                        Why.DTYPE_NOT_AVAILABLE,
                        f"this needs {node.op_type} to {verb} {shown}, and at opset {opset} it does not",
                    )

    def _check_types(self, leg: Leg, node: NodeProto) -> None:
        for gate in leg.gates:
            names = node.input if gate.is_input else node.output
            stop = len(names) if gate.is_variadic else gate.position + 1
            for name in names[gate.position : stop]:
                if not name or name in self._unread:
                    continue
                found = self.facts.type_string(name)
                if found is None:
                    far = leg.cell.landing_opset
                    lost = ", ".join(sorted(dtype_of_type(one) or one for one in gate.lost))
                    raise SiteRefused(
                        Why.DTYPE_UNKNOWN, f"the dtype of {name!r} is not known, and opset {far} does not take {lost}"
                    )
                if found in gate.lost:
                    raise SiteRefused(Why.DTYPE_NOT_AVAILABLE, lost_type_sentence(leg.cell, name, found))

    def constant(self, site: Site, array: Array, hint: str) -> str:
        """The name of a constant: a shared initializer, or in a function, which has none, a Constant node."""
        dtype = name_of_numpy_dtype(array.dtype)
        content = array.tobytes() if array.dtype != object else repr(array.tolist()).encode()
        key = (dtype, array.shape, content)
        if isinstance(self.container, FunctionProto):
            # Below 9 a Constant is a float; its own cells say what becomes of the others.
            opset = site.opset if site.cell.domain == AI_ONNX else self.imports.get(AI_ONNX, 1)
            return str(site.op_in(AI_ONNX, max(opset, 9)).Constant(value=tensor_of(array)))
        if key not in self._constants:
            name = self.fresh_name(hint)
            self.container.initializer.append(tensor_of(array, name))
            self.facts.register_constant(name, array)
            self.walk.trace.scope(self.path).added_initializers.add(name)
            self._constants[key] = name
        return self._constants[key]

    def register(self, node: NodeProto, opset: int, domain: str) -> None:
        """Let the facts of an emitted node's outputs be known."""
        self.facts.register(node, opset, domain)

    def is_read(self, name: str) -> bool:
        """Whether anything reads a value: of the original's one knows, and of emitted ones it is assumed."""
        return name not in self._unread and (not self.facts.computes(name) or self.facts.reads(name))

    def fresh_name(self, hint: str) -> str:
        """A name that nothing in the model has, made from that of the model's node that is being converted."""
        return self.names.fresh(f"{self.base_name}_{hint}")

    def unread_name(self) -> str:
        """A new name for an output that nothing reads."""
        name = self.fresh_name("unread")
        self._unread.add(name)
        return name

    def declare(self, name: str, dtype: str, shape: Sequence[int | str | None] | None) -> None:
        """Let the type of an emitted value be known."""
        self.facts.register_type(name, tensor_type_proto(dtype, shape))

    def register_inlined(self, site: Site, attribute: str, content: Inlined) -> None:
        """Take over the initializers of a subgraph that is taken apart, and let the types of its values be known."""
        for tensor in content.initializers:
            if isinstance(self.container, FunctionProto):
                constant = NodeProto(op_type="Constant", output=[tensor.name])
                constant.attribute.add(name="value", type=AttributeProto.TENSOR, t=tensor)
                site.emitted.append((constant, AT_TARGET))
            else:
                self.add_initializer(tensor, tensor.name)
        inside = self.facts.subgraph_of(next(filter(None, site.node.output)), attribute)
        for node in content.nodes:
            self.register(node, self.target(canonical_domain(node.domain)), canonical_domain(node.domain))
        computed = {name for node in content.nodes for name in node.output}
        for old, new in content.names.items():
            found = inside.type_of(old) if inside is not None and new in computed else None
            if found is not None:
                self.facts.register_type(new, found)

    def dissolve(self, name: str, parts: Sequence[str]) -> None:
        """Take note of a value that has no counterpart of its own, and of what stands for it."""
        self._parts[name] = tuple(parts)
        self.walk.trace.scope(self.path).dissolved.add(name)

    def parts(self, name: str) -> tuple[str, ...] | None:
        """What stands for a value, here or further out; None where it stands for itself."""
        if name in self._parts:
            return self._parts[name]
        return self.parent.parts(name) if self.parent else None

    @property
    def takes_initializers(self) -> bool:
        """Whether the scope is a graph; functions have no initializers."""
        return not isinstance(self.container, FunctionProto)

    @cached_property
    def output_names(self) -> frozenset[str]:
        """The outputs of the graph."""
        assert isinstance(self.container, GraphProto)
        return frozenset(info.name for info in self.container.output)

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

    def subgraph_input(self, kind: TypeProto) -> ValueInfoProto:
        """An input for a subgraph of emitted nodes."""
        info = ValueInfoProto(name=self.fresh_name("input"), type=kind)
        self.facts.register_type(info.name, info.type)
        return info

    def walk_emitted_body(self, node: NodeProto, opset: int) -> None:
        """Take the subgraphs of an emitted node, written for `opset`, to the target."""
        imports = {**self.imports, canonical_domain(node.domain): opset}
        for attribute, graph in subgraphs(node):
            original = GraphProto()
            original.CopyFrom(graph)
            path = f"{self.path}/{node.output[0]}.{attribute}"
            facts = ScopeFacts(self.walk.facts, original, path, self.facts, imports, node)
            ScopeWalk(self.walk, original, graph, facts, imports, self).run()
            # The subgraph is part of a site; the original has no such scope.
            self.walk.trace.scopes.pop(path, None)

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
            self._check_emitted(node, opset, site)
            route = self._route_from(node, opset)
            crossed = self.cross(node, route, site.inner_crossings) if route is not None else None
            graph.node.extend([node] if crossed is None else crossed)
        for name in outputs:
            info = ValueInfoProto(name=name)
            found = self.facts.type_of(name)
            if found is not None:
                info.type.CopyFrom(found)
            graph.output.append(info)
        self._declare_values(graph)
        return graph

    def _finish(self) -> None:
        if self.dropped_uses:
            self._sweep()
        position = 0
        kept: list[NodeProto] = []
        sites: list[SiteTrace] = []
        if self._replacements:
            for index, node in enumerate(self.container.node):
                standing = self._replacements.get(index, (node,))
                kept.extend(standing)
                if index in self._crossings:
                    sites.append(SiteTrace(index, position, len(kept), self._crossings[index]))
                position = len(kept)
            del self.container.node[:]
            self.container.node.extend(kept)
        else:
            sites = [SiteTrace(index, index, index + 1, crossings) for index, crossings in self._crossings.items()]
        if sites:
            self.walk.trace.scope(self.path).sites.extend(sites)
        if self._parts:
            self._refuse_uses_as_a_whole()
        if isinstance(self.container, GraphProto):
            self._declare_values(self.container)

    def _refuse_uses_as_a_whole(self) -> None:
        """A dissolved value must not be read any more."""
        refused = {(refusal.path, refusal.node) for refusal in self.walk.refusals}
        readers: list[tuple[str, str, set[str]]] = []
        for node in self.container.node:
            name = node.name or next(iter(filter(None, node.output)), "")
            captured = (one for _, graph in subgraphs(node) for one in referenced_names(graph))
            readers.append((node.op_type, name, {*node.input, *captured}))
        outputs = {one if isinstance(one, str) else one.name for one in self.container.output}
        for operator, reader, names in (*readers, ("", "", outputs)):
            for value in sorted(names & self._parts.keys()):
                if (self.path, reader) not in refused:
                    kind = self.facts.type_string(value)
                    sentence = f"{value!r} is {kind}, which exists at the target only as its parts, and is needed whole"
                    self.walk.refusals.append(Refusal(Why.NO_EQUIVALENT, sentence, operator, reader, self.path, ""))

    def _declare_values(self, graph: GraphProto) -> None:
        """Say the types of what old definitions compute: many of them infer none, and checkers need to know."""
        silent: dict[tuple[str, str], bool] = {}
        if not any(
            history.has_silent_operators(domain, opset)
            for domain, opset in self.walk.targets.items()
            if opset < self.imports.get(domain, opset)
        ):
            return
        declared: set[str] | None = None
        for node in graph.node:
            key = (node.domain, node.op_type)
            if key not in silent:
                domain = canonical_domain(node.domain)
                silent[key] = history.is_silent(domain, node.op_type, self.target(domain))
            if not silent[key]:
                continue
            declared = declared or {info.name for info in (*graph.value_info, *graph.output)}
            for name in node.output:
                found = self.facts.type_of(name) if name and name not in declared else None
                if found is not None:
                    graph.value_info.append(ValueInfoProto(name=name, type=found))
                    self.walk.trace.scope(self.path).declared_values.add(name)

    def _sweep(self) -> None:
        dropped = drop_unused(self.container, self._replacements, self.dropped_uses, self.imports)
        if self.parent is not None:
            self.parent.dropped_uses += dropped.outer
        if dropped.initializers:
            scope = self.walk.trace.scope(self.path)
            scope.dropped_initializers |= dropped.initializers - scope.added_initializers
            scope.added_initializers -= dropped.initializers
        for index in dropped.nodes:
            self._crossings.setdefault(index, [])


class Stopped(Exception):
    """A site was refused at a cell."""

    def __init__(self, reason: SiteRefused, cell: Cell | None) -> None:
        self.reason = reason
        self.cell = cell
        super().__init__(reason.sentence)
