"""Work that copies of this process share, so that nothing has to be handed to them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")

_PATIENCE = 0.15
"""Seconds after which it is asked how long the rest will take."""

_WORTH_A_COPY = 0.5
"""Seconds of work that are worth a copy of the process."""

_TICKET = struct.Struct("<ii")
_MOST_TICKETS = 512
"""All of them are written before anybody reads one; a pipe holds at least so many on Linux: a page of memory."""

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""The processor time that a container has in each period, in microseconds, as Linux tells it since 5."""

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def cores() -> int:
    """How many processors this process may use; in a container as many as it may keep busy, by its quota."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text(encoding="ascii").split()
        return max(1, min(count, round(int(quota) / int(period))))
    except (OSError, ValueError):  # there is none, or it is "max"
        return count


def may_be_copied() -> bool:
    """Whether this process may go on in copies of itself.

    Not where it has other threads, whose locks nobody would release in a copy, and only on Linux: system libraries of
    macOS may not be used in a copy, and Windows makes none.
    """
    return sys.platform.startswith("linux") and threading.active_count() == 1


def worked_off(
    work: Callable[[int], Found], count: int, jobs: int, told: Callable[[int], None] = lambda begun: None
) -> list[Found]:
    """Call a function for each number below `count`; in several processes, once it shows that it takes long.

    Args:
        work: Called with a number. What it gives is pickled, where a copy of this process calls it.
        count: How many numbers there are.
        jobs: How many processes may share them, with this one.
        told: Called with about how many numbers were begun.

    Returns:
        What the function gave for each number.

    Raises:
        Whatever the function raises.
    """
    found: dict[int, Found] = {}
    begun = time.monotonic()
    for number in range(count):
        spent = time.monotonic() - begun
        expected = spent / max(number, 1) * (count - number)
        processes = min(jobs, count - number, 1 + int(expected / _WORTH_A_COPY)) if spent > _PATIENCE else 1
        if processes > 1 and may_be_copied():
            found.update(_shared_out(work, range(number, count), processes, told))
            break
        told(number)
        found[number] = work(number)
    # What failed in a copy is done again here, where the fault is met.
    return [found[number] if number in found else work(number) for number in range(count)]


def _shared_out(
    work: Callable[[int], Found], numbers: range, processes: int, told: Callable[[int], None]
) -> dict[int, Found]:
    """Call a function for some numbers, in this process and in copies of it; without what fails in a copy."""
    queue = _queue(numbers)
    context = multiprocessing.get_context("fork")
    copies = []
    found: dict[int, Found] = {}
    try:
        for _ in range(1, processes):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_share, args=(os.getpid(), queue, work, sender), daemon=True)
            with warnings.catch_warnings():
                # Of threads that are none of Python's: numpy's libraries see to theirs when a process is copied.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            sender.close()
            copies.append((process, receiver))
        for number in _taken(queue):
            told(min(numbers.start + processes * len(found), numbers.stop))
            found[number] = work(number)
        for _, receiver in copies:
            with suppress(EOFError, OSError):  # of a copy that ended before it had sent all
                found.update(receiver.recv())
    finally:
        os.close(queue)
        for process, receiver in copies:
            process.terminate()
            process.join()
            receiver.close()
    return found


def _queue(numbers: range) -> int:
    """The end of a pipe from which processes read tickets, each of which stands for some numbers."""
    size = -(-len(numbers) // _MOST_TICKETS)
    queue, writing_end = os.pipe()
    starts = numbers[::size]
    os.write(writing_end, b"".join(_TICKET.pack(start, min(start + size, numbers.stop)) for start in starts))
    os.close(writing_end)
    return queue


def _taken(queue: int) -> Iterator[int]:
    """Numbers, until there are no more. Who reads a ticket reads it whole, and nobody else gets it."""
    while ticket := os.read(queue, _TICKET.size):
        yield from range(*_TICKET.unpack(ticket))


def _share(parent: int, queue: int, work: Callable[[int], Found], sender: Connection) -> None:
    """In a copy: work until nothing is left to do, or nobody to take the results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    found: dict[int, Found] = {}
    for number in _taken(queue):
        if os.getppid() != parent:
            return
        with suppress(Exception):
            found[number] = work(number)
    with suppress(Exception):
        sender.send(found)
