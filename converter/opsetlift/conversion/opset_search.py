"""The nearest opset that a refused model can be taken to, by dry runs between the refused one and the model's own.

A refusal at a transition mostly holds for every opset beyond it, and not before it: so the dry runs begin there. What
a rule can do at a transition may depend on how far the model goes, so the opsets that are left in between are bisected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opsetlift.support.refusal import Nearest, Refusal

Opsets = Mapping[str, int]


def nearest_opsets(
    asked: Opsets, own: Opsets, refusals: Sequence[Refusal], is_reached: Callable[[Opsets], bool]
) -> Nearest | None:
    """The opsets nearest to those that were asked for, at which nothing is refused; None where there are none.

    Args:
        asked: What was refused.
        own: The opsets that the model imports.
        refusals: What is in the way at `asked`.
        is_reached: Whether a dry run to some opsets is refused nowhere.
    """
    own = {domain: own.get(domain, opset) for domain, opset in asked.items()}

    def after(steps: int) -> Opsets:
        return {domain: _moved(opset, own[domain], steps) for domain, opset in asked.items()}

    refused, reached = 0, max(abs(own[domain] - opset) for domain, opset in asked.items())
    if not reached or not is_reached(own):
        return None
    probe = max((_steps_back(refusal, asked, own) for refusal in refusals), default=0)
    is_guess = True
    while reached - refused > 1:
        if not refused < probe < reached:
            probe = (refused + reached) // 2
        if is_reached(after(probe)):
            # The guess is mostly right: then the opset before it is refused.
            reached, probe = probe, probe - 1 if is_guess else 0
        else:
            refused, probe = probe, probe + 1 if is_guess else 0
        is_guess = False
    return Nearest(_refined(after(reached), asked, is_reached), own)


def _steps_back(refusal: Refusal, asked: Opsets, own: Opsets) -> int:
    """How many opsets nearer to the model's own a refusal ends; 0 where nothing is known."""
    if refusal.possible_at is None:
        return 0
    domain, opset = refusal.possible_at
    return abs(opset - asked[domain]) if domain in asked and own[domain] != asked[domain] else 0


def _refined(found: Opsets, asked: Opsets, is_reached: Callable[[Opsets], bool]) -> Opsets:
    """The same, with the opsets that were asked for in the domains that are not in the way."""
    moved = [domain for domain, opset in found.items() if opset != asked[domain]]
    for domain in moved if len(moved) > 1 else ():
        nearer = {**found, domain: asked[domain]}
        if is_reached(nearer):
            found = nearer
    return found


def _moved(opset: int, end: int, steps: int) -> int:
    return min(opset + steps, end) if end > opset else max(opset - steps, end)
