"""What an environment that OpsetLift is installed into may hold beside it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[1]
MODEL = PROJECT / "examples" / "models" / "reductions_basic_opset9" / "model.onnx"

CONVERT = f"""
import opsetlift

conversion = opsetlift.convert({str(MODEL)!r}, to=18)
print(opsetlift.__version__, conversion.certificate.is_proven)
"""


def pip(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", *arguments, "--quiet", "--no-deps", "--no-build-isolation"],
        check=True,
        capture_output=True,
        text=True,
    )


def install(python: Path, *what: str) -> None:
    """Install into the environment itself, whatever the one whose dependencies it shares has."""
    pip("--python", str(python), "install", "--ignore-installed", *what)


def new_environment(folder: Path) -> Path:
    """The interpreter of an environment that has the dependencies of this one and nothing else."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    scheme = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site_packages = Path(subprocess.run(scheme, check=True, capture_output=True, text=True).stdout.strip())
    # What stands in a .pth file comes after the environment's own packages.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def converts(python: Path, folder: Path, path: str = "") -> None:
    """Converting and proving works with `folder` as the current one, from Python and from the command line."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": path}
    jobs = (
        [str(python), "-c", CONVERT],
        [str(python), "-m", "opsetlift", "convert", str(MODEL), "out.onnx", "--to", "18", "--force"],
        [str(python.with_name("opsetlift")), "explain", "ReduceMin", "11", "18"],
    )
    for job in jobs:
        run = subprocess.run(job, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr
    assert (folder / "out.onnx").is_file()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", str(PROJECT), "--wheel-dir", str(folder))
    return next(folder.glob("opsetlift-*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    interpreter = new_environment(tmp_path_factory.mktemp("environment"))
    install(interpreter, str(wheel))
    return interpreter


def test_modules_of_ones_own_with_the_names_of_the_source_folders(python: Path, tmp_path: Path):
    for name in ("rules.py", "converter.py"):
        (tmp_path / name).write_text("raise RuntimeError('this is not what was asked for')\n")
    converts(python, tmp_path)


def test_packages_of_ones_own_first_on_the_path(python: Path, tmp_path: Path):
    for name in ("rules", "converter"):
        (tmp_path / "first" / name).mkdir(parents=True)
        (tmp_path / "first" / name / "__init__.py").write_text("")
        (tmp_path / "first" / name / "steps.py").write_text("STEPS = 'of something else'\n")
    converts(python, tmp_path, str(tmp_path / "first"))


def test_packages_named_rules_and_converter_installed_beside_it(wheel: Path, tmp_path: Path):
    python = new_environment(tmp_path / "environment")
    projects = [tmp_path / name for name in ("rules", "converter")]
    for project in projects:
        name = project.name
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text("VERSION = 'of somebody else'\n")
        (project / "pyproject.toml").write_text(
            f"[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n"
            f"[project]\nname = '{name}'\nversion = '3.5'\n"
        )
    install(python, *map(str, projects), str(wheel))
    converts(python, tmp_path)
    for name in ("rules", "converter"):
        theirs = [str(python), "-c", f"import {name}; print({name}.VERSION)"]
        said = subprocess.run(theirs, capture_output=True, text=True, check=True, cwd=tmp_path / "environment")
        assert said.stdout == "of somebody else\n"


def test_an_editable_installation(tmp_path: Path):
    python = new_environment(tmp_path / "environment")
    install(python, "--editable", str(PROJECT))
    converts(python, tmp_path)
    where = "import opsetlift, opsetlift_rules; print(opsetlift.__file__, opsetlift_rules.__file__)"
    said = subprocess.run([str(python), "-c", where], capture_output=True, text=True, check=True, cwd=tmp_path)
    own = [PROJECT / "converter" / "opsetlift" / "__init__.py", PROJECT / "rules" / "opsetlift_rules" / "__init__.py"]
    assert [Path(one).resolve() for one in said.stdout.split()] == own


def test_the_wheel_holds_both_packages_and_their_data(python: Path, tmp_path: Path):
    installed = python.parents[1] / "lib"
    for folder, ending in (
        ("converter", "*.py"),
        ("converter", "*.toml"),
        ("rules", "*.py"),
        ("converter", "py.typed"),
    ):
        own = {path.relative_to(PROJECT / folder).as_posix() for path in (PROJECT / folder).rglob(ending)}
        site_packages = next(installed.glob("python*/site-packages"))
        there = {path.relative_to(site_packages).as_posix() for path in site_packages.rglob(ending)}
        assert own <= there, own - there
        assert own
