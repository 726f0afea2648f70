"""Work that copies of this process share, so that nothing has to be handed to them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TypeVar

Found = TypeVar("Found")

_TICKET = struct.Struct("<i")
_MOST_TICKETS = 8192
"""All of them are written before anybody reads one; a pipe holds at least so many on Linux (64 KiB)."""

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def may_be_copied() -> bool:
    """Whether this process may go on in copies of itself.

    Not where it has other threads, whose locks nobody would release in a copy, and only on Linux: system libraries of
    macOS may not be used in a copy, and Windows makes none.
    """
    return sys.platform.startswith("linux") and threading.active_count() == 1


def shared_out(
    work: Callable[[int], Found], count: int, jobs: int, told: Callable[[int], None] = lambda begun: None
) -> list[Found]:
    """Call a function for each number below `count`, in this process and in copies of it.

    What fails in a copy, or with one that ends, is left out: whoever needs it does it again, and meets the fault.

    Args:
        work: Called with a number. What it gives is pickled, where a copy calls it.
        count: How many numbers there are.
        jobs: How many processes share them, with this one.
        told: Called from time to time with how many numbers were begun.

    Returns:
        What the function gave, in no order.

    Raises:
        Whatever the function raises in this process.
    """
    size = max(1, -(-count // _MOST_TICKETS))
    tickets, writing_end = os.pipe()
    os.write(writing_end, b"".join(map(_TICKET.pack, range(0, count, size))))
    os.close(writing_end)
    context = multiprocessing.get_context("fork")
    copies = []
    found: list[Found] = []
    try:
        for _ in range(jobs - 1):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(
                target=_share, args=(os.getpid(), tickets, size, count, work, sender), daemon=True
            )
            process.start()
            sender.close()
            copies.append((process, receiver))
        while (first := _next_ticket(tickets)) is not None:
            told(first)
            found.extend(map(work, range(first, min(first + size, count))))
        for _, receiver in copies:
            with suppress(EOFError):
                found.extend(receiver.recv())
    finally:
        os.close(tickets)
        for process, receiver in copies:
            process.terminate()
            process.join()
            receiver.close()
    return found


def _next_ticket(tickets: int) -> int | None:
    """The first number of the next ticket. Whoever reads a pipe gets a ticket whole, and nobody else gets it."""
    read = os.read(tickets, _TICKET.size)
    return int(_TICKET.unpack(read)[0]) if read else None


def _share(parent: int, tickets: int, size: int, count: int, work: Callable[[int], Found], sender: Connection) -> None:
    """In a copy: take tickets until there are none, or nobody is left to take the results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    found: list[Found] = []
    while os.getppid() == parent and (first := _next_ticket(tickets)) is not None:
        for number in range(first, min(first + size, count)):
            with suppress(Exception):
                found.append(work(number))
    with suppress(Exception):
        sender.send(found)
