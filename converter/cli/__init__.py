"""The command line: `opsetlift convert`, `prove`, `explain`, `coverage`."""

from converter.cli.main import main

__all__ = ["main"]
