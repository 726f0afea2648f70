"""Writes a profile as a target file, which `--for` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opsetlift.measuring.features import Feature, as_form
from opsetlift.measuring.learning import FEWEST_WRONG, Pattern
from opsetlift.measuring.profile import (
    OPEN_DIMENSIONS,
    OUTPUTS_LOST_WHERE_READ,
    PROBES,
    Key,
    Profile,
)
from opsetlift.specification.contributed import DOMAIN as CONTRIBUTED
from opsetlift.specification.history import AI_ONNX, history

SOURCE = "measured"


def as_toml(profile: Profile, name: str, version: str) -> str:
    """The text of a target file with one release."""
    return "\n".join(
        [
            f"title = {json.dumps(name)}",
            "",
            "[sources]",
            f'{SOURCE} = "opsetlift measure: {profile.right} of {profile.tried} small models computed as specified"',
            "",
            *_release(profile, version),
            *_contributed(profile),
            "[kernels]",
            f"versions = [{json.dumps(version)}]",
            f'source = "{SOURCE}"',
            "",
            "[kernels.operators]",
            *(f"{quoted(spelt(key))} = {json.dumps(grids_as_text(grids))}" for key, grids in within(profile)),
            *(line for form in forms_of(profile) for line in form_lines(form)),
            *_quirk_of_the_untold(profile),
            "",
        ]
    )


def _quirk_of_the_untold(profile: Profile) -> Iterator[str]:
    many = [key for key, _ in within(profile) if profile.untold.get(key, 0) >= FEWEST_WRONG]
    names = sorted({spelt(key).rpartition("-")[0] for key in many})
    if names:
        yield ""
        yield "[[quirk]]"
        text = "Some small models of these operators fail, and no pattern tells which; compare what they compute: "
        yield f"text = {json.dumps(text + ', '.join(names) + '.')}"
        yield f'source = "{SOURCE}"'


def _release(profile: Profile, version: str) -> Iterator[str]:
    yield "[[release]]"
    yield f"versions = [{json.dumps(version)}]"
    for key, found in (("opset", profile.opset), ("ml_opset", profile.ml_opset), ("ir", profile.ir_versions)):
        if found is not None:
            last = "" if found.last is None else f", max = {found.last}"
            yield f'{key} = {{ min = {found.first}{last}, source = "{SOURCE}" }}'
    if profile.inputs_refused:
        yield f'input_dtypes_refused = {{ names = {json.dumps(profile.inputs_refused)}, source = "{SOURCE}" }}'
    for key in PROBES:
        if not profile.takes.get(key, True):
            yield f'{key} = {{ are_taken = false, source = "{SOURCE}" }}'
    if not profile.takes.get(OUTPUTS_LOST_WHERE_READ, True):
        yield f'{OUTPUTS_LOST_WHERE_READ} = {{ names = ["DequantizeLinear"], source = "{SOURCE}" }}'
    yield ""


def _contributed(profile: Profile) -> Iterator[str]:
    if profile.contributed_lacking:
        yield "[contributed]"
        yield f"domain = {json.dumps(CONTRIBUTED)}"
        yield f'source = "{SOURCE}"'
        yield f"since = {{ never = {json.dumps(sorted(profile.contributed_lacking))} }}"
        yield ""


def within(profile: Profile) -> Iterator[tuple[Key, list[dict[str, list[str]]]]]:
    """The kernels of the opsets that the profile says the runtime takes."""
    for key, grids in sorted(profile.kernels.items()):
        taken = profile.opset if key[0] == AI_ONNX else profile.ml_opset
        if taken is not None and key[2] <= (taken.last or key[2]):
            yield key, grids


def spelt(key: Key) -> str:
    """As target files name an operator version: "ai.onnx.ml.LabelEncoder-2"."""
    domain, operator, since = key
    return f"{domain}.{operator}-{since}".lstrip(".")


def quoted(key: str) -> str:
    """A key of TOML, in quotes where it has dots."""
    return json.dumps(key) if "." in key else key


def grids_as_text(grids: Sequence[Mapping[str, Sequence[str]]]) -> list[str]:
    """Grids of dtypes as target files spell them."""
    return ["; ".join(f"{name}: {' '.join(dtypes)}" for name, dtypes in grid.items()) or "any" for grid in grids]


def forms_of(profile: Profile) -> list[dict[str, Any]]:
    """The patterns as forms; those that adjacent versions of an operator share are one.

    Where the runtime takes no open sizes at all, it is not said again of each operator.
    """
    found: list[dict[str, Any]] = []
    kept = {key for key, _ in within(profile)}
    takes_open = profile.takes.get(OPEN_DIMENSIONS, True)
    for key, patterns in sorted(profile.patterns.items()):
        for pattern in patterns if key in kept else ():
            if takes_open or not any(feature.key == "open_inputs" for feature in pattern.features):
                _add_form(found, key, pattern)
    return found


def _add_form(found: list[dict[str, Any]], key: Key, pattern: Pattern) -> None:
    domain, operator, since = key
    first, last = opsets_of(key)
    form = {"operator": operator, **({"domain": domain} if domain else {}), **as_form(pattern.features)}
    form["text"] = _sentence(operator, pattern)
    first = max(first, form.get("opsets", {}).get("min", 0))
    for other in found if first == since else ():
        same = {name: value for name, value in other.items() if name != "opsets"} == form
        if same and other["opsets"].get("max") == since - 1:
            other["opsets"] = {**other["opsets"], "max": last}
            if last is None:
                del other["opsets"]["max"]
            return
    form["opsets"] = {"min": first, **({} if last is None else {"max": last})}
    found.append(form)


def opsets_of(key: Key) -> tuple[int, int | None]:
    """The opsets at which a version of an operator is in force; None where it is the newest."""
    domain, operator, since = key
    known = history(domain, operator)
    assert known is not None
    later = [one for one in known.since_versions if one > since]
    return since, later[0] - 1 if later else None


_WORDS = {
    "attributes": "{name} = {value}",
    "given": "the attribute {name}",
    "absent": "no attribute {name}",
    "negative": "negative numbers in {name}",
    "uneven": "{name} that differ at the two ends",
    "at_least": "{name} as long as {value}",
    "zeros": "a 0 in {name}",
    "is_dilated": "dilations above 1",
    "has_late_windows": "a window that starts in the end pads",
    "has_inputs": "the input {name}",
    "lacks_inputs": "no input {name}",
    "known_inputs": "a constant {name}",
    "computed_inputs": "a computed {name}",
    "open_inputs": "open sizes of {name}",
    "ranked_inputs": "a {name} of known rank",
    "empty_inputs": "a size of 0 in {name}",
    "ranks": "a {name} of rank {value}",
    "dtypes": "{name} = {value}",
    "outputs": "{value} outputs",
    "input_counts": "{value} inputs",
    "after": "the result of a {value}",
    "opsets": "opset {value} or later",
}


def _sentence(operator: str, pattern: Pattern) -> str:
    """What the runtime does with such nodes, as the end of a sentence that begins with the runtime."""
    verb = "computes other values for" if pattern.is_wrong else "does not run"
    return f"{verb} {operator} with {' and '.join(_words(one) for one in ordered(pattern.features))}"


def _words(feature: Feature) -> str:
    return _WORDS[feature.key].format(name=feature.name, value=feature.value)


def ordered(features: frozenset[Feature]) -> list[Feature]:
    """Features in one order, whatever order they were found in."""
    return sorted(features, key=lambda one: (one.key, one.name, str(one.value)))


def form_lines(form: Mapping[str, Any]) -> Iterator[str]:
    """A form as an entry of a target file."""
    yield ""
    yield "[[form]]"
    for name, value in form.items():
        yield f"{name} = {_value(value)}"
    if "source" not in form:
        yield f'source = "{SOURCE}"'


def _value(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{quoted_if_needed(name)} = {_value(one)}" for name, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)


def quoted_if_needed(name: str) -> str:
    """A bare key of TOML where it may be one."""
    return name if name.replace("_", "").replace("-", "").isalnum() else json.dumps(name)
