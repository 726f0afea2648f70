"""What the walks through the scopes of a model share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set

from onnx import ModelProto

from opsetlift.conversion.walk.converted_site import ConvertedSite
from opsetlift.conversion.walk.refused_site import RefusedSite
from opsetlift.facts import ModelFacts
from opsetlift.model.names import Names
from opsetlift.model.scopes import FunctionKey
from opsetlift.rulebook.book import RuleBook
from opsetlift.rulebook.routes import Routes
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.support.internal_error import Fault
from opsetlift.support.refusal import Refusal
from opsetlift.targets import Target


class WalkState:
    """What a conversion works with: the model, where it goes, and what the walk has found so far.

    Args:
        original: An equal copy of the model, which no walk edits: facts are read off it.
        model: What is converted in place.
        targets: The opsets to go to, by domain.
        rule_book: Whose rules are applied.
        exact: Whether rules that round are refused.
        base_dir: The folder of the external data.
        facts: Those of the original, where they have been worked out before.
        names: The names of the original, where they have been collected before.
        runtime: What it does not accept as it is written is written otherwise.
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
        self.names = names or Names(original, self.facts.tables.index)
        self.functions = frozenset(self.facts.functions)
        self.trace = ConversionTrace()
        self.refusals: list[Refusal] = []
        self.faults: list[Fault] = []
        """Defects of rules, or of the walk itself."""
        self.ends_when_refused = False
        """Whether the first refusal is enough, unless it is in a function of which copies may tell more."""
        self.final_functions: Set[FunctionKey] = frozenset()
        """Functions of which they do not."""
        self.has_parts = False
        """Whether a value has been replaced by its parts."""
        self.only_counts = False
        """Whether nothing is wanted but the refusals, and which rules are applied to how many nodes."""
        self.is_dry = False
        """Whether the model is walked again and again, without anything to be written."""
        self.converted_sites: dict[Hashable, ConvertedSite] = {}
        """By their keys, nodes that were converted while only the verdict was wanted."""

        self.refused_sites: dict[Hashable, RefusedSite] = {}
        """By the same keys, nodes that were refused."""
        self.kernels_asked: set[tuple[str, str]] = set()
        """The operators, by domain and name, of which rules asked whether the runtime has a kernel."""

    @property
    def is_over(self) -> bool:
        """Whether there was a refusal that is enough."""
        return bool(self.refusals) and self.ends_when_refused

    @property
    def wants_verdict_only(self) -> bool:
        """Whether equal nodes need not be converted one by one."""
        return bool(self.refusals) or self.ends_when_refused or self.only_counts
