"""The command `opsetlift-dev`, also as `python -m opsetlift.development`.

`opsetlift-dev new-step TopK 24 29` drafts what a new step of an operator needs. Exit status: 0 done; 1 bad usage, or a
step that cannot be drafted, with one sentence on standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from opsetlift.support.errors import OpsetLiftError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Leave with the exit status that `opsetlift` has for bad usage."""
        self.exit(1, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words behind the command's name; those of the process where none are given.

    Returns:
        The exit status.
    """
    parser = _Parser(
        prog="opsetlift-dev",
        description="Tools for work on OpsetLift.",
        epilog="Example: opsetlift-dev new-step TopK 24 29",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    new_step = commands.add_parser(
        "new-step",
        help="draft the rules and tests of a new step",
        description="Draft the rules, the tests and the other changes that a new step of an operator needs.",
        epilog="Example: opsetlift-dev new-step TopK 24 29",
    )
    new_step.add_argument("operator", help='as in "TopK" or "ai.onnx.ml.Scaler"')
    new_step.add_argument("older", type=int, help="the since-version before the step")
    new_step.add_argument("newer", type=int, help="the since-version after it")
    new_step.add_argument("--project", type=Path, default=Path(), help="the project's folder, else the current one")
    options = parser.parse_args(arguments)
    # Imported here, as this takes most of a second: `--help` does without.
    from opsetlift.development.new_step import NoDraft, draft_step

    try:
        draft = draft_step(options.operator, options.older, options.newer)
        written = draft.write_new_files(options.project)
        print(draft.instructions(written))
    except NoDraft as nothing:
        print(nothing)
    except (OpsetLiftError, OSError) as error:
        print(f"opsetlift-dev: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
