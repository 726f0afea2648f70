"""Every target that is known: the files beside this module, those of entry points, and the releases of onnx."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

from onnx.helper import VERSION_TABLE

from opsetlift.model.files import ModelFileError, check_regular, read_file
from opsetlift.model.ir_version import OLDEST_IR_VERSION
from opsetlift.specification.history import AI_ONNX, AI_ONNX_ML
from opsetlift.support.arguments import of_kind
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.plugins import registered
from opsetlift.targets.ranges import Range
from opsetlift.targets.reading import TargetFileError, read_runtime
from opsetlift.targets.target import Runtime, Target, is_part_of, version_key

ENTRY_POINTS = "opsetlift.targets"
"""Entry points of this group give the path of a TOML file; their names are the names of the runtimes."""


ALIASES = {
    "ort": "onnxruntime",
    "trt": "tensorrt",
    "ov": "openvino",
    "cv": "opencv",
    "onnxruntime-node": "onnxruntime",
    "onnxruntime-web": "onnxruntime",
}
"""Short names of runtimes, and packages that hold the same kernels under the same versions (docs/targets.md)."""


_MOST_BYTES = 2**26
"""Far more than the largest description of a runtime, and little enough to be read at once."""


class UnknownTarget(OpsetLiftError, ValueError):
    """No such runtime, or no such version of it; the message suggests the nearest."""


@cache
def catalogue() -> Mapping[str, Runtime]:
    """The runtimes by name."""
    found = {name: _shipped(name) for name in _shipped_names()}
    for entry, path in registered(ENTRY_POINTS):
        if entry.name in found:
            raise TargetFileError(f"target {entry.name}: there are two of that name, one from {entry.value}")
        if not isinstance(path, (str, os.PathLike)):
            raise TargetFileError(f"target {entry.name}: {entry.value} is not the path of a file")
        found[entry.name] = _read_file(Path(path), entry.name)
    return found


@cache
def _shipped_names() -> Sequence[str]:
    names = (file.name for file in files(__package__).iterdir())
    return ["onnx", *sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))]


@lru_cache(maxsize=64)
def _shipped(name: str) -> Runtime:
    if name == "onnx":
        return _releases_of_onnx()
    folder = files(__package__)

    def beside(file: str) -> str:
        return folder.joinpath(file).read_text(encoding="utf-8")

    return read_runtime(name, beside(f"{name}.toml"), beside)


def target_of(given: str | Target) -> Target:
    """A target, or the one that `find_target` finds by its name. Raises TypeError for anything else."""
    shown = "a name as 'onnxruntime==1.4', or a Target"
    return find_target(given) if isinstance(given, str) else of_kind(given, Target, "the target", shown)


def find_target(wanted: str) -> Target:
    """The target for "onnxruntime==1.4", or for the path of a file, "mine.toml" or "mine.toml==2.0".

    "onnxruntime-1.4" and "ort==1.4" are the same one; without a version it is the newest.

    A version that is not listed is taken for the listed one before it, which the target's note says.

    Raises:
        UnknownTarget: There is no such runtime, or nothing is known of the version.
        TargetFileError: A file does not describe a runtime.
    """
    found = _found(wanted)
    named = wanted.strip().lower()
    for name, dtypes in found.output_dtypes_refused_as.items():
        if named.startswith(name):
            return replace(found, output_dtypes_refused=found.output_dtypes_refused | dtypes)
    return found


def _found(wanted: str) -> Target:
    name, separator, version = wanted.partition("==")
    name, version = name.strip(), version.strip()
    if separator and not version:
        raise UnknownTarget(f"{wanted!r} names no version; {name!r} alone means its newest one")
    if name.endswith(".toml"):
        return _of_version(_read_file(Path(name), Path(name).stem), version)
    runtime = _runtime(name)
    if runtime is None and not version and (dashed := re.fullmatch(r"(.+?)[-=@ ]v?(\d[\d.]*)", name)):
        name, version = dashed.groups()
        runtime = _runtime(name)
    if runtime is None:
        known = {one.lower(): runtime for one, runtime in catalogue().items()}
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.4)
        hint = (
            f"; did you mean {known[near[0]].name}?"
            if near
            else f"; known: {', '.join(sorted(known))}, or a .toml file"
        )
        raise UnknownTarget(f"there is no target {name!r}{hint}")
    return _of_version(runtime, version)


def _runtime(name: str) -> Runtime | None:
    """The runtime of a name or an alias; only its own description is read where it is a shipped one."""
    name = ALIASES.get(name.lower(), name.lower())
    if name in _shipped_names():
        return _shipped(name)
    return next((runtime for one, runtime in catalogue().items() if one.lower() == name), None)


def files_of(wanted: str) -> list[Path]:
    """The files that `find_target` reads for the path of a file, those that it names included."""
    path = Path(wanted.partition("==")[0].strip())
    if path.suffix != ".toml":
        return []
    found = [path]

    def read_beside(name: str) -> str:
        found.append(path.parent / name)
        return found[-1].read_text(encoding="utf-8")

    with contextlib.suppress(ModelFileError, TargetFileError, OSError, ValueError):
        check_regular(path)
        read_runtime(path.stem, path.read_text(encoding="utf-8"), read_beside)
    return found


def _of_version(runtime: Runtime, version: str) -> Target:
    if version and not re.search(r"\d", version):
        raise UnknownTarget(f"{version!r} is not a version of {runtime.title}; known versions: {_shown(runtime)}")
    found = runtime.find(version)
    if found is None:
        raise UnknownTarget(f"there is no data for {runtime.title} {version}; known versions: {_shown(runtime)}")
    if version and not is_part_of(version, found.version):
        is_other = version_key(version)[0] != version_key(found.version)[0]
        major = ", another major version," if is_other else ""
        note = f"{runtime.title} {version} is not listed; the data of {found.version}{major} was used instead"
        return replace(found, note=note, is_measured=False)
    if not found.is_measured:
        like = f"it is assumed to match {found.like}" if found.like else "its data comes from the documentation"
        return replace(found, note=f"{runtime.title} {found.version} was not measured; {like}")
    return found


def _shown(runtime: Runtime) -> str:
    return ", ".join(runtime.versions)


def _read_file(path: Path, name: str) -> Runtime:
    try:
        text = read_file(path, _MOST_BYTES).decode("utf-8")
    except ModelFileError as error:
        raise TargetFileError(f"target {name}: {error}") from error
    except UnicodeDecodeError as error:
        raise TargetFileError(f"target {name}: {path}: this is not text in UTF-8") from error
    return read_runtime(name, text, lambda beside: read_file(path.parent / beside, _MOST_BYTES).decode("utf-8"))


def _releases_of_onnx() -> Runtime:
    """What each release of onnx defined: a target for whatever is only known to follow one.

    The first is 1.2, before which versions of operators meant little.
    """
    source = "onnx.helper.VERSION_TABLE of the installed onnx"
    targets: dict[str, Target] = {}
    for row in VERSION_TABLE:
        release, ir_version, opset, ml_opset = str(row[0]), int(row[1]), int(row[2]), int(row[3])
        version = ".".join(release.split(".")[:2])
        if opset >= 7:
            targets[version] = Target(
                name="onnx",
                version=version,
                title="ONNX",
                opsets={AI_ONNX: Range(1, opset), AI_ONNX_ML: Range(1, ml_opset)},
                ir_versions=Range(OLDEST_IR_VERSION, ir_version),
                dtypes_refused=frozenset(),
                operators_lacking=frozenset(),
                has_functions=ir_version >= 8,
                takes_open_dimensions=True,
                constant_inputs=frozenset(),
                quirks=(),
                sources={"opset": source, "ml_opset": source, "ir": source},
                is_measured=True,
            )
    return Runtime("onnx", "ONNX", list(targets.values()))
