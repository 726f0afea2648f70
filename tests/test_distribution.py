"""What is released: a wheel and a source distribution, with all that belongs to them, and the same bytes each time."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[1]


def build(project: Path, folder: Path, *arguments: str) -> dict[str, Path]:
    """The distributions of a project by kind."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder), *arguments]
    subprocess.run(command, cwd=project, check=True, capture_output=True, text=True)
    return {"wheel" if path.suffix == ".whl" else "sdist": path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build(PROJECT, tmp_path_factory.mktemp("distributions"))


@pytest.fixture(scope="module")
def metadata(distributions: dict[str, Path]) -> Message:
    with zipfile.ZipFile(distributions["wheel"]) as wheel:
        name = next(one for one in wheel.namelist() if one.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(wheel.read(name))


def test_a_wheel_of_the_source_distribution_is_the_same_to_the_byte(distributions: dict[str, Path], tmp_path: Path):
    with tarfile.open(distributions["sdist"]) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = next(tmp_path.glob("opsetlift-*"))
    again = build(unpacked, tmp_path / "again")
    for kind, path in distributions.items():
        assert again[kind].read_bytes() == path.read_bytes(), kind


def test_the_wheel_holds_the_two_packages_and_nothing_else(distributions: dict[str, Path]):
    with zipfile.ZipFile(distributions["wheel"]) as wheel:
        names = wheel.namelist()
    assert {name.split("/")[0] for name in names} == {
        "opsetlift",
        "opsetlift_rules",
        next(name.split("/")[0] for name in names if ".dist-info" in name),
    }
    assert {Path(name).suffix for name in names if ".dist-info" not in name} == {
        *(".py", ".toml", ".json", ".css", ".js"),
        Path("py.typed").suffix,
    }
    assert not [name for name in names if "__pycache__" in name or "/." in name]
    assert [name for name in names if name.endswith("licenses/LICENSE")]
    assert [name for name in names if name.endswith("licenses/THIRD_PARTY_NOTICES.md")]


def test_the_source_distribution_has_what_git_has_and_no_caches(distributions: dict[str, Path]):
    with tarfile.open(distributions["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=False)
    known = set(listed.stdout.split("\n")) if listed.returncode == 0 else set()
    folders = ("converter", "rules", "tests", "testing", "docs", "documentation", "examples", "benchmarks")
    missing = {name for name in known if name.split("/")[0] in folders and (PROJECT / name).exists()} - names
    assert not missing
    assert {
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "SECURITY.md",
        "Containerfile",
        "pyproject.toml",
        "tests/conftest.py",
    } <= names
    assert not [name for name in names if "cache" in name.split("/")[0] or name.endswith(".pyc")]


def test_the_metadata_is_complete(metadata: Message):
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_all("License-File") == ["LICENSE", "THIRD_PARTY_NOTICES.md"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert metadata["Requires-Python"] == ">=3.11"


def test_package_indexes_accept_both(distributions: dict[str, Path]):
    pytest.importorskip("twine")
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, distributions.values())]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.count("PASSED") == 2


def test_the_changelog_begins_with_the_version_that_is_built(metadata: Message):
    headings = re.findall(r"^## (\S+)", (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)
    assert headings[0] == "Unreleased" or headings[0] == metadata["Version"]
    assert metadata["Version"] in headings


def test_third_party_notices_name_each_dependency(metadata: Message):
    notices = (PROJECT / "THIRD_PARTY_NOTICES.md").read_text(encoding="utf-8").lower()
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in settings["dependencies"]:
        name = re.split(r"[<>=\[ ]", requirement)[0].lower()
        assert name in notices, name
