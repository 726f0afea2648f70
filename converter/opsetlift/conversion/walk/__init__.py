"""Takes every node of every scope from one opset to another, by the rules, and keeps the trace."""

from opsetlift.conversion.walk.model import kinds_of_nodes, walk_model
from opsetlift.conversion.walk.state import WalkState

__all__ = ["WalkState", "kinds_of_nodes", "walk_model"]
