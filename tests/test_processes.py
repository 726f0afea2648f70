"""Proofs and `reach` in several processes: the same answers, and nothing left behind whatever ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest
from onnx import parser

import opsetlift
from opsetlift.proof import Outcome, prove_conversion, site_proofs
from opsetlift.support import processes
from opsetlift.support.processes import cores, may_be_copied, worked_off
from tests.prove.conversions import KnownFacts, conversion

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no process is copied there")


@pytest.fixture(autouse=True)
def shares(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lets copies of the process share all work, however short it is; how many numbers they shared each time."""
    counts: list[int] = []
    proper = processes._shared_out

    def counted(work, numbers, jobs, told):  # type: ignore[no-untyped-def]
        counts.append(len(numbers))
        return proper(work, numbers, jobs, told)

    monkeypatch.setattr(processes, "_PATIENCE", -1.0)
    monkeypatch.setattr(processes, "_WORTH_A_COPY", 1e-9)
    monkeypatch.setattr(processes, "may_be_copied", lambda: True)  # what runs the tests may have threads
    monkeypatch.setattr(processes, "_shared_out", counted)
    return counts


class Meeting:
    """Lets each of two processes go on from its first call when the other has come, too."""

    def __init__(self) -> None:
        self.parent = os.getpid()
        self._gate = multiprocessing.get_context("fork").Barrier(2, timeout=60)
        self._has_met = False

    @property
    def is_copy(self) -> bool:
        return os.getpid() != self.parent

    def wait(self) -> None:
        if not self._has_met:
            self._has_met = True
            self._gate.wait()


class TestSharing:
    def test_each_number_is_worked_on(self) -> None:
        for count in (0, 1, 5, 20_001):  # the last one is more than there are tickets
            assert worked_off(lambda number: number, count, 3) == list(range(count))

    def test_the_work_is_shared(self) -> None:
        meeting = Meeting()

        def process(number: int) -> int:
            meeting.wait()
            return os.getpid()

        assert len(set(worked_off(process, 10, 2))) == 2

    def test_what_fails_in_a_copy_is_done_again(self) -> None:
        meeting = Meeting()

        def fail_in_copies(number: int) -> int:
            meeting.wait()
            if meeting.is_copy:
                raise ValueError(number)
            return number

        assert worked_off(fail_in_copies, 10, 2) == list(range(10))

    def test_a_fault_is_met_in_this_process(self) -> None:
        def fail(number: int) -> int:
            raise ValueError("a fault of ours")

        with pytest.raises(ValueError, match="a fault of ours"):
            worked_off(fail, 10, 2)
        assert not multiprocessing.active_children()

    def test_what_a_copy_had_when_it_was_killed_is_done_again(self, capfd: pytest.CaptureFixture[str]) -> None:
        meeting = Meeting()

        def end_copies(number: int) -> int:
            meeting.wait()
            if meeting.is_copy:
                os.kill(os.getpid(), signal.SIGKILL)
            return number

        assert worked_off(end_copies, 10, 2) == list(range(10))
        assert capfd.readouterr() == ("", "")

    def test_an_interruption_ends_the_copies(self) -> None:
        meeting = Meeting()

        def wait_in_copies(number: int) -> int:
            meeting.wait()
            if not meeting.is_copy:
                raise KeyboardInterrupt
            signal.pause()
            return number

        with pytest.raises(KeyboardInterrupt):
            worked_off(wait_in_copies, 2, 2)
        assert not multiprocessing.active_children()

    def test_short_work_is_not_shared(self, monkeypatch: pytest.MonkeyPatch, shares: list[int]) -> None:
        monkeypatch.setattr(processes, "_PATIENCE", 60.0)
        assert worked_off(lambda number: number, 10, 2) == list(range(10))
        assert not shares

    @pytest.mark.parametrize(("each", "count"), [(0.25, 10), (0.0625, 3), (0.01, 0)])
    def test_as_many_processes_as_the_work_is_worth(
        self, monkeypatch: pytest.MonkeyPatch, each: float, count: int
    ) -> None:
        """Twenty numbers, of which the first to take the patience are worked on before anybody is asked to help."""
        counts: list[int] = []
        clock = [0.0]

        def work(number: int) -> None:
            clock[0] += each

        monkeypatch.setattr(processes.time, "monotonic", lambda: clock[0])
        monkeypatch.setattr(processes, "_shared_out", lambda work, numbers, found, told: counts.append(found) or {})
        monkeypatch.setattr(processes, "_PATIENCE", 0.15)
        monkeypatch.setattr(processes, "_WORTH_A_COPY", 0.5)
        worked_off(work, 20, 64)
        assert counts == ([count] if count else [])

    @pytest.mark.parametrize(("text", "count"), [("max 100000", 4), ("200000 100000", 2), ("50000 100000", 1), ("", 4)])
    def test_a_container_has_a_quota(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, count: int
    ) -> None:
        quota = tmp_path / "cpu.max"
        quota.write_text(text)
        monkeypatch.setattr(processes, "_QUOTA", quota)
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(4), raising=False)
        assert cores() == count

    def test_a_process_with_threads_is_not_copied(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done = threading.Event()
        thread = threading.Thread(target=done.wait)
        thread.start()
        assert not may_be_copied()
        done.set()
        thread.join()
        monkeypatch.setattr(threading, "active_count", lambda: 1)
        assert may_be_copied()


def model() -> onnx.ModelProto:
    """A model of 24 distinct rewrites, and of two that differ in names alone."""
    nodes = [f"a{n} = ReduceMean <axes = [0, {n % 3 + 1}], keepdims = 1> (x)" for n in range(3)]
    nodes += [f"b{n} = Clip <min = -{n}.0, max = {n}.5> (x)" for n in range(12)]
    nodes += [f"c{n} = Softmax <axis = {n % 4}> (x)" for n in range(4)]
    nodes += [f"d{n} = Pad <pads = [0, 0, 0, {n % 5}, 0, 0, {n % 3}, 1]> (x)" for n in range(5)]
    nodes += ["e1 = ReduceMax <axes = [1]> (x)", "e2 = ReduceMax <axes = [1]> (a0)"]
    outputs = ", ".join("float[A, B, C, D] " + one.partition(" = ")[0] for one in nodes)
    graph = f"g (float[N, 2, H, 5] x) => ({outputs}) {{ {' '.join(nodes)} }}"
    return parser.parse_model(f'<ir_version: 8, opset_import: ["": 10]> {graph}')


def certificates(jobs: Sequence[int], seed: int = 0) -> list[object]:
    found = [opsetlift.convert(model(), to=18, jobs=one, seed=seed).certificate for one in jobs]
    return [one.as_dict() for one in found if one is not None]


class TestProofs:
    def test_the_certificate_is_that_of_one_process(self, shares: list[int]) -> None:
        alone, shared, again = certificates([1, 2, 3])
        assert shares
        assert min(shares) > 15
        assert alone == shared == again

    def test_copies_find_verdicts_for_this_process(self, shares: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        certificates([1])
        tried: list[object] = []
        proper = site_proofs.SiteProofs._try
        monkeypatch.setattr(
            site_proofs.SiteProofs, "_try", lambda *args, **more: (tried.append(1), proper(*args, **more))[1]
        )
        certificates([1])
        alone = len(tried)
        tried.clear()
        certificates([3])
        assert len(tried) < alone

    def test_what_differs_is_found_as_in_one_process(self, shares: list[int]) -> None:
        right = "p = Add (x, x) q = Mul (x, x) r = Neg (x) s = Abs (x) y = Sum (p, q, r, s)"
        wrong = right.replace("Abs", "Relu").replace("Mul", "Sub")
        texts = [f"g (float[N] x) => (float[N] y) {{ {nodes} }}" for nodes in (right, wrong)]
        made = conversion(*texts, (14, 15), claims=[(n, n, n + 1) for n in range(5)])
        facts = KnownFacts(made.original)
        proofs = [prove_conversion(made.original, made.result, made.trace, facts, jobs=jobs) for jobs in (1, 2)]
        assert [site.outcome for site in proofs[1].sites].count(Outcome.DIFFERENT) == 2
        assert proofs[0].sites == proofs[1].sites
        assert shares

    def test_copies_keep_verdicts_in_the_cache(
        self, shares: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPSETLIFT_CACHE", str(tmp_path))
        opsetlift.convert(model(), to=18, jobs=2, cache=True)
        shares.clear()
        found = opsetlift.convert(model(), to=18, jobs=1, cache=True).certificate
        assert found is not None
        assert all(site.from_cache for site in found.sites if site.cases)


def test_reach_answers_as_one_process_does(shares: list[int]) -> None:
    alone, shared = (opsetlift.reach(model(), jobs=jobs).as_dict() for jobs in (1, 2))
    assert alone == shared
    assert shares
