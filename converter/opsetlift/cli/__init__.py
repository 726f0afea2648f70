"""The command line: one module for each group of commands, and what they share."""

from opsetlift.cli.main import main

__all__ = ["main"]
