"""The walk through a model: its graph, and the bodies of its functions."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import ModelProto

from opsetlift.conversion.walk.scope import ScopeWalk
from opsetlift.facts import ModelFacts
from opsetlift.model.names import Names
from opsetlift.rulebook.book import RuleBook
from opsetlift.rulebook.routes import Routes
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.support.internal_error import Fault
from opsetlift.support.refusal import Refusal
from opsetlift.targets import Target


class ModelWalk:
    """Takes `model` to `targets` in place. `original` is an untouched copy, which the facts are read off.

    What `runtime` is known not to take as it is written is written otherwise.
    """

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
        runtime: Target | None = None,
    ) -> None:
        self.model = model
        self.exact = exact
        self.targets = targets
        self.rule_book = rule_book
        self.runtime = runtime
        self.routes = Routes(rule_book, runtime)
        self.facts = facts or ModelFacts(original, base_dir)
        self.names = names or Names(original)
        self.functions = frozenset(self.facts.functions)
        self.trace = ConversionTrace()
        self.refusals: list[Refusal] = []
        self.faults: list[Fault] = []
        """Defects of rules, or of the walk itself."""
        self.ends_when_refused = False
        """Whether the first refusal is enough."""

    def run(self) -> None:
        """Walk the graph and the functions. `refusals` and `faults` tell whether the result may be used."""
        ScopeWalk(self, self.model.graph, self.facts.graph).run()
        for before, function in zip(self.facts.model.functions, self.model.functions, strict=True):
            ScopeWalk(self, function, self.facts.function_scope(before)).run()
