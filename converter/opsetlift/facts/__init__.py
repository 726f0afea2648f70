"""What is known of the values of a model: types, shapes, constants. Worked out only when somebody asks.

Facts are read off the original model, which a conversion never edits, and off the nodes that rules emit. A value keeps
its name through a conversion, and hence its facts.
"""

from opsetlift.facts.compared import Asked, is_compared
from opsetlift.facts.inference import inferred_types, type_told_by_outputs
from opsetlift.facts.model import ModelFacts
from opsetlift.facts.objections import objection_to
from opsetlift.facts.scope import ScopeFacts
from opsetlift.facts.value_types import MADE_UP, elements_of, is_static, merged
from opsetlift.facts.wrongly_inferred_slices import names_cut_sizes
from opsetlift.facts.wrongly_inferred_windows import has_late_windows

__all__ = [
    "MADE_UP",
    "Asked",
    "ModelFacts",
    "ScopeFacts",
    "elements_of",
    "has_late_windows",
    "inferred_types",
    "is_compared",
    "is_static",
    "merged",
    "names_cut_sizes",
    "objection_to",
    "type_told_by_outputs",
]
