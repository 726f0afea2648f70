"""Verdicts that are kept across runs: used where everything is as it was, and never where an entry may be wrong."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import parser

from opsetlift import Certificate, convert, normalize, verify
from opsetlift.cli.main import main
from opsetlift.normalizer import prove_passes
from opsetlift.proof import VerdictCache, default_folder, verdict_cache
from opsetlift.proof.certificate import SiteRecord
from opsetlift.proof.conversions import prove_conversion
from opsetlift.proof.diversity import Diversity, InputDiversity
from opsetlift.proof.verdict_cache import KnownVerdict, verdict_key
from tests.prove.conversions import KnownFacts
from tests.prove.test_sites import restamped

MEANS = """
    <ir_version: 8, opset_import: ["": 18]>
    g (float[N, 4] x) => (float[N, 1] y) <int64[1] axes = {-1}> {
        a = ReduceMean (x, axes)
        y = Sin (a)
    }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "cache"
    monkeypatch.setenv("OPSETLIFT_CACHE", str(found))
    return found


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.json"))


def converted(text: str = MEANS, *, to: int = 13, seed: int = 0) -> Sequence[SiteRecord]:
    certificate = convert(parser.parse_model(text), to=to, cache=True, seed=seed).certificate
    assert certificate is not None
    assert certificate.is_proven
    return certificate.sites


def from_cache(sites: Sequence[SiteRecord]) -> list[bool]:
    return [site.from_cache for site in sites]


class TestUse:
    def test_a_second_run_finds_the_verdicts_of_the_first(self, folder: Path) -> None:
        first = converted()
        assert entries(folder)
        second = converted()
        assert from_cache(first) == [False]
        assert from_cache(second) == [True]
        assert [{**vars(one), "from_cache": False} for one in second] == [vars(one) for one in first]

    def test_names_of_values_make_no_difference_and_are_those_of_the_model_at_hand(self) -> None:
        converted()
        sites = converted(MEANS.replace("x", "given"))
        assert from_cache(sites) == [True]
        assert [one.name for one in sites[0].inputs] == ["given"]

    def test_without_being_asked_for_nothing_is_kept(self, folder: Path) -> None:
        convert(parser.parse_model(MEANS), to=13)
        assert not folder.exists()

    @pytest.mark.parametrize(
        "other",
        [
            MEANS.replace("{-1}", "{-2}"),
            MEANS.replace("float", "double"),
            MEANS.replace("[N, 4]", "[N, 4, 4]").replace("float[N, 1] y", "float[N, 4, 1] y"),
            MEANS.replace("ReduceMean (", "ReduceMean <keepdims = 1> ("),
            MEANS.replace("ReduceMean", "ReduceMax"),
        ],
        ids=["constants", "dtypes", "ranks", "attributes", "operators"],
    )
    def test_a_site_that_differs_is_another_one(self, other: str) -> None:
        converted()
        assert not any(from_cache(converted(other)))

    def test_another_seed_or_opset_is_another_site(self) -> None:
        converted()
        assert from_cache(converted(seed=1)) == [False]
        assert from_cache(converted(to=12)) == [False]

    def test_other_tools_are_asked_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        converted()
        for name, module in (("onnx", onnx), ("numpy", numpy)):
            verdict_cache._tools.cache_clear()
            with monkeypatch.context() as patch:
                patch.setattr(module, "__version__", "0.1")
                assert verdict_key(1) != "", name
                assert from_cache(converted()) == [False]
        verdict_cache._tools.cache_clear()
        monkeypatch.setattr(verdict_cache, "_sources_sha256", lambda: "other sources")
        assert from_cache(converted()) == [False]
        monkeypatch.undo()
        verdict_cache._tools.cache_clear()

    def test_bodies_of_functions_are_part_of_the_key(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 18, "f": 1]>
            g (float[N, 4] x) => (float[N, 1] y) { y = f.mean (x) }
            <opset_import: ["": 18], domain: "f">
            mean (v) => (w) { axes = Constant <value_ints = [-1]> () u = ReduceMean (v, axes) w = Abs (u) }
        """
        converted(text)
        assert any(from_cache(converted(text)))
        assert not any(from_cache(converted(text.replace("Abs", "Neg"))))

    def test_what_differs_or_is_weakly_proven_is_not_kept(self, folder: Path) -> None:
        made = restamped("g (float[N] x) => (float[N] y) { y = Neg (x) }", (12, 13))
        made.result.graph.node[0].op_type = "Abs"
        cache = VerdictCache(folder)
        for _ in range(2):
            proof = prove_conversion(made.original, made.result, made.trace, KnownFacts(made.original), cache=cache)
            assert proof.is_refuted or proof.structure
        assert entries(folder) == []

    def test_a_certificate_says_which_and_is_verified_without_them(self, tmp_path: Path) -> None:
        model = parser.parse_model(MEANS)
        convert(model, to=13, cache=True)
        done = convert(model, to=13, cache=True)
        assert done.certificate is not None
        read = Certificate.from_json(done.certificate.to_json())
        assert from_cache(read.sites) == [True]
        assert "1 of them in earlier runs" in read.summary()
        found = verify(read, model, done.model)
        assert from_cache(found.sites) == [False]


class TestDamage:
    @pytest.mark.parametrize(
        "damage",
        [
            lambda text: text[:-20],
            lambda text: "",
            lambda text: "[" * 10_000,
            lambda text: "\0\xff",
            lambda text: text.replace('"cases": ', '"cases": 1'),
            lambda text: json.dumps({**json.loads(text), "version": 0}),
            lambda text: json.dumps({**json.loads(text), "key": "0" * 64}),
            lambda text: text + " " * (1 << 14),
        ],
    )
    def test_a_damaged_entry_is_ignored_and_replaced(self, folder: Path, damage: object) -> None:
        converted()
        (entry,) = entries(folder)
        whole = entry.read_text()
        entry.write_text(damage(whole), encoding="latin-1")  # type: ignore[operator]
        assert from_cache(converted()) == [False]
        assert entry.read_text() == whole

    @pytest.mark.usefixtures("told_apart")
    def test_an_entry_under_the_name_of_another_makes_nothing_equal(self, folder: Path) -> None:
        cache = VerdictCache(folder)
        equal = restamped("g (float[N] x) => (float[N] y) { y = Neg (x) }", (12, 13))
        assert prove_conversion(
            equal.original, equal.result, equal.trace, KnownFacts(equal.original), cache=cache
        ).is_proven
        (entry,) = entries(folder)
        asked: list[str] = []

        class Listening(VerdictCache):
            def find(self, key: str, names: Sequence[str]) -> KnownVerdict | None:
                asked.append(key)
                path = self._path(key)
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(entry.read_bytes())
                return super().find(key, names)

        different = restamped("g (float[N] x) => (float[N] y) { y = Neg (x) }", (12, 13))
        different.result.graph.node[0].op_type = "Abs"
        different.trace.add_site("graph", 0)
        proof = prove_conversion(
            different.original,
            different.result,
            different.trace,
            KnownFacts(different.original),
            cache=Listening(folder),
        )
        assert asked
        assert proof.is_refuted

    @pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
    @pytest.mark.parametrize("is_folder", [True, False])
    def test_what_others_may_write_to_is_not_used(self, folder: Path, is_folder: bool) -> None:
        converted()
        (entry,) = entries(folder)
        for one in (folder, entry.parent) if is_folder else (entry,):
            mode = one.stat().st_mode
            one.chmod(mode | 0o022)
            assert from_cache(converted()) == [False]
            one.chmod(mode)
            if not is_folder:
                entry.chmod(0o600)
        assert from_cache(converted()) == [True]

    @pytest.mark.skipif(os.name != "posix", reason="links as POSIX has them")
    def test_links_are_not_followed(self, folder: Path, tmp_path: Path) -> None:
        converted()
        (entry,) = entries(folder)
        moved = tmp_path / "elsewhere.json"
        entry.rename(moved)
        entry.symlink_to(moved)
        assert from_cache(converted()) == [False]
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
        assert from_cache(converted()) == [False]

    def test_a_folder_that_cannot_be_made_is_no_error(self, folder: Path) -> None:
        folder.write_text("a file")
        assert from_cache(converted()) == [False]


class TestFolder:
    def test_is_for_the_user_alone(self, folder: Path) -> None:
        converted()
        if os.name == "posix":
            assert {one.stat().st_mode & 0o077 for one in (folder, *folder.rglob("*"))} == {0}

    def test_is_bounded_and_the_oldest_go_first(self, folder: Path) -> None:
        cache = VerdictCache(folder)
        measured = InputDiversity("x", "float32", "data", 1, 1, 1, [], [])
        found = KnownVerdict(3, 1, 0.5, Diversity([measured]))
        keys = [f"ab{number:062}" for number in range(200)]
        for number, key in enumerate(keys):
            cache.keep(key, ["x"], found)
            os.utime(folder / "ab" / f"{key[2:]}.json", (number, number))
        assert len(entries(folder)) <= 64
        assert cache.find(keys[-1], ["x"]) == found
        assert cache.find(keys[0], ["x"]) is None

    def test_several_writers_at_once_leave_whole_entries(self, folder: Path) -> None:
        measured = InputDiversity("x", "float32", "data", 1, 1, 1, [], [])
        found = KnownVerdict(3, 1, 0.5, Diversity([measured]))

        def write(_: int) -> bool:
            cache = VerdictCache(folder)
            for _ in range(50):
                cache.keep("ab" * 32, ["x"], found)
                if cache.find("ab" * 32, ["x"]) != found:
                    return False
            return True

        with ThreadPoolExecutor(4) as executor:
            assert all(executor.map(write, range(4)))
        assert [one.name for one in (folder / "ab").iterdir()] == [f"{'ab' * 31}.json"]

    def test_comes_from_the_environment(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("OPSETLIFT_CACHE", "")
        assert default_folder() is None
        monkeypatch.setenv("OPSETLIFT_CACHE", "relative")
        assert default_folder() is None
        monkeypatch.delenv("OPSETLIFT_CACHE")
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert default_folder() == tmp_path / "opsetlift" / "verdicts"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
        assert default_folder() == tmp_path / "home" / ".cache" / "opsetlift" / "verdicts"
        monkeypatch.setattr(sys, "platform", "darwin")
        assert default_folder() == tmp_path / "home" / "Library" / "Caches" / "opsetlift" / "verdicts"


class TestCommands:
    def test_convert_uses_and_keeps_verdicts_unless_told_not_to(
        self, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source = tmp_path / "model.onnx"
        onnx.save(parser.parse_model(MEANS), source)
        command = ["convert", str(source), str(tmp_path / "out.onnx"), "--to", "13", "--force", "--json"]

        def sites(*more: str) -> list[bool]:
            assert main([*command, *more]) == 0
            certificate = json.loads(capsys.readouterr().out)["certificate"]
            return [site["from_cache"] for stage in certificate["stages"] for site in stage["evidence"]["sites"]]

        assert sites("--no-cache") == [False]
        assert entries(folder) == []
        assert sites() == [False]
        assert sites() == [True]
        assert sites("--no-cache") == [False]


class TestParts:
    """Of normalisations: the places in which passes changed something."""

    MODEL = """
        <ir_version: 8, opset_import: ["": 18]>
        g (float[2, 3] x) => (float[3, 2] y) {
            a = Transpose <perm = [1, 0]> (x)
            b = Transpose <perm = [1, 0]> (a)
            c = Sin (b)
            y = Transpose <perm = [1, 0]> (c)
        }
    """

    @staticmethod
    def normalised(text: str = MODEL, *, cache: bool = True, seed: int = 0) -> Certificate:
        found = normalize(parser.parse_model(text), cache=cache, seed=seed).certificate
        assert found is not None
        assert found.is_proven
        return found

    def from_cache(self, text: str = MODEL, *, cache: bool = True, seed: int = 0) -> int:
        [stage] = self.normalised(text, cache=cache, seed=seed).stages
        parts = stage.evidence.proof.parts
        return parts.from_cache

    def test_a_second_run_finds_the_verdicts_of_the_first(self, folder: Path) -> None:
        assert self.from_cache() == 0
        assert entries(folder)
        assert self.from_cache() == 1
        assert "1 proven in earlier runs" in self.normalised().summary()

    def test_names_make_no_difference(self) -> None:
        self.from_cache()
        assert self.from_cache(self.MODEL.replace("(x)", "(given)").replace("] x)", "] given)")) == 1

    def test_without_being_asked_for_nothing_is_kept(self, folder: Path) -> None:
        assert self.from_cache(cache=False) == 0
        assert not folder.exists()

    @pytest.mark.parametrize(
        "other", [("2, 3", "5, 3"), ("float", "double"), ('"": 18', '"": 17'), ("Sin", "Cos")], ids="".join
    )
    def test_what_is_computed_otherwise_is_another_part(self, other: tuple[str, str]) -> None:
        self.from_cache()
        assert self.from_cache(self.MODEL.replace(*other).replace("[3, 2] y", "[A, B] y")) == 0

    def test_functions_that_were_inlined_are_part_of_the_key(self) -> None:
        """Only the original still has them, and a few runs of the whole do not tell these two apart."""
        head = '<ir_version: 8, opset_import: ["": 18, "local": 1]> g (float[3] x) => (float[3] y)'
        exception = (
            "k = Constant <value = float {1234.5}> () e = Equal (a, k) n = Neg (k) z = Abs (a) b = Where (e, n, z)"
        )
        before, other = (
            parser.parse_model(
                f"""{head} {{ y = local.f (x) }} <domain: "local", opset_import: ["": 18]> f (a) => (b) {{ {body} }}"""
            )
            for body in ("b = Abs (a)", exception)
        )
        after = parser.parse_model(f"{head} {{ y = Abs (x) }}")
        cache = VerdictCache(os.environ["OPSETLIFT_CACHE"])
        for _ in range(2):
            assert prove_passes(before, after, ulps=0, seed=0, base_dir="", cache=cache).is_proven
        assert not prove_passes(other, after, ulps=0, seed=0, base_dir="", cache=cache).is_proven

    def test_another_seed_proves_again(self) -> None:
        self.from_cache()
        assert self.from_cache(seed=1) == 0

    def test_a_certificate_says_how_many_and_is_verified_without_them(self) -> None:
        self.from_cache()
        model = parser.parse_model(self.MODEL)
        done = normalize(model, cache=True)
        assert done.certificate is not None
        read = Certificate.from_json(done.certificate.to_json())
        assert read.stages[0].evidence.proof.parts.from_cache == 1
        found = verify(read, model, done.model)
        assert found.stages[0].evidence.proof.parts.from_cache == 0


def test_files_of_others_in_the_folder_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict_cache, "_MOST_IN_A_FOLDER", 0)
    converted()
    (entry,) = entries(folder)
    foreign = [entry.parent / name for name in ("notes.txt", "a" * 62, ".hidden", f"{'b' * 61}.json")]
    for path in foreign:
        path.write_text("precious")
    for seed in range(3):
        converted(MEANS.replace("Sin", "Cos"), seed=seed)
        converted(seed=seed)
    assert all(path.read_text() == "precious" for path in foreign)
