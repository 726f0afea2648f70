"""Drafts of what a new step of an operator needs, from the two schemas: rules, tests, and a list of what else to do.

A drafted rule converts what surely means the same and refuses the rest: what the destination version lacks is refused
unless it has its default. Whether the defaults of the newer version are what the older one does, only the text can
tell; the author checks that, and replaces refusals by rewrites.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx.defs import OpSchema

from opsetlift.evaluator import find_kernel
from opsetlift.rulebook.book import OWN_RULES, RuleBook, default_rule_book
from opsetlift.rulebook.explain import explain
from opsetlift.specification.history import Definition, OperatorHistory, Transition, history
from opsetlift.support.errors import OpsetLiftError

_WIDTH = 120
_SCALARS = {OpSchema.AttrType.INT: 1, OpSchema.AttrType.FLOAT: 1.5, OpSchema.AttrType.STRING: "other"}


class UnknownStep(OpsetLiftError, ValueError):
    """No step can be drafted for what was asked; the message is one sentence."""


class NoDraft(Exception):
    """The step needs no rule; the message says why."""


@dataclass(frozen=True)
class _Loss:
    """Something that one version has and the other lacks: the lines of a rule that deal with it, and its test."""

    name: str
    lines: Sequence[str]
    attribute: str = ""
    """An attribute as ONNX text writes it, with a value that the rule refuses; empty where no test can be drafted."""


@dataclass(frozen=True)
class StepDraft:
    """The drafts for one step."""

    domain: str
    operator: str
    older: int
    newer: int
    changes: Sequence[str]
    """What differs between the schemas, a line each."""
    code: Sequence[str]
    """What the table's line refers to: the reason why nodes may stay as they are, and the rules."""
    entry: str
    """The step's line in the table STEPS, without the comma after it."""
    tests: str
    module: str
    """The module of rules that has, or is to have, the step."""
    module_exists: bool
    kernel: str
    """What the evaluator has for the newer version, as a sentence."""

    @property
    def module_path(self) -> str:
        """The file of the module of rules, from the project's folder."""
        return f"rules/{OWN_RULES}/{self.module}.py"

    @property
    def test_path(self) -> str:
        """The file of the rules' tests, from the project's folder."""
        return f"tests/rules/test_{self.module}.py"

    def module_text(self) -> str:
        """A module of rules for an operator that had no step before."""
        names = ["Step", *(["unchanged"] if "=unchanged" in self.entry else [])]
        imports = [f"from opsetlift.rulebook.rule import {', '.join(names)}"]
        of_sites = [name for name in ("Site", "has_attribute", "pop_attribute") if name in " ".join(self.code)]
        if of_sites:
            imports.append(f"from opsetlift.rulebook.site import {', '.join(of_sites)}")
        if any("Why." in one for one in self.code):
            imports.append("from opsetlift.support.refusal import Why")
        history = textwrap.fill(f"{self.operator}  {self.newer}: {' · '.join(self.changes)}", 115)
        summary = f'"""{self.operator} across its versions.\n\n{history}\n"""\n'
        head = f"{summary}\nfrom __future__ import annotations\n\n" + "\n".join(imports)
        is_constant_first = self.code[0].startswith("_")
        body = "\n\n\n".join([*self.code, f"STEPS = [\n    {self.entry},\n]\n"])
        return head + ("\n\n" if is_constant_first else "\n\n\n") + body

    def test_text(self) -> str:
        """A file of tests for a module of rules that had none before."""
        names = ["check_refusal"] if "check_refusal(" in self.tests else []
        why = "from opsetlift.support.refusal import Why\n" if names else ""
        head = f'"""{self.operator} across its versions."""\n\n'
        return f"{head}{why}from testing.conversion import {', '.join([*names, 'check_rewrite'])}\n\n\n{self.tests}"

    def write_new_files(self, project: Path) -> list[str]:
        """Write the module and the file of tests where there are none; files that exist stay as they are.

        Returns:
            The files written, from the project's folder.

        Raises:
            UnknownStep: The folder is not the project's, or a file of the new module's name exists.
        """
        for folder in (Path(self.module_path).parent, Path(self.test_path).parent):
            if not (project / folder).is_dir():
                raise UnknownStep(f"{project / folder} is not a folder; name the project's folder with --project")
        texts = {} if self.module_exists else {self.module_path: self.module_text()}
        if not (project / self.test_path).exists():
            texts[self.test_path] = self.test_text()
        if self.module_path in texts and (project / self.module_path).exists():
            raise UnknownStep(f"{self.module_path} exists and has no step of {self.operator}; nothing was written")
        for path, text in texts.items():
            with (project / path).open("x", encoding="utf-8") as file:
                file.write(text)
        return list(texts)

    def instructions(self, written: Sequence[str]) -> str:
        """What changed, what to paste where, and what else to do, as Markdown.

        Args:
            written: The files that `write_new_files` wrote.
        """
        transition = f"{self.operator} {self.older}→{self.newer}"
        parts = [f"# {transition}", "\n".join(["What the schemas say:", "", *(f"- {one}" for one in self.changes)])]
        if self.module_path in written:
            parts.append(f"Wrote `{self.module_path}`.")
        else:
            parts += [f"Add to `{self.module_path}`:", *map(_block, self.code)]
            parts += ["Add to its table `STEPS`:", _block(self.entry)]
        if self.test_path in written:
            parts.append(f"Wrote `{self.test_path}`.")
        else:
            parts += [f"Add to `{self.test_path}`:", _block(self.tests.rstrip())]
        parts.append("\n".join(["Then:", "", *(f"- {one}" for one in self._remaining())]))
        return "\n\n".join(parts)

    def _remaining(self) -> Iterator[str]:
        yield "Compare the texts of both versions; correct `because=`, and write rewrites in place of refusals."
        yield "Give the inputs in the tests shapes that the operator takes; until then the tests fail."
        yield self.kernel
        yield "Write a new opset into `WRITTEN_FOR` in `converter/opsetlift/specification/history.py`."
        yield "Run `opsetlift coverage --markdown > docs/coverage.md`."
        yield "Run `python -m opsetlift.evaluator.table`, which writes docs/evaluator.md."
        yield f"Add to CHANGELOG.md: `- {self.operator} converts between opsets {self.newer - 1} and {self.newer}.`"


def draft_step(operator: str, older: int, newer: int, *, rule_book: RuleBook | None = None) -> StepDraft:
    """Draft a step of an operator between two adjacent since-versions.

    Args:
        operator: The operator's name, with its domain in front where that is not ai.onnx.
        older: The since-version before the step.
        newer: The since-version after it.
        rule_book: The rules that exist; the installed ones where none are given.

    Raises:
        UnknownOperator: The installed onnx has no such operator.
        UnknownStep: The operator has no such step, or the step is declared.
        NoDraft: The step needs no rule.
    """
    explanation = explain(operator)
    found = history(explanation.domain, explanation.operator)
    assert found is not None
    if (older, newer) not in found.steps():
        versions = ", ".join(map(str, found.since_versions))
        raise UnknownStep(
            f"{operator} has no step {older}→{newer} in onnx {onnx.__version__}; its versions are {versions}"
        )
    book = rule_book or default_rule_book()
    if entry := book.entry(Transition(found.domain, found.operator, older, newer, True)):
        raise UnknownStep(f"{operator} {older}→{newer} is declared in {entry.module}")
    if found.is_types_only(older, newer):
        raise NoDraft(f"{operator} {older}→{newer} changes types only: it needs no rule, and nothing was written.")
    before, after = found.definitions[older], found.definitions[newer]
    ways = {"up": (before, after), "down": (after, before)}
    losses = {way: list(_losses(*pair)) for way, pair in ways.items()}
    snake = _snake_case(found.operator)
    names = {
        way: f"refuse_what_{to.since_version}_lacks" if losses[way] else "unchanged" for way, (_, to) in ways.items()
    }
    changes = next(step.changes for step in explanation.steps if step.newer == newer)
    module = _module_with(found, book)
    return StepDraft(
        domain=found.domain,
        operator=found.operator,
        older=older,
        newer=newer,
        changes=changes,
        code=[
            *([_reason(newer, changes)] if "unchanged" in names.values() else []),
            *(_function(names[way], ways[way][1], losses[way]) for way in ways if losses[way]),
        ],
        entry=_entry(found, older, newer, names),
        tests=_tests(found, after, losses["down"]),
        module=module or snake,
        module_exists=bool(module),
        kernel=_kernel(found, older, newer),
    )


def _snake_case(operator: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operator).lower()


def _block(code: str) -> str:
    return f"```python\n{code}\n```"


def _module_with(found: OperatorHistory, book: RuleBook) -> str:
    """The module of our own that declares steps of an operator; "" where none does."""
    for older, newer in [*found.steps(), (0, found.introduction)]:
        entry = book.entry(Transition(found.domain, found.operator, older, newer, False))
        if entry is not None and entry.module.startswith(f"{OWN_RULES}."):
            return entry.module.rpartition(".")[2]
    return ""


def _text(value: object) -> str:
    """A string as Python and ONNX text both write it, and numbers as Python does."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value).replace("e+", "e")


def _default(attribute: OpSchema.Attribute) -> object:
    """The default of an attribute; None where it has none, or one that a line of code does not hold."""
    if not attribute.default_value.name:
        return None
    value = onnx.helper.get_attribute_value(attribute.default_value)
    value = value.decode() if isinstance(value, bytes) else value
    return value if isinstance(value, int | float | str) else None


def _losses(source: Definition, destination: Definition) -> Iterator[_Loss]:
    """What nodes may have at `source` and not at `destination`, and what they have to have at `destination`."""
    operator, version = destination.schema.name, destination.since_version
    going = f"below opset {source.since_version}" if version < source.since_version else f"from opset {version} on"
    if destination.schema.deprecated and not source.schema.deprecated:
        yield _Loss(operator, _refusal(f"{going} {operator} is deprecated"))
    yield from _lost_attributes(source, destination, going)
    for position, formal in enumerate(destination.schema.inputs[: destination.schema.min_input]):
        if position >= source.schema.min_input:
            yield _Loss(formal.name, _refusal(f"{going} {operator} requires an input {formal.name}"))
    for position, formal in enumerate(source.schema.inputs):
        if position >= destination.schema.max_input:
            sentence = f"{going} {operator} has no input {formal.name}"
            yield _Loss(formal.name, _refusal(sentence, f"any(site.inputs[{position}:])"))
    for position, formal in enumerate(source.schema.outputs):
        if position >= destination.schema.max_output:
            sentence = f"{going} {operator} has no output {formal.name}"
            yield _Loss(
                formal.name, _refusal(sentence, f"len(site.node.output) > {position} and site.is_read({position})")
            )


def _lost_attributes(source: Definition, destination: Definition, going: str) -> Iterator[_Loss]:
    operator, old, new = destination.schema.name, source.schema.attributes, destination.schema.attributes
    for name, attribute in sorted(old.items()):
        default, other = _default(attribute), new.get(name)
        has_it = f'has_attribute(site, "{name}")'
        if other is None and default is not None:
            sentence = f"{going} {operator} has no attribute {name}; only its default converts"
            lines = _refusal(sentence, f'pop_attribute(site, "{name}", {_text(default)}) != {_text(default)}')
            yield _Loss(name, lines, _attribute_text(attribute))
        elif other is None:
            test = "" if attribute.required else has_it
            yield _Loss(name, _refusal(f"{going} {operator} has no attribute {name}", test), _attribute_text(attribute))
        elif other.type != attribute.type:
            yield _Loss(name, _refusal(f"{going} the attribute {name} of {operator} is of another type", has_it))
        elif default is not None and default != _default(other):
            yield _Loss(name, [f"if not {has_it}:", f'    site.set_attribute("{name}", {_text(default)})'])
    for name, attribute in sorted(new.items()):
        if attribute.required and not (name in old and old[name].required):
            test = "" if name not in old else f'not has_attribute(site, "{name}")'
            yield _Loss(name, _refusal(f"{going} {operator} requires an attribute {name}", test))


def _attribute_text(attribute: OpSchema.Attribute) -> str:
    """An attribute in ONNX text, with another value than its default; "" for types whose values cannot be made up."""
    value, default = _SCALARS.get(attribute.type), _default(attribute)
    if isinstance(value, int | float) and isinstance(default, int | float):
        value = 1 - default if default in (0, 1) else default + 1
    return "" if value is None or value == default else f"{attribute.name} = {_text(value)}"


def _refusal(sentence: str, test: str = "") -> list[str]:
    lines = ["site.refuse(", "    Why.NO_EQUIVALENT,", f"    {_text(sentence)},", ")"]
    one_line = f"site.refuse(Why.NO_EQUIVALENT, {_text(sentence)})"
    if len(one_line) <= _WIDTH - 4 * (2 if test else 1):
        lines = [one_line]
    return [f"if {test}:", *(f"    {line}" for line in lines)] if test else lines


def _function(name: str, destination: Definition, losses: Sequence[_Loss]) -> str:
    summary = (
        f'"""Refuse what {destination.schema.name}-{destination.since_version} lacks, unless it has its default."""'
    )
    body = [summary, *(line for loss in losses for line in loss.lines)]
    return "\n".join([f"def {name}(site: Site) -> None:", *(f"    {line}" for line in body)])


def _reason_name(newer: int) -> str:
    return f"_SINCE_{newer}"


def _assigned(name: str, text: str, indent: str = "") -> str:
    """A line of code that gives a string a name, or several where it is long."""
    quoted = f"'{text}'" if '"' in text and "'" not in text else _text(text)
    one_line = f"{indent}{name} = {quoted}"
    if len(one_line) <= _WIDTH:
        return one_line
    lines = textwrap.wrap(text, _WIDTH - len(indent) - 6, drop_whitespace=False)
    return "\n".join([f"{indent}{name} = (", *(f"{indent}    {_text(line)}" for line in lines), f"{indent})"])


def _reason(newer: int, changes: Sequence[str]) -> str:
    return _assigned(_reason_name(newer), "; ".join(changes))


def _entry(found: OperatorHistory, older: int, newer: int, names: dict[str, str]) -> str:
    domain = f", domain={_text(found.domain)}" if found.domain else ""
    because = f", because={_reason_name(newer)}" if "unchanged" in names.values() else ""
    return f'Step("{found.operator}", {older}, {newer}, up={names["up"]}, down={names["down"]}{because}{domain})'


def _kernel(found: OperatorHistory, older: int, newer: int) -> str:
    if kernel := find_kernel(found.domain, found.operator, newer):
        return f"The evaluator executes {newer} with `{kernel.__name__}`; nothing to do."
    if kernel := find_kernel(found.domain, found.operator, older):
        place = kernel.__module__.replace(".", "/")
        return (
            f"The proof executes both versions. `{kernel.__name__}` in `converter/{place}.py` executes {older}: "
            f"where it does what the text of {newer} says, add {newer} to its `since`, and write a kernel if not."
        )
    return f"The proof executes both versions; the evaluator has no kernel for {older}."


def _tests(found: OperatorHistory, after: Definition, losses: Sequence[_Loss]) -> str:
    newer, schema = after.since_version, after.schema
    operator = f"{found.domain}.{found.operator}" if found.domain else found.operator
    inputs, outputs = schema.inputs[: schema.min_input], schema.outputs[: max(schema.min_output, 1)]
    declared = [", ".join(f"{_type_text(after, one)} {one.name}" for one in formals) for formals in (inputs, outputs)]
    graph = _assigned("graph", f"g ({declared[0]}) => ({declared[1]})", "    ")
    results, arguments = (", ".join(one.name for one in formals) for formals in (outputs, inputs))
    snake = _snake_case(found.operator)

    def model(name: str, opset: int, attribute: str = "") -> list[str]:
        given = f" <{attribute}>" if attribute else ""
        return [
            _assigned(f"{name}_node", f"{{ {results} = {operator}{given} ({arguments}) }}", "    "),
            f'    {name} = f\'<ir_version: {onnx.IR_VERSION}, opset_import: ["{found.domain}": {opset}]> '
            f"{{graph}} {{{name}_node}}'",
        ]

    lines = [
        f"def test_{snake}_means_the_same_before_and_from_{newer}():",
        graph,
        *model("older", newer - 1),
        *model("newer", newer),
        "    check_rewrite(older, newer)",
        "    check_rewrite(newer, older)",
    ]
    domain = f", domain={_text(found.domain)}" if found.domain else ""
    for loss in losses:
        if loss.attribute:
            lines += [
                "",
                "",
                f"def test_other_values_of_{loss.name}_are_refused_below_{newer}():",
                graph,
                *model("newer", newer, loss.attribute),
                f"    check_refusal(newer, {newer - 1}, Why.NO_EQUIVALENT, {_text(loss.name)}{domain})",
            ]
    return "\n".join(lines) + "\n"


def _type_text(definition: Definition, formal: OpSchema.FormalParameter) -> str:
    """A type that a formal parameter takes, in ONNX text, with one dimension of any size."""
    allowed = definition.allowed_types(formal.type_str)
    chosen = "tensor(float)" if "tensor(float)" in allowed else min(allowed)
    return re.sub(r"tensor\((\w+)\)", r"\1[N]", chosen)
