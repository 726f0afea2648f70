"""Takes every node of every scope from one opset to another, by the rules, and keeps the trace."""

from opsetlift.conversion.walk.model import ModelWalk

__all__ = ["ModelWalk"]
