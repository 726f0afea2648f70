"""The command `opsetlift`, also as `python -m opsetlift`.

It can be interrupted before the engine is imported, which takes most of a second.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType


def main() -> int:
    """Run the command line; returns the exit status."""
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    ended_by = [number for number in numbers if before[number] in (signal.SIG_DFL, signal.default_int_handler)]
    for number in ended_by:
        signal.signal(number, _end)
    # Large models are many objects that live to the end: to look through them again and again took a tenth of the time.
    gc.set_threshold(50_000)
    from opsetlift.cli import main as run

    for number in ended_by:
        signal.signal(number, before[number])
    status = run()
    for number in ended_by:
        signal.signal(number, signal.SIG_IGN)  # all is done and said
    return status


def _end(number: int, frame: FrameType | None) -> None:
    if sys.stderr is not None:
        os.write(2, b"opsetlift: interrupted; nothing was written\n")
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
