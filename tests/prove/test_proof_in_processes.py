"""A proof that several processes share: the same certificate, and nothing left behind whatever ends."""

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
from opsetlift.support.processes import may_be_copied, shared_out
from tests.prove.conversions import KnownFacts, conversion

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no process is copied there")


class TestSharing:
    def test_each_number_is_worked_on_once(self) -> None:
        for count in (0, 1, 5, 20_001):  # the last one is more than there are tickets
            assert sorted(shared_out(lambda number: number, count, 3)) == list(range(count))

    def test_the_work_is_shared(self) -> None:
        gate = multiprocessing.get_context("fork").Barrier(2, timeout=60)

        def process(number: int) -> int:
            if number < 2:
                gate.wait()  # passes only where two processes meet
            return os.getpid()

        assert len(set(shared_out(process, 10, 2))) == 2

    def test_what_fails_in_a_copy_is_left_out(self) -> None:
        parent, gate = os.getpid(), multiprocessing.get_context("fork").Barrier(2, timeout=60)

        def fail_in_copies(number: int) -> int:
            if number < 2:
                gate.wait()
            if os.getpid() != parent:
                raise ValueError(number)
            return number

        assert len(shared_out(fail_in_copies, 10, 2)) < 10

    def test_a_copy_that_ends_takes_its_results_with_it_and_no_more(self, capfd: pytest.CaptureFixture[str]) -> None:
        parent, gate = os.getpid(), multiprocessing.get_context("fork").Barrier(2, timeout=60)

        def end_copies(number: int) -> int:
            if number < 2:
                gate.wait()
            if os.getpid() != parent:
                os.kill(os.getpid(), signal.SIGKILL)
            return number

        assert len(shared_out(end_copies, 10, 2)) == 9
        assert capfd.readouterr() == ("", "")

    def test_a_fault_in_this_process_ends_the_copies(self) -> None:
        parent, gate = os.getpid(), multiprocessing.get_context("fork").Barrier(2, timeout=60)

        def wait_in_copies(number: int) -> int:
            gate.wait()
            if os.getpid() == parent:
                raise KeyboardInterrupt
            signal.pause()
            return number

        with pytest.raises(KeyboardInterrupt):
            shared_out(wait_in_copies, 2, 2)
        assert not multiprocessing.active_children()

    def test_a_process_with_threads_is_not_copied(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done = threading.Event()
        thread = threading.Thread(target=done.wait)
        thread.start()
        assert not may_be_copied()
        done.set()
        thread.join()
        monkeypatch.setattr(threading, "active_count", lambda: 1)  # what runs the tests may have threads
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


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lets every proof be shared from its second site on; how many sites that were."""
    counts: list[int] = []

    def counted(work, count: int, jobs: int, told):  # type: ignore[no-untyped-def]
        counts.append(count)
        return shared_out(work, count, jobs, told)

    monkeypatch.setattr(site_proofs, "may_be_copied", lambda: True)
    monkeypatch.setattr(site_proofs, "_PATIENCE", 0.0)
    monkeypatch.setattr(site_proofs, "_WORTH_SHARING", 0.0)
    monkeypatch.setattr(site_proofs, "shared_out", counted)
    return counts


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
