"""One BLAS thread while the evaluator runs: where threads divide a matrix product, BLAS rounds differently."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy

_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "_64", "")

_lock = threading.Lock()
_users = 0
_threads_before = 0


@cache
def _controls() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """The functions that get and set the number of threads of numpy's OpenBLAS; None where numpy has another BLAS."""
    core = getattr(numpy, "_core", None) or numpy.core
    library = ctypes.CDLL(core._multiarray_umath.__file__)
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            try:
                get = getattr(library, f"{prefix}_get_num_threads{suffix}")
                put = getattr(library, f"{prefix}_set_num_threads{suffix}")
            except AttributeError:
                continue
            put.argtypes, put.restype = [ctypes.c_int], None
            return get, put
    return None


@contextmanager
def one_thread() -> Iterator[None]:
    """Run matrix products on one thread. Contexts may be nested and may overlap in several Python threads."""
    controls = _controls()
    if controls is None:
        yield
        return
    get, put = controls
    _enter(get, put)
    try:
        yield
    finally:
        _leave(put)


def _enter(get: Callable[[], int], put: Callable[[int], None]) -> None:
    global _users, _threads_before
    with _lock:
        _users += 1
        if _users == 1:
            _threads_before = get()
            if _threads_before != 1:
                put(1)


def _leave(put: Callable[[int], None]) -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0 and _threads_before != 1:
            put(_threads_before)
