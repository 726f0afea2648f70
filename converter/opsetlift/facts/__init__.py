"""What is known of the values of a model: types, shapes, constants. Worked out only when somebody asks.

Facts are read off the original model, which a conversion never edits, and off the nodes that rules emit. A value keeps
its name through a conversion, and hence its facts.
"""

from opsetlift.facts.inference import type_told_by_outputs
from opsetlift.facts.model import ModelFacts
from opsetlift.facts.scope import ScopeFacts

__all__ = ["ModelFacts", "ScopeFacts", "type_told_by_outputs"]
