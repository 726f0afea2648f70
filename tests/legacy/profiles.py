"""Merges target files that `opsetlift measure` wrote, one for each release, into the files of a shipped runtime.

    python -m tests.legacy.profiles onnxruntime 1.10.toml 1.1.toml ...

replaces what converter/opsetlift/targets/kernels/onnxruntime.toml and forms/onnxruntime.toml say of these releases, and
prints the entries `[[release]]` for onnxruntime.toml. What they say of other releases stays.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opsetlift.measuring.writing import form_lines, quoted
from opsetlift.targets import catalogue
from opsetlift.targets.target import version_key

TARGETS = Path(__file__).parents[2] / "converter" / "opsetlift" / "targets"

Kernels = dict[str, dict[str, list[str]]]
"""By operator version, the grids from a release on until the next that is named."""


def merged_kernels(known: Kernels, profiles: Mapping[str, Mapping[str, Any]], releases: Sequence[str]) -> Kernels:
    """What all releases have, those of the profiles as they were measured."""
    measured = {version: one["kernels"]["operators"] for version, one in profiles.items()}
    found: Kernels = {}
    for operator in sorted({*known, *(name for one in measured.values() for name in one)}, key=_order):
        entries: dict[str, list[str]] = {}
        before: list[str] | None = None
        # Entries hold until the next, so what one of a profile's own release says counts for those that follow.
        others = known.get(operator)
        for release in sorted(releases, key=version_key):
            # An operator version of which a profile says nothing was not tried there.
            now = measured.get(release, {}).get(operator)
            now = _in_order(_at(others, release) if now is None else now)
            if now != before:
                entries[release] = now
            before = now
        if entries:
            found[operator] = entries
    return found


def _at(entries: Mapping[str, list[str]] | None, release: str) -> list[str]:
    if entries is None:
        return ["any"]
    named = [one for one in entries if version_key(one) <= version_key(release)]
    return entries[max(named, key=version_key)] if named else []


def _in_order(grids: list[str]) -> list[str]:
    """The same grids with the dtypes of each variable in one order, so that equal ones look equal."""
    return ["; ".join(_sorted_part(part) for part in grid.split("; ")) for grid in grids]


def _sorted_part(part: str) -> str:
    variable, colon, dtypes = part.partition(": ")
    return f"{variable}: {' '.join(sorted(dtypes.split()))}" if colon else part


def _order(operator: str) -> tuple[str, int]:
    name, _, since = operator.rpartition("-")
    return name, int(since)


def merged_forms(known: Sequence[dict[str, Any]], profiles: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The forms of all releases; those that several have are one."""
    found: list[dict[str, Any]] = []
    for one in known:
        kept = [version for version in one["versions"] if version not in profiles]
        if kept:
            found.append({name: value for name, value in {**one, "versions": kept}.items() if name != "source"})
    for version, profile in sorted(profiles.items(), key=lambda item: version_key(item[0])):
        for form in profile.get("form", []):
            plain = {name: value for name, value in form.items() if name != "source"}
            same = next((one for one in found if {**one, "versions": None} == {**plain, "versions": None}), None)
            if same is None:
                found.append({**plain, "versions": [version]})
            else:
                same["versions"] = sorted({*same["versions"], version}, key=version_key)
    return sorted(found, key=lambda one: (one.get("domain", ""), one["operator"], one["text"]))


def kernel_text(kernels: Kernels, head: str) -> str:
    """A kernel file."""
    lines = [head.rstrip(), ""]
    for operator, entries in kernels.items():
        lines += [
            f"[{quoted(operator)}]",
            *(f"{json.dumps(one)} = {json.dumps(grids)}" for one, grids in entries.items()),
        ]
        lines.append("")
    return "\n".join(lines)


def form_text(forms: Sequence[Mapping[str, Any]], head: str) -> str:
    """A file of forms."""
    lines = [head.rstrip()]
    for one in forms:
        lines += form_lines({**one, "source": "measured"})
    return "\n".join(lines) + "\n"


def release_text(version: str, release: Mapping[str, Any]) -> str:
    """A release for the runtime's own file."""
    facts = {name: value for name, value in release.items() if name != "versions"}
    shown = [
        f"{name} = {{ {', '.join(f'{key} = {json.dumps(one)}' for key, one in value.items())} }}"
        for name, value in facts.items()
    ]
    return "\n".join(["[[release]]", f'versions = ["{version}"]', *shown, ""])


def _head(text: str) -> str:
    """The comment at the top of a file."""
    return "\n".join(line for line in text.split("\n\n")[0].splitlines() if line.startswith("#"))


def _tried(runtime: str) -> set[str]:
    """The releases that were tried before, and the oldest one: entries hold until the next, so others have none."""
    content = tomllib.loads((TARGETS / f"{runtime}.toml").read_text(encoding="utf-8"))
    return {min(catalogue()[runtime].versions, key=version_key), *content.get("kernels", {}).get("versions", [])}


def main() -> None:
    """Merge the files that the command line names."""
    runtime, *paths = sys.argv[1:]
    profiles = {}
    for path in map(Path, paths):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        version = content["release"][0]["versions"][0]
        profiles[".".join(version.split(".")[:2])] = content
    releases = _tried(runtime) | profiles.keys()
    kernels, forms = TARGETS / "kernels" / f"{runtime}.toml", TARGETS / "forms" / f"{runtime}.toml"
    text = kernels.read_text(encoding="utf-8") if kernels.exists() else "# Measured by opsetlift measure.\n"
    found = merged_kernels(tomllib.loads(text), profiles, sorted(releases))
    kernels.write_text(kernel_text(found, _head(text)), encoding="utf-8")
    text = forms.read_text(encoding="utf-8") if forms.exists() else "# Measured by opsetlift measure.\n"
    known = tomllib.loads(text).get("form", [])
    forms.write_text(form_text(merged_forms(known, profiles), _head(text)), encoding="utf-8")
    for version, content in profiles.items():
        print(release_text(version, content["release"][0]))


if __name__ == "__main__":
    main()
