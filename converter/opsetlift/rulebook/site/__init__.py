"""What a rule sees of a node and may do to it: the types that rules are written with.

A rule either edits the node in place (attributes, inputs) or emits nodes that take its place. Emitted nodes live at the
far side of the transition, or at any opset that the rule names; the walk takes them on from there.
"""

from opsetlift.model.arrays import Array
from opsetlift.rulebook.site.operators import Operators
from opsetlift.rulebook.site.rounding import EXACT
from opsetlift.rulebook.site.scope import AT_TARGET, Emitted
from opsetlift.rulebook.site.site import Site
from opsetlift.rulebook.site.view import Dims

__all__ = ["AT_TARGET", "EXACT", "Array", "Dims", "Emitted", "Operators", "Site"]
