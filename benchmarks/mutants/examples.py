"""What exercises which line: examples, traced once and kept in the user's cache folder.

An example is a model and what is to be done with it. They come from ONNX's own tests, from every model that a test of
ours converts or normalises, and from examples/models. Each runs once under a tracer; for every line a few are kept that
are cheap and take different ways through its module.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import pickle
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import onnx

ROOT = Path(__file__).parents[2]
MOST_PER_LINE = 24
"""So many examples are kept for a line."""
MOST_PER_OPERATOR = 40
"""And for an operator in a module's tables."""
_FORMAT = 3
"""To be raised when other examples are collected or selected."""
LARGEST = 200_000
"""Models of more bytes are no examples."""


@dataclass(frozen=True)
class Example:
    """A model, what is done with it, and inputs that somebody shipped with it."""

    name: str
    model: bytes
    options: Mapping[str, Any] = field(default_factory=dict)
    shipped: Sequence[Mapping[str, bytes]] = ()
    variant: str = ""
    """How it was made of another example; empty where it was not."""

    @property
    def proto(self) -> onnx.ModelProto:
        """The model, parsed anew: callers may change it."""
        return onnx.ModelProto.FromString(self.model)

    @property
    def operators(self) -> frozenset[str]:
        """The operators of its nodes."""
        return frozenset(operators_in(self.proto.graph))

    @property
    def way(self) -> str:
        """From which opsets to where."""
        return repr((sorted((one.domain, one.version) for one in self.proto.opset_import), self.options, self.variant))


def operators_in(graph: onnx.GraphProto) -> Iterator[str]:
    """The operators of a graph and its subgraphs."""
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from operators_in(attribute.g)


@dataclass(frozen=True)
class Kept:
    """An example with what the unchanged code makes of it."""

    example: Example
    outcome: str
    result: bytes


@dataclass
class Coverage:
    """Examples by the lines and the operators that they exercise, the most telling first."""

    kept: list[Kept] = field(default_factory=list)
    by_line: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    by_operator: dict[str, list[int]] = field(default_factory=dict)

    def on_lines(self, path: str, lines: Iterable[int]) -> list[int]:
        """The examples that exercise any of the lines, the first of each line first."""
        known = self.by_line.get(path, {})
        lists = [known[line] for line in sorted(set(lines)) if line in known]
        return list(dict.fromkeys(_in_turn(lists)))


def _in_turn(lists: Sequence[Sequence[Any]]) -> Iterator[Any]:
    for place in range(max(map(len, lists), default=0)):
        yield from (one[place] for one in lists if place < len(one))


class Tracer:
    """Which lines of the files in one folder run."""

    def __init__(self, folder: str) -> None:
        self._prefix = str(ROOT / folder) + os.sep
        self.lines: set[tuple[str, int]] = set()

    @contextmanager
    def __call__(self) -> Iterator[set[tuple[str, int]]]:
        """Collect the lines of the traced folder that run inside of the `with` statement."""
        self.lines = set()
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield self.lines
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(self._prefix):
            return None
        lines = self.lines

        def on_line(frame: FrameType, event: str, argument: Any) -> Any:
            lines.add((path, frame.f_lineno))
            return on_line

        return on_line


@dataclass
class _Traced:
    kept: Kept
    lines: frozenset[tuple[str, int]]
    seconds: float


class Collector:
    """Runs examples once and keeps the telling ones."""

    def __init__(self, folder: str, most_per_line: int = MOST_PER_LINE) -> None:
        self._tracer = Tracer(folder)
        self._most_per_line = most_per_line
        self._traced: list[_Traced] = []
        self._seen: set[bytes] = set()

    def is_new(self, example: Example) -> bool:
        """Whether no example like it was seen, and it is small enough."""
        key = hashlib.sha256(example.model + repr(sorted(example.options.items())).encode()).digest()
        if key in self._seen or len(example.model) > LARGEST:
            return False
        self._seen.add(key)
        return True

    @property
    def examples(self) -> list[Example]:
        """Those that were run so far."""
        return [one.kept.example for one in self._traced]

    @contextmanager
    def tracing(self, example: Example) -> Iterator[list[tuple[str, bytes]]]:
        """Trace the block, which says what came of the example by appending it to the list."""
        outcome: list[tuple[str, bytes]] = []
        started = time.thread_time()
        with self._tracer() as lines:
            yield outcome
        if outcome:
            kept = Kept(example, *outcome[0])
            self._traced.append(_Traced(kept, frozenset(lines), time.thread_time() - started))

    def coverage(self) -> Coverage:
        """The selection."""
        found = Coverage()
        places: dict[int, int] = {}

        def place(index: int) -> int:
            if index not in places:
                places[index] = len(found.kept)
                found.kept.append(self._traced[index].kept)
            return places[index]

        by_line: dict[tuple[str, int], list[int]] = defaultdict(list)
        by_operator: dict[str, list[int]] = defaultdict(list)
        for index, one in enumerate(self._traced):
            for line in one.lines:
                by_line[line].append(index)
            for operator in one.kept.example.operators:
                by_operator[operator].append(index)
        cost = [one.seconds + len(one.kept.example.model) / 1e6 for one in self._traced]
        ways = [self._ways(one) for one in self._traced]
        for (path, line), indices in sorted(by_line.items()):
            chosen = _telling(indices, [ways[index].get(path) for index in indices], cost, self._most_per_line)
            relative = os.path.relpath(path, ROOT)
            found.by_line.setdefault(relative, {})[line] = list(map(place, chosen))
        for operator, indices in sorted(by_operator.items()):
            goals = [self._traced[index].kept.example.way for index in indices]
            found.by_operator[operator] = list(map(place, _telling(indices, goals, cost, MOST_PER_OPERATOR)))
        return found

    @staticmethod
    def _ways(one: _Traced) -> dict[str, object]:
        by_path: dict[str, set[int]] = defaultdict(set)
        for path, line in one.lines:
            by_path[path].add(line)
        example = one.kept.example
        kind = example.operators, example.variant
        return {path: (hash(frozenset(lines)), *kind) for path, lines in by_path.items()}


def _telling(indices: Sequence[int], kinds: Sequence[object], cost: Sequence[float], most: int) -> list[int]:
    """The cheapest of each kind, then the second cheapest of each, and so on."""
    groups: dict[object, list[int]] = defaultdict(list)
    for index, kind in sorted(zip(indices, kinds, strict=True), key=lambda pair: cost[pair[0]]):
        groups[kind].append(index)
    return list(_in_turn(list(groups.values())))[:most]


def cache_file(subject: str, sources: Sequence[str]) -> Path:
    """Where the coverage of the files that these patterns name is kept: another as soon as one of them changes."""
    digest = hashlib.sha256(f"{onnx.__version__} {_FORMAT}".encode())
    for source in sources:
        for path in sorted(ROOT.glob(source)):
            digest.update(path.read_bytes())
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "opsetlift"
    return folder / f"mutants-{subject}-{digest.hexdigest()[:16]}.gz"


def load(path: Path) -> Coverage | None:
    """The coverage in a file of our own; None where there is none, or an unreadable one."""
    try:
        with gzip.open(path) as file:
            found = pickle.load(file)
    except (OSError, EOFError, pickle.UnpicklingError, AttributeError):
        return None
    return found if isinstance(found, Coverage) else None


def save(coverage: Coverage, path: Path) -> None:
    """Write it, and remove what older sources left for the same subject."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subject = path.name.rsplit("-", 1)[0]
    for old in path.parent.glob(f"{subject}-*.gz"):
        old.unlink()
    temporary = path.with_suffix(f".{os.getpid()}")
    with gzip.open(temporary, "wb", compresslevel=1) as file:
        pickle.dump(coverage, file)
    temporary.replace(path)
