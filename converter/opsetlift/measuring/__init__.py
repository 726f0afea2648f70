"""Measuring: what a runtime computes, found by running small models in it, written as a target file."""

from opsetlift.measuring.profile import Journal, JournalFault, all_cases, measure
from opsetlift.measuring.runner import Runner, RunnerFault
from opsetlift.measuring.writing import as_toml

__all__ = ["Journal", "JournalFault", "Runner", "RunnerFault", "all_cases", "as_toml", "measure"]
