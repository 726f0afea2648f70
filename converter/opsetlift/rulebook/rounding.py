"""How far a rule may round at a site."""

from __future__ import annotations

from dataclasses import dataclass


class UndeclaredRounding(RuntimeError):
    """A rule rounds, or rounds further, than its entry in the rule book declares."""


@dataclass(frozen=True)
class RoundingBound:
    """The largest bound that a rule may claim for a site.

    Attributes:
        ulps: In units in the last place; 0 for an exact rule.
        fewer_digits: By how many binary digits a stage of the rewrite may be narrower than the result.
    """

    ulps: int
    fewer_digits: int

    def claim(self, ulps: int | None, fewer_digits: int) -> int:
        """The bound that holds for a site, in units in the last place of its results.

        Args:
            ulps: What the rule claims; None for all that is declared.
            fewer_digits: By how many binary digits a stage is narrower than the result.

        Raises:
            UndeclaredRounding: More is claimed than declared.
        """
        if not self.ulps:
            raise UndeclaredRounding("the rule rounds here, and its entry in the rule book does not declare it")
        claimed = self.ulps if ulps is None else ulps
        if claimed > self.ulps or fewer_digits > self.fewer_digits:
            raise UndeclaredRounding(
                f"the rule claims {claimed} ULP of a stage with {fewer_digits} fewer digits, and its entry in the rule "
                f"book declares {self.ulps} and {self.fewer_digits}"
            )
        return claimed << fewer_digits


EXACT = RoundingBound(0, 0)
"""That of an exact rule."""
