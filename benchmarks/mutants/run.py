"""Runs mutants, each in a process of its own that is forked from one where everything else is imported."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import json
import multiprocessing
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from benchmarks.mutants import subjects
from benchmarks.mutants.examples import ROOT, Coverage
from benchmarks.mutants.operators import Mutant
from benchmarks.mutants.subjects import Subject, Verdict

TIMEOUT = "timeout"
NOT_EXERCISED = "not exercised"
ERROR = "fault of the benchmark"
"""Nothing is known of the mutant."""
OUTCOMES = (
    subjects.TESTED,
    subjects.SURVIVED,
    ERROR,
    subjects.KILLED,
    subjects.TOLD,
    subjects.REJECTED,
    subjects.REJECTS,
    subjects.REFUSED,
    subjects.FAULT,
    subjects.UNPROVEN,
    subjects.WEAK,
    subjects.NOT_LOADED,
    TIMEOUT,
    subjects.UNJUDGED,
    subjects.EQUIVALENT,
    subjects.SAME,
    NOT_EXERCISED,
)
"""What a mutant counts as: the first of these that any of its examples shows."""

_MOST_MEMORY = 12 << 30


@dataclass(frozen=True)
class Limits:
    """How much is done for one mutant."""

    examples: int = 4
    """So many examples on which it makes a difference are judged."""
    seconds: float = 40.0
    """Of computing time; an example may take a fifth of it, and none is begun after two fifths."""
    proves: bool = True
    """False takes everything that computes for proven: then the judge has to find the mutants alone."""


@dataclass
class Trial:
    """What became of one mutant."""

    mutant: Mutant
    verdicts: list[tuple[str, Verdict]] = field(default_factory=list)
    """By example; those on which the mutant makes no difference are left out."""
    tried: int = 0
    """Examples that exercise it and were run."""
    is_over_time: bool = False

    @property
    def outcome(self) -> str:
        """The strongest verdict of its examples."""
        found = {verdict.outcome for _, verdict in self.verdicts}
        if self.is_over_time:
            found.add(TIMEOUT)
        if not found:
            return subjects.SAME if self.tried else NOT_EXERCISED
        return next(one for one in OUTCOMES if one in found)

    @property
    def shown(self) -> tuple[str, Verdict] | None:
        """The example that decided."""
        return next((one for one in self.verdicts if one[1].outcome == self.outcome), None)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        shown = [{"example": name, **vars(verdict)} for name, verdict in self.verdicts]
        return {"id": self.mutant.id, "outcome": self.outcome, "examples": shown, "tried": self.tried}


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads one module from a changed syntax tree."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self._tree = tree

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._tree, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, loader: _Loader) -> None:
        self._loader = loader

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> Any:
        if fullname != self._loader.name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self._loader, origin=self._loader.path)


def put_in_place(mutant: Mutant) -> None:
    """Let this process import the mutant instead of the module. Nothing may have imported that before."""
    _, *inside = mutant.path.removesuffix(".py").split("/")  # behind the source root
    name = ".".join(inside)
    if name in sys.modules:
        raise RuntimeError(f"{name} is imported already, so that a mutant of it would not be seen")
    sys.meta_path.insert(0, _Finder(_Loader(name, str(ROOT / mutant.path), mutant.tree())))


def examples_for(mutant: Mutant, coverage: Coverage) -> list[int]:
    """Which examples exercise it: its own lines, else what uses the names or operators of a module's table."""
    lines = range(mutant.line, mutant.last_line + 1)
    if not mutant.names and not mutant.words:
        known = coverage.by_line.get(mutant.path, {})
        first = next((line for line in lines if line in known), None)
        if first is None:
            first = _statement_line(mutant)
        return coverage.on_lines(mutant.path, [first])
    found: list[int] = []
    for word in sorted(mutant.words):
        found += coverage.by_operator.get(word, [])
    if not found:
        found = coverage.on_lines(mutant.path, _lines_that_use(mutant.path, mutant.names))
    for path in () if found else coverage.by_line:
        found += coverage.on_lines(path, _lines_that_use(path, _imported(path, mutant)))
    return list(dict.fromkeys(found))


def _statement_line(mutant: Mutant) -> int:
    """The first line of the innermost statement around a change in the middle of one."""
    around = [
        node.lineno
        for node in ast.walk(_syntax(mutant.path))
        if isinstance(node, ast.stmt)
        and node.lineno <= mutant.line <= (node.end_lineno or node.lineno)
        and not isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    return max(around, default=mutant.line)


def _imported(path: str, mutant: Mutant) -> frozenset[str]:
    """The names among those that a changed statement defines which another module imports."""
    return frozenset(
        alias.name
        for statement in _syntax(path).body
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").endswith(f".{Path(mutant.path).stem}")
        for alias in statement.names
        if alias.name in mutant.names
    )


@cache
def _syntax(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def _lines_that_use(path: str, names: frozenset[str]) -> Iterable[int]:
    """The lines of the functions of a module that use these names, at first hand or not."""
    tree, wanted = _syntax(path), set(names)
    lines: list[int] = []
    for _ in range(3):
        for statement in tree.body:
            uses = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            if not uses & wanted:
                continue
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                lines += range(statement.body[0].lineno, (statement.end_lineno or 0) + 1)
                wanted.add(statement.name)
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                wanted |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)} & {
                    node.id
                    for node in ast.walk(statement)
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                }
    return lines


def tried(subject: Subject, mutant: Mutant, coverage: Coverage, limits: Limits) -> Trial:
    """Fork, change, convert, judge."""
    trial = Trial(mutant)
    indices = examples_for(mutant, coverage)
    if not indices:
        return trial
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _in_child(subject, mutant, coverage, indices, limits, writing)
    os.close(writing)
    deadline = time.monotonic() + 8 * limits.seconds + 20
    text = b""
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
        data = os.read(reading, 1 << 16) if ready else b""
        if not data:
            if not ready:
                os.kill(child, signal.SIGKILL)
            break
        text += data
    os.close(reading)
    _, status = os.waitpid(child, 0)
    for line in text.decode(errors="replace").splitlines():
        try:
            name, content = json.loads(line)
        except ValueError:
            continue
        trial.tried += 1
        if content["outcome"] != subjects.SAME:
            trial.verdicts.append((name, Verdict(**content)))
    if status:
        trial.is_over_time = os.WIFSIGNALED(status)
        trial.tried += 1
        if not trial.is_over_time:
            trial.verdicts.append(("", Verdict(ERROR, "the process ended")))
    return trial


def _in_child(
    subject: Subject, mutant: Mutant, coverage: Coverage, indices: Sequence[int], limits: Limits, writing: int
) -> None:
    """Judge the mutant, a line of JSON per example; never returns."""
    status = 1
    try:
        seconds = int(limits.seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        signal.signal(signal.SIGPROF, _stop)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        put_in_place(mutant)
        effective = 0
        survived = []
        for index in indices:
            kept = coverage.kept[index]
            try:
                signal.setitimer(signal.ITIMER_PROF, limits.seconds / 5)
                verdict = subject.verdict(kept, proves=limits.proves)
            except _TooLong:
                verdict = Verdict(TIMEOUT)
            except MemoryError:
                verdict = Verdict(subjects.FAULT, "out of memory")
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            _write(writing, kept.example.name + _goal(kept.example.options), verdict)
            effective += verdict.outcome != subjects.SAME
            survived += [verdict] if verdict.outcome == subjects.SURVIVED else []
            if effective >= limits.examples or time.process_time() > 2 * limits.seconds / 5:
                break
        if survived and not any(verdict.seen_by_evaluator for verdict in survived):
            names = [coverage.kept[index].example.name for index in indices]
            if subjects.is_caught_by_a_test(names):
                _write(writing, "tests", Verdict(subjects.TESTED))
        status = 0
    except BaseException as error:
        _write(writing, "", Verdict(ERROR, f"{type(error).__name__}: {error}"[:200]))
        status = 0
    finally:
        os._exit(status)


def _write(writing: int, name: str, verdict: Verdict) -> None:
    os.write(writing, (json.dumps([name, vars(verdict)]) + "\n").encode())


class _TooLong(BaseException):
    """An example takes too long; nothing that catches errors may catch it."""


def _stop(*_: object) -> None:
    raise _TooLong


def _goal(options: Any) -> str:
    return f" {dict(options)}" if options else ""


_work: tuple[Subject, Sequence[Mutant], Coverage, Limits] | None = None


def run(
    subject: Subject, mutants: Sequence[Mutant], coverage: Coverage, limits: Limits, jobs: int = 1
) -> Iterator[Trial]:
    """The trials of mutants, in their order."""
    if jobs == 1:
        for one in mutants:
            yield tried(subject, one, coverage, limits)
        return
    global _work
    _work = subject, mutants, coverage, limits
    # The workers, copies of this process, fork children of their own.
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for one, found in zip(mutants, pool.imap(_tried_in_pool, range(len(mutants))), strict=True):
            yield Trial(one, *found)


def _tried_in_pool(index: int) -> tuple[list[tuple[str, Verdict]], int, bool]:
    """A trial without its mutant, whose syntax tree need not be sent about."""
    assert _work is not None
    subject, mutants, coverage, limits = _work
    found = tried(subject, mutants[index], coverage, limits)
    return found.verdicts, found.tried, found.is_over_time
