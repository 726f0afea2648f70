"""Reads the files that describe runtimes, and rejects what they may not say.

    title = "Some Runtime"

    [sources]
    docs = "where the facts are from: an address, or how they were measured"

    [[release]]
    versions = ["1.0", "1.1"]
    opset = { min = 7, max = 13, source = "docs" }
    ml_opset = { min = 1, max = 2, source = "docs" }
    ir = { max = 7, source = "docs" }
    dtypes_refused = { names = ["double"], source = "docs" }
    input_dtypes_refused = { names = ["bool"], source = "docs" }
    constant_dtypes_refused = { names = ["bool"], source = "docs" }
    dtypes_read_raw = { names = ["float16"], source = "docs" }
    operators_lacking = { names = ["Loop", "com.microsoft.QGemm"], source = "docs" }
    constant_inputs = { names = ["TopK.K"], source = "docs" }
    functions = { are_taken = false, source = "docs" }
    open_dimensions = { are_taken = false, source = "docs" }
    false_shapes = { are_taken = false, source = "docs" }
    unnamed_dimensions = { are_taken = false, source = "docs" }
    undeclared_shapes = { are_taken = false, source = "docs" }
    undeclared_outputs = { are_taken = false, source = "docs" }
    unread_inputs = { are_taken = false, source = "docs" }
    captured_initializers = { are_taken = false, source = "docs" }
    inputs_as_outputs = { are_taken = false, source = "docs" }
    initializers_as_outputs = { are_taken = false, source = "docs" }
    empty_values = { are_taken = false, source = "docs" }
    empty_outputs = { are_taken = false, source = "docs" }
    shared_constants = { as_values = ["Add"], alone = ["MatMul.A"], source = "docs" }
    misread_producers = { names = ["pytorch"], operators = ["AveragePool"], source = "docs" }
    computed_constants = { are_taken = false, source = "docs" }
    absent_last_inputs = { are_taken = false, source = "docs" }
    default_inputs = { are_constants = true, source = "docs" }

    [kernels]
    file = "kernels.toml"
    forms = "forms.toml"
    versions = ["1.0"]
    source = "docs"

    [[form]]
    operator = "AveragePool"
    attributes = { ceil_mode = 1 }
    text = "rounds the number of windows down"
    versions = ["1.0"]
    source = "docs"

    [[quirk]]
    text = "A known limitation that refuses nothing."
    versions = ["1.0"]
    source = "docs"

`kernels` names a file beside this one, which says which operators it computes in which dtypes (kernel_file.py), and the
versions that were measured, or has it all in a table `operators`; `forms` names one with more entries `form`. `form` is
a way to write nodes of an `operator`, or of each of `operators`, that it does not take, or takes for something else:
beside `domain` and `opsets` (min and max) it states keys, as `attributes` above, of which form_keys/ declares each
once; the page docs/form_keys.md lists them. The node is written so where all hold. Inputs of operators that onnx does
not define are named by their places, from "0" on. `text` ends a sentence that begins with the runtime.
`input_dtypes_refused` and `constant_dtypes_refused` name dtypes in which it computes, but which it takes neither as
inputs of a model nor as constants, and `output_dtypes_refused` those of which it gives no outputs of a model (with
`only_as`, under these other names of the runtime alone); `dtypes_read_raw` names those of which it reads constants as
raw data alone. `absent_last_inputs` says whether nodes may end with inputs whose names are empty, which mean the same
as none; `undeclared_shapes` whether values may have no declared shape; `inputs_as_outputs` and
`initializers_as_outputs` whether outputs of the model may be what no node computes; `repeated_outputs` whether one may
be there twice; `outputs_beside_others` whether they may be what a node with several outputs computes, without another
name; `outputs_lost_where_read` names operators whose outputs it loses where they are outputs of the model and nodes
read them, too, unless through the operator `kept_by` (Max by default, or Identity where that is enough);
`undeclared_outputs` whether outputs may have no declared shape; `inputs_as_channels` how long (`most`) the last of
three axes of an input of the model may be to be taken for the channels of a matrix; `misread_names` how names of values
end (`endings`) by which it looks for others that do not exist; `unread_inputs` whether inputs of the model may be read
by no node; `empty_values` whether inputs of the model that are read, and what nodes compute, may have a size of 0, and
`empty_outputs` whether its outputs may; `default_inputs` whether inputs of the model that are initializers, too, are
constants. `shared_constants` names operators, inputs as MatMul.A, or operators with what computes another input, as
"Add after MatMul", after which other nodes no longer find a constant: what those in `as_values` have read is taken for
computed from then on, which no input takes that needs a constant; what those in `alone` have read is lost for all
others, and so it is after those in `alone_as_vectors` where only one axis of the constant is longer than 1. All other
nodes may share constants. Copies are written where they are needed.

`contributed` names the operators of a domain beside ONNX's own by the release that has them first, in `since`; "never"
stands for none. "QuantizeLinear of int16" is the operator on values of that dtype alone. `signatures` names a file
beside this one, with the attributes and numbers of inputs that a release does not know (signature_file.py).

`misread_producers` names producers in whose models the runtime computes some operators otherwise: models with one of
these operators are written without such a name.

`versions` is required of a release, all else can be left out where nothing is known. What a release says holds for each
of its versions. Runtimes whose newest opset is older than functions (which came with opset 15) have none,
unless the file says otherwise.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from onnx.defs import OpSchema

from opsetlift.model.files import ModelFileError
from opsetlift.model.ir_version import FIRST_WITH_FUNCTIONS, OLDEST_IR_VERSION, minimum_for_opsets
from opsetlift.specification.dtypes import numpy_dtype, tensor_type
from opsetlift.specification.history import (
    AI_ONNX,
    AI_ONNX_ML,
    CONVERTED_DOMAINS,
    Definition,
    canonical_domain,
    histories,
)
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.text import printable
from opsetlift.targets.form_keys import KEYS, Key
from opsetlift.targets.forms import Form
from opsetlift.targets.kernel_file import KernelFile, KernelFileError, parsed
from opsetlift.targets.known_names import UnknownName, check_input, check_operator, check_part
from opsetlift.targets.ranges import Range
from opsetlift.targets.shared_constants import SharedConstants
from opsetlift.targets.signature_file import SignatureFile
from opsetlift.targets.target import Quirk, Runtime, Target, version_key

# Read by hand and not by a library such as msgspec: most of what is checked (sources, operators, dtypes, ranges, files
# beside this one) is beyond types, and each fault has a sentence that names its release or form.
_DOMAIN_OF_KEY = {"opset": AI_ONNX, "ml_opset": AI_ONNX_ML}
_TAKEN_UNLESS_SAID = (
    "open_dimensions",
    "false_shapes",
    "captured_initializers",
    "inputs_as_outputs",
    "initializers_as_outputs",
    "repeated_outputs",
    "outputs_beside_others",
    "empty_values",
    "empty_outputs",
    "unnamed_dimensions",
    "undeclared_shapes",
    "undeclared_outputs",
    "unread_inputs",
)
"""Facts that say whether something is taken: each is the field of a `Target` whose name begins with "takes_"."""

_KEYS_OF_FACT = {
    **{key: {"are_taken", "source"} for key in _TAKEN_UNLESS_SAID},
    "opset": {"min", "max", "source"},
    "ml_opset": {"min", "max", "source"},
    "ir": {"min", "max", "source"},
    "dtypes_refused": {"names", "source"},
    "input_dtypes_refused": {"names", "source"},
    "output_dtypes_refused": {"names", "only_as", "source"},
    "constant_dtypes_refused": {"names", "source"},
    "dtypes_read_raw": {"names", "source"},
    "operators_lacking": {"names", "source"},
    "constant_inputs": {"names", "source"},
    "functions": {"are_taken", "source"},
    "inputs_as_channels": {"most", "source"},
    "misread_names": {"endings", "source"},
    "outputs_lost_where_read": {"names", "kept_by", "source"},
    "shared_constants": {"as_values", "alone", "alone_as_vectors", "source"},
    "misread_producers": {"names", "operators", "source"},
    "computed_constants": {"are_taken", "dtypes", "source"},
    "absent_last_inputs": {"are_taken", "source"},
    "default_inputs": {"are_constants", "source"},
}

_OF_ANY_FORM = frozenset(["operator", "text", "source", "domain", "versions", "opsets"])

_WRITTEN_AS: Mapping[type, tuple[type, str]] = {
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    dict: (dict, "a table"),
    frozenset: (list, "a list of names or numbers"),
    tuple: (list, "a list of names or numbers"),
}
"""By what a key of a form holds: what it is in a file, and what that is called."""

_NEVER = "never"
"""Instead of a release: of operators that none has."""

_NEWER_THAN_THE_OPSET = "functions came with IR version 8, after the newest opset that it takes"


class TargetFileError(OpsetLiftError):
    """A file that does not describe a runtime; the message is one sentence."""


def _no_file_beside(name: str) -> str:
    raise OSError(f"{name} can be read only beside a target file")


def read_runtime(name: str, text: str, read_beside: Callable[[str], str] = _no_file_beside) -> Runtime:
    """The runtime that a file describes; `read_beside` gives the text of one beside it. Raises TargetFileError."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError alone: an integer of more than 4300 digits
        raise TargetFileError(f"target {name}: not valid TOML: {printable(error)}") from error
    reader = _Reader(name, content, read_beside)
    targets = sorted(reader.targets(), key=lambda target: version_key(target.version))
    if not targets:
        raise TargetFileError(f"target {name}: it has no release")
    versions = [target.version for target in targets]
    for version in versions:
        if versions.count(version) > 1:
            raise TargetFileError(f"target {name}: it lists version {version} twice")
    return Runtime(name, reader.title, targets)


class _Reader:
    def __init__(self, name: str, content: Mapping[str, Any], read_beside: Callable[[str], str]) -> None:
        self._name = name
        keys = {"title", "sources", "release", "quirk", "kernels", "form", "contributed", "signatures"}
        self._check_keys("the file", content, keys)
        self.title = self._text("the file", content, "title")
        self._sources = content.get("sources", {})
        self._releases = content.get("release", [])
        self._known_versions = frozenset(str(one) for release in self._releases for one in self._versions(release))
        contributed = content.get("contributed")
        self._contributed = self._read_contributed(contributed)
        self._contributed_source = self._source("contributed", contributed) if contributed else ""
        self._quirks = [self._quirk(entry) for entry in content.get("quirk", [])]
        self._kernels, self._kernel_source = self._read_kernels(content.get("kernels"), read_beside)
        self._signatures, self._signature_source = self._read_signatures(content.get("signatures"), read_beside)
        self._forms = self._forms_of(content.get("form", []))
        self._measured_forms = self._forms_of(self._forms_beside(content.get("kernels"), read_beside))
        self._measured = self._measured_versions(content.get("kernels"))

    def targets(self) -> list[Target]:
        return [
            self._target(str(version), release) for release in self._releases for version in self._versions(release)
        ]

    def _versions(self, release: Any) -> list[Any]:
        versions = release.get("versions") if isinstance(release, dict) else None
        if not isinstance(versions, list) or not versions or not all(re.search(r"\d", str(one)) for one in versions):
            raise self._fault("a release has to list its versions")
        return versions

    def _target(self, version: str, release: Mapping[str, Any]) -> Target:
        where = f"release {version}"
        self._check_keys(where, release, {"versions", *_KEYS_OF_FACT})
        for key, fact in release.items():
            if key != "versions":
                self._check_keys(f"{where}, {key}", fact, _KEYS_OF_FACT[key])
                self._source(f"{where}, {key}", fact)
                self._check_flags(f"{where}, {key}", fact)
        like = "" if version in self._measured else self._last_measured_before(version)
        return Target(
            name=self._name,
            version=version,
            title=self.title,
            opsets={
                domain: self._range(f"{where}, {key}", release[key], 1)
                for key, domain in _DOMAIN_OF_KEY.items()
                if key in release
            },
            ir_versions=self._range(f"{where}, ir", release.get("ir", {}), OLDEST_IR_VERSION),
            dtypes_refused=frozenset(map(self._dtype, self._names(release, "dtypes_refused"))),
            input_dtypes_refused=frozenset(map(self._dtype, self._names(release, "input_dtypes_refused"))),
            **self._output_dtypes_refused(release),
            **self._what_is_taken(release),
            operators_lacking=frozenset(
                [
                    *self._operators(release, "operators_lacking"),
                    *(name for name, since in self._contributed.items() if not since or version_key(version) < since),
                ]
            ),
            has_functions=self._has_functions(release),
            misread_endings=self._endings(where, release.get("misread_names", {"endings": []})),
            most_channels=self._most(where, release.get("inputs_as_channels", {"most": 0})),
            dtypes_read_raw=frozenset(map(self._dtype, self._names(release, "dtypes_read_raw"))),
            outputs_lost_where_read=frozenset(self._operators(release, "outputs_lost_where_read")),
            outputs_kept_by=release.get("outputs_lost_where_read", {}).get("kept_by", "Max"),
            shared_constants=self._shared_constants(release.get("shared_constants")),
            misread_producers=self._misread_producers(release),
            **self._computed_constants(release),
            constant_inputs=frozenset(map(self._input, self._names(release, "constant_inputs"))),
            quirks=tuple(one for one in self._quirks if not one.versions or version in one.versions),
            sources=self._all_sources(release),
            kernels=self._kernels.at(like or version) if self._kernels else {},
            forms=tuple(self._forms_at(version, like, where, release)),
            signatures=self._signatures.at(like or version) if self._signatures else {},
            is_measured=version in self._measured,
            like=like,
        )

    def _what_is_taken(self, release: Mapping[str, Any]) -> dict[str, Any]:
        return {f"takes_{key}": bool(release.get(key, {}).get("are_taken", True)) for key in _TAKEN_UNLESS_SAID}

    def _output_dtypes_refused(self, release: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the runtime under each of its names, or under some of its other names alone."""
        dtypes = frozenset(map(self._dtype, self._names(release, "output_dtypes_refused")))
        only_as = self._names(release, "output_dtypes_refused", "only_as")
        if only_as:
            return {"output_dtypes_refused_as": dict.fromkeys(only_as, dtypes)}
        return {"output_dtypes_refused": dtypes}

    def _computed_constants(self, release: Mapping[str, Any]) -> dict[str, Any]:
        """Whether it takes nodes that compute from constants alone: none, or none of some dtypes."""
        dtypes = frozenset(map(self._dtype, self._names(release, "computed_constants", "dtypes")))
        are_taken = bool(release.get("computed_constants", {}).get("are_taken", True))
        return {"computes_constants": are_taken or bool(dtypes), "constant_dtypes_not_computed": dtypes}

    def _forms_at(self, version: str, like: str, where: str, release: Mapping[str, Any]) -> Iterator[Form]:
        """The forms that a version does not take; `like` is the measured one whose forms it is taken to have."""
        found = (
            *(one for one in self._forms if not one.versions or version in one.versions),
            *(one for one in self._measured_forms if not one.versions or (like or version) in one.versions),
            *self._forms_of_absent_inputs(where, release),
            *self._forms_of_constants(where, release),
        )
        if not release.get("default_inputs", {}).get("are_constants", False):
            return iter(found)
        return (replace(one, takes_defaults_for_constants=True) for one in found)

    def _misread_producers(self, release: Mapping[str, Any]) -> dict[str, frozenset[str]]:
        operators = frozenset(self._operators(release, "misread_producers", "operators"))
        return dict.fromkeys(self._names(release, "misread_producers"), operators)

    def _shared_constants(self, fact: Any) -> SharedConstants | None:
        if fact is None:
            return None
        places = {key: value for key, value in fact.items() if key != "source"}
        for key, names in places.items():
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise self._fault(f"shared_constants: {key} is a list of names")
        if not any(places.values()):
            raise self._fault("shared_constants names no place where a constant is lost")
        for spelt in (one for names in places.values() for place in names for one in place.split(" after ")):
            operator, _, formal = spelt.partition(".")
            with self._naming("shared_constants"):
                check_input(operator, formal) if formal else check_operator(operator)
        return SharedConstants(**{key: frozenset(names) for key, names in places.items()})

    def _forms_of_absent_inputs(self, where: str, release: Mapping[str, Any]) -> list[Form]:
        """A form for each operator that may have inputs without a name, where the runtime fails on these."""
        fact = release.get("absent_last_inputs", {"are_taken": True})
        if fact.get("are_taken", True):
            return []
        source = self._source(f"{where}, absent_last_inputs", fact)
        return [
            Form(name, "fails on a last input without a name", source, keys={"ends_with_absent_input": True})
            for (domain, name), operator in histories().items()
            if domain == AI_ONNX and any(map(_has_optional_inputs, operator.definitions.values()))
        ]

    def _forms_of_constants(self, where: str, release: Mapping[str, Any]) -> list[Form]:
        """A form for each operator that may read constants of dtypes of which the runtime has none."""
        names = frozenset(map(self._dtype, self._names(release, "constant_dtypes_refused")))
        if not names:
            return []
        source = self._source(f"{where}, constant_dtypes_refused", release["constant_dtypes_refused"])
        text = f"reads no constants of {' or '.join(sorted(names))}"
        return [
            Form(name, text, source, keys={"stored_dtypes": names})
            for (domain, name), operator in histories().items()
            if domain == AI_ONNX and any(_may_read(one, names) for one in operator.definitions.values())
        ]

    def _read_kernels(self, fact: Any, read_beside: Callable[[str], str]) -> tuple[KernelFile | None, str]:
        if fact is None:
            return None, ""
        self._check_keys("kernels", fact, {"file", "forms", "operators", "versions", "source"})
        name = "operators" if "operators" in fact else self._text("kernels", fact, "file")
        try:
            content = fact[name] if "operators" in fact else read_beside(name)
            return KernelFile(content), self._source("kernels", fact)
        except ModelFileError as error:
            raise self._fault(f"kernels: {error}") from error
        except (OSError, UnicodeDecodeError, KernelFileError) as error:
            raise self._fault(f"kernels: {name}: {error}") from error

    def _read_signatures(self, fact: Any, read_beside: Callable[[str], str]) -> tuple[SignatureFile | None, str]:
        if fact is None:
            return None, ""
        self._check_keys("signatures", fact, {"file", "source"})
        name = self._text("signatures", fact, "file")
        try:
            return SignatureFile(read_beside(name)), self._source("signatures", fact)
        except ModelFileError as error:
            raise self._fault(f"signatures: {error}") from error
        except (OSError, UnicodeDecodeError, KernelFileError) as error:
            raise self._fault(f"signatures: {name}: {error}") from error

    def _forms_beside(self, fact: Any, read_beside: Callable[[str], str]) -> list[Any]:
        """The forms in the file that `kernels` names for them."""
        if fact is None or "forms" not in fact:
            return []
        name = self._text("kernels", fact, "forms")
        try:
            content = parsed(read_beside(name))
        except ModelFileError as error:
            raise self._fault(f"kernels: {error}") from error
        except (OSError, UnicodeDecodeError, KernelFileError) as error:
            raise self._fault(f"kernels: {name}: {error}") from error
        self._check_keys(name, content, {"form"})
        return list(content.get("form", []))

    def _measured_versions(self, fact: Any) -> frozenset[str]:
        """The versions whose kernels were measured."""
        versions = (fact or {}).get("versions", [])
        if not isinstance(versions, list):
            raise self._fault("kernels: versions is a list of versions")
        return frozenset(self._listed("kernels", versions))

    def _last_measured_before(self, version: str) -> str:
        earlier = [one for one in self._measured if version_key(one) < version_key(version)]
        return max(earlier, key=version_key, default="")

    def _has_functions(self, release: Mapping[str, Any]) -> bool:
        """What the file says; else not where all the opsets that the runtime takes are older than functions are."""
        last = release.get("opset", {}).get("max")
        is_older = isinstance(last, int) and minimum_for_opsets({AI_ONNX: last}) < FIRST_WITH_FUNCTIONS
        return bool(release.get("functions", {}).get("are_taken", not is_older))

    def _all_sources(self, release: Mapping[str, Any]) -> dict[str, str]:
        sources = {key: self._source(key, fact) for key, fact in release.items() if key != "versions"}
        if self._contributed_source:
            both = filter(None, (sources.get("operators_lacking"), self._contributed_source))
            sources["operators_lacking"] = "; ".join(both)
        if "functions" not in release and not self._has_functions(release):
            sources["functions"] = _NEWER_THAN_THE_OPSET
        if self._kernels:
            sources["kernels"] = self._kernel_source
        if self._signatures:
            sources["signatures"] = self._signature_source
        return sources

    def _quirk(self, entry: Mapping[str, Any]) -> Quirk:
        self._check_keys("a quirk", entry, {"text", "versions", "source"})
        text = self._text("a quirk", entry, "text")
        where = f"quirk {text!r}"
        versions = self._of_kind(where, "versions", entry.get("versions", []), tuple)
        return Quirk(text, self._source(where, entry), self._listed(where, versions))

    def _forms_of(self, entries: Iterable[Mapping[str, Any]]) -> list[Form]:
        """The forms of a file; an entry that names several operators stands for one of each."""
        return [self._form(one) for entry in entries for one in self._for_each_operator(entry)]

    def _for_each_operator(self, entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if not isinstance(entry, dict) or "operators" not in entry:
            yield entry
            return
        rest = {key: value for key, value in entry.items() if key != "operators"}
        names = entry["operators"]
        if "operator" in entry or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._fault("a form has an operator, or operators, which are a list of names")
        yield from ({**rest, "operator": name} for name in names)

    def _form(self, entry: Mapping[str, Any]) -> Form:
        self._check_keys("a form", entry, _OF_ANY_FORM | KEYS.keys())
        operator = self._text("a form", entry, "operator")
        where, domain = f"form of {operator}", entry.get("domain", AI_ONNX)
        if not isinstance(domain, str):
            raise self._fault(f"{where}: domain is a text")
        with self._naming("form"):
            check_operator(f"{domain}.{operator}")
        keys = {name: self._form_value(where, KEYS[name], value) for name, value in entry.items() if name in KEYS}
        with self._naming(where):
            keys = {name: _checked(domain, operator, value) for name, value in keys.items()}
        return Form(
            operator=operator,
            text=self._text(where, entry, "text"),
            source=self._source(where, entry),
            domain=canonical_domain(domain),
            versions=self._listed(where, self._of_kind(where, "versions", entry.get("versions", []), tuple)),
            opsets=self._range(where, entry.get("opsets", {}), 1),
            keys=keys,
        )

    def _form_value(self, where: str, key: Key, value: Any) -> Any:
        found = self._of_kind(where, key.name, value, key.kind)
        if key.each is None:
            return found
        if not all(isinstance(one, list) for one in found.values()):
            raise self._fault(f"{where}: {key.name} gives a list for each name")
        try:
            return {name: key.each(listed) for name, listed in found.items()}
        except ValueError as error:
            raise self._fault(f"{where}: {key.name}: {error}") from error

    def _of_kind(self, where: str, name: str, value: Any, kind: type) -> Any:
        written, wanted = _WRITTEN_AS[kind]
        if type(value) is not written or (
            isinstance(value, list) and any(isinstance(one, list | dict) for one in value)
        ):
            raise self._fault(f"{where}: {name} is {wanted}")
        return kind(value)

    def _endings(self, where: str, fact: Mapping[str, Any]) -> tuple[str, ...]:
        endings = fact.get("endings")
        if not isinstance(endings, list) or not all(isinstance(one, str) and one for one in endings):
            raise self._fault(f"{where}, misread_names: endings is a list of texts")
        return tuple(endings)

    def _most(self, where: str, fact: Mapping[str, Any]) -> int:
        most = fact.get("most")
        if type(most) is not int or most < 0:
            raise self._fault(f"{where}, inputs_as_channels: most is a whole number")
        return most

    def _range(self, where: str, fact: Mapping[str, Any], first: int) -> Range:
        found = Range(fact.get("min", first), fact.get("max"))
        if type(found.first) is not int or type(found.last) not in (int, type(None)):
            raise self._fault(f"{where}: min and max must be integers")
        if found.first < first or (found.last is not None and found.last < found.first):
            raise self._fault(f"{where}: {found.first} to {found.last} is not a range that starts at {first} or later")
        return found

    def _read_contributed(self, table: Mapping[str, Any] | None) -> dict[str, tuple[int, ...] | None]:
        """The operators of a domain beside ONNX's own, each with the release that has it first; None where none has."""
        if table is None:
            return {}
        where = "contributed"
        self._check_keys(where, table, {"domain", "source", "since"})
        domain, since = self._text(where, table, "domain"), table.get("since")
        if domain in CONVERTED_DOMAINS or not isinstance(since, Mapping):
            raise self._fault(f"{where} names a domain beside ONNX's own, and in since its operators by release")
        found: dict[str, tuple[int, ...] | None] = {}
        for version in since:
            if version != _NEVER and not re.search(r"\d", version):
                raise self._fault(f"{where}: {version!r} is neither a release nor {_NEVER!r}")
            for name in self._names({"since": {"names": since[version]}}, "since"):
                found[f"{domain}.{name}"] = None if version == _NEVER else version_key(version)
        return found

    def _names(self, release: Mapping[str, Any], key: str, within: str = "names") -> list[str]:
        names = release.get(key, {}).get(within, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._fault(f"{key}: {within} is a list of names")
        return names

    def _operators(self, release: Mapping[str, Any], key: str, within: str = "names") -> list[str]:
        names = self._names(release, key, within)
        with self._naming(key):
            for name in names:
                check_operator(name)
        return names

    def _listed(self, where: str, versions: Iterable[Any]) -> tuple[str, ...]:
        """Versions, each of which is one of a release in the file."""
        found = tuple(map(str, versions))
        for version in found:
            if version not in self._known_versions:
                raise self._fault(f"{where}: no release of the file has the version {version!r}")
        return found

    def _input(self, name: str) -> tuple[str, str]:
        operator, separator, formal = name.partition(".")
        if not separator or not operator or not formal:
            raise self._fault(f"{name!r} is not an input; write it as TopK.K")
        with self._naming("constant_inputs"):
            check_input(operator, formal)
        return operator, formal

    def _dtype(self, name: str) -> str:
        try:
            numpy_dtype(name)
        except ValueError as error:
            raise self._fault(f"{name!r} is not a dtype") from error
        return name

    def _source(self, where: str, fact: Mapping[str, Any]) -> str:
        key = self._text(where, fact, "source")
        if key not in self._sources:
            raise self._fault(f"{where}: its source {key!r} is not among the sources")
        return str(self._sources[key])

    def _text(self, where: str, table: Mapping[str, Any], key: str) -> str:
        if not isinstance(table.get(key), str) or not table[key]:
            raise self._fault(f"{where} has no {key}")
        return str(table[key])

    def _check_keys(self, where: str, table: Any, known: Collection[str]) -> None:
        if not isinstance(table, dict):
            raise self._fault(f"{where} is not a table")
        for key in table.keys() - set(known):
            raise self._fault(f"{where} has an unknown key {key!r}; the allowed keys are {', '.join(sorted(known))}")

    def _check_flags(self, where: str, fact: Mapping[str, Any]) -> None:
        for key in ("are_taken", "are_constants"):
            if type(fact.get(key, True)) is not bool:
                raise self._fault(f"{where}: {key} is true or false")

    @contextmanager
    def _naming(self, where: str) -> Iterator[None]:
        """Raises TargetFileError for a name that ONNX does not have, with the place where it is used."""
        try:
            yield
        except UnknownName as error:
            raise self._fault(f"{where}: {error}") from error

    def _fault(self, sentence: str) -> TargetFileError:
        return TargetFileError(f"target {self._name}: {sentence}")


def _checked(domain: str, operator: str, value: Any) -> Any:
    """The value of a form's key; operators of domains beside ONNX's go without these. Raises UnknownName."""
    if isinstance(value, dict):
        for name in value:
            check_part(domain, operator, name)
    if not isinstance(value, frozenset | tuple):
        return value
    for name in (part for one in value if isinstance(one, str) for part in one.split("|")):
        check_operator(name) if "." in name else check_part(domain, operator, name)
    return type(value)(one.rpartition(".")[2] if isinstance(one, str) else one for one in value)


def _has_optional_inputs(definition: Definition) -> bool:
    return any(one.option == OpSchema.FormalParameterOption.Optional for one in definition.schema.inputs)


def _may_read(definition: Definition, dtypes: frozenset[str]) -> bool:
    allowed = {one for formal in definition.schema.inputs for one in formal.types}
    return any(tensor_type(dtype) in allowed for dtype in dtypes)
