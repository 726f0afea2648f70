"""Processes that work on one model each, so that one that ends takes no other model with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from queue import SimpleQueue
from threading import Thread
from types import FrameType
from typing import Any, NoReturn, TypeVar

Found = TypeVar("Found")

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class WorkerEnded(Exception):
    """The process that worked on a call ended, or was ended by the operating system."""


class Workers(Executor):
    """An executor over processes. Where one ends, its call fails with WorkerEnded, and another process replaces it.

    Args:
        jobs: How many processes.
    """

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(jobs)
        self._idle: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
        for _ in range(jobs):
            self._idle.put(_process())

    def submit(self, fn: Callable[..., Found], /, *args: Any, **kwargs: Any) -> Future[Found]:
        """Call a function in one of the processes."""
        return self._threads.submit(self._call, fn, *args, **kwargs)

    def _call(self, fn: Callable[..., Found], *args: Any, **kwargs: Any) -> Found:
        process = self._idle.get()
        try:
            return process.submit(_work, fn, args, kwargs).result()
        except BrokenProcessPool as error:
            process.shutdown(wait=False)
            process = _process()
            raise WorkerEnded("the process that worked on it ended (a crash, or not enough memory)") from error
        finally:
            self._idle.put(process)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; calls that have begun are completed."""
        self._threads.shutdown(wait=True, cancel_futures=cancel_futures)
        while not self._idle.empty():
            self._idle.get().shutdown(wait=wait)


def _process() -> ProcessPoolExecutor:
    # Threads may hold locks, which a forked process would never see released.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_begin)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what becomes of calls that have begun
    Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """Without a parent, which may have been killed, a process would wait for calls for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


class _Ended(BaseException):
    """A signal ended a call."""


def _work(fn: Callable[..., Found], args: Sequence[object], kwargs: Mapping[str, object]) -> Found:
    """In one of the processes: call a function, which removes its temporary files where a signal ends it."""
    try:
        for number in _ENDING:
            signal.signal(number, _end)
        return fn(*args, **kwargs)
    except _Ended as ended:
        os._exit(128 + ended.args[0])
    finally:
        for number in _ENDING:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise _Ended(number)
