"""`opsetlift measure`: runs small models in a runtime and prints the target file that describes it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from opsetlift.cli.errors import DONE, UsageFault
from opsetlift.cli.output import complain, standard_output
from opsetlift.measuring import Journal, JournalFault, Runner, RunnerFault, all_cases, as_toml, measure


def measured_page(
    command: str, name: str, version: str, journal: Path | None, *, is_persistent: bool, timeout: float
) -> int:
    """Measure a runtime and print its target file; returns the exit status. Raises UsageFault."""
    if not any(one.isdigit() for one in version):
        raise UsageFault(f"--version {version!r} contains no number")
    path = journal or Path(f"{name}-{version}.measured.jsonl")
    try:
        known = Journal(path)
        complain(f"results are stored in {path}; if the run is interrupted, start it again to continue")
        with Runner(command, is_persistent=is_persistent, timeout=timeout) as runner:
            profile = measure(all_cases(), runner, known, _progress())
    except (RunnerFault, JournalFault) as fault:
        raise UsageFault(str(fault)) from fault
    except OSError as fault:
        raise UsageFault(f"{path} cannot be used as a journal: {fault.strerror or fault}") from fault
    with standard_output() as output:
        output.write(as_toml(profile, name, version))
    return DONE


def _progress() -> Callable[[str], None]:
    """Shows one line that changes where somebody watches, else nothing."""
    if sys.stderr is None or not sys.stderr.isatty():
        return lambda _: None

    def show(line: str) -> None:
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    return show
