"""The command line: `opsetlift convert`, `prove`, `explain`, `coverage`."""

from opsetlift.cli.main import main

__all__ = ["main"]
