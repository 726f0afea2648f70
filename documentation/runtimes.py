"""A page for each version of each runtime: what it takes, what OpsetLift does for it, and what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from documentation.operators import page_of
from documentation.text import code, counted, plain, points, table
from opsetlift.rulebook.book import RuleBook, TransitionState, default_rule_book
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.specification.history import (
    CONVERTED_DOMAINS,
    all_transitions,
    display_domain,
    histories,
    history,
    latest_opset,
)
from opsetlift.targets import Target, catalogue
from opsetlift.targets.ranges import Range


def runtime_pages() -> dict[str, str]:
    """Path -> Markdown, the index among them."""
    book = default_rule_book()
    targets = [target for runtime in catalogue().values() for target in runtime.targets]
    return {"runtimes/index.md": _index(), **{_path(target): _page(target, book) for target in targets}}


def _path(target: Target) -> str:
    return f"runtimes/{target.name}-{target.version}.md"


def _index() -> str:
    lines = [
        "# Runtimes",
        "",
        "What each version of a runtime takes, what OpsetLift does for it, and what is left. The pages are generated",
        "from the target files (`opsetlift targets` prints the same facts); [targets.md](../targets.md) says how they",
        "were measured and how to add one.",
        "",
    ]
    for runtime in catalogue().values():
        rows = (
            (
                f"[{target.version}]({_path(target).removeprefix('runtimes/')})",
                str(target.opsets.get("", "")),
                str(target.opsets.get("ai.onnx.ml", "")),
                str(target.ir_versions),
                _measured(target),
            )
            for target in runtime.targets
        )
        head = ("version", "ai.onnx", "ai.onnx.ml", "IR version", "what it computes")
        lines += [f"## {runtime.title}", "", f"As {code(f'--for {runtime.name}==VERSION')}.", "", *table(head, rows)]
    return "\n".join(lines)


def _measured(target: Target) -> str:
    if target.is_measured:
        return "measured"
    return f"taken to be as {target.like}" if target.like else "from documents"


def _page(target: Target, book: RuleBook) -> str:
    newest = target.opsets.get("", None)
    lines = [
        f"# {target.title} {target.version}",
        "",
        f"{code(f'opsetlift convert model.onnx out.onnx --for {target.spelling}')} converts a model for it, and "
        f"{code(f'opsetlift check model.onnx --for {target.spelling}')} says whether it takes a model as it is.",
        "",
    ]
    if target.like:
        lines += [f"This version was not measured; it is taken to compute what {target.like} computes.", ""]
    lines += ["## What it takes", "", *points(_takes(target))]
    lines += ["## What OpsetLift does for it", "", *points(_does(target))]
    if target.forms:
        lines += ["### Forms that it does not take, or reads wrongly", ""]
        lines += points(
            f"{operator_link(one.domain, one.operator)}: {target.title} {plain(one.text)}"
            for one in sorted(target.forms, key=lambda one: (one.domain, one.operator))
        )
    lines += _dtypes(target)
    lines += ["## What is left", ""]
    lines += points(_left(target, book)) or ["No dtype and no operator is known to be lacking altogether.", ""]
    if newest is not None and newest.last is not None:
        lines += _refused_transitions(target, book)
    return "\n".join(lines)


def _sourced(text: str, target: Target, key: str) -> str:
    return f"{text} *({plain(target.sources[key])})*" if key in target.sources else text


def _takes(target: Target) -> Iterator[str]:
    for key, domain in (("opset", ""), ("ml_opset", "ai.onnx.ml")):
        if domain in target.opsets:
            yield _sourced(f"{display_domain(domain)} {target.opsets[domain]}", target, key)
    yield _sourced(f"IR version {target.ir_versions}", target, "ir")
    yield _sourced(f"functions of the model: {'yes' if target.has_functions else 'no'}", target, "functions")
    sizes = "yes" if target.takes_open_dimensions else "no, all sizes must be fixed"
    yield _sourced(f"inputs of open sizes: {sizes}", target, "open_dimensions")
    if not target.takes_false_shapes:
        yield _sourced("declared shapes must be those that it computes", target, "false_shapes")
    if target.constant_inputs:
        names = ", ".join(code(".".join(one)) for one in sorted(target.constant_inputs))
        yield _sourced(f"as constants only: {names}", target, "constant_inputs")
    for quirk in target.quirks:
        yield f"{plain(quirk.text)} *({plain(quirk.source)})*"


def _does(target: Target) -> Iterator[str]:
    newest = target.opsets.get("")
    if newest is not None and newest.last is not None and newest.last < latest_opset():
        yield f"converts models of opsets {newest.last + 1} to {latest_opset()} down to {newest.last}"
    if newest is not None and newest.first > 1:
        yield f"converts models of opsets 1 to {newest.first - 1} up to {newest.first}"
    if target.ir_versions.last is not None:
        yield "writes an IR version that it reads, and moves or drops what that IR version cannot hold"
    if not target.has_functions:
        yield "inlines functions"
    if not target.takes_open_dimensions:
        yield f"fixes sizes, where {code('--fix-shapes')} names them"
    if not target.computes_constants:
        yield "computes what follows from constants alone"
    elif target.constant_dtypes_not_computed:
        dtypes = ", ".join(sorted(target.constant_dtypes_not_computed))
        yield f"computes what follows from constants alone, in models of {dtypes}"
    if target.kernels:
        yield "writes nodes in dtypes without a kernel otherwise, where that computes the same (the table below)"
    if target.forms:
        yield "writes nodes that it reads wrongly, or not at all, otherwise, or refuses them (the list below)"


def operator_link(domain: str, operator: str) -> str:
    """A link to the operator's page; the name alone for an experimental operator."""
    return f"[{operator}](../{page_of(domain, operator)})" if history(domain, operator) else code(operator)


def _dtypes(target: Target) -> Iterator[str]:
    rows = []
    for (domain, operator, since), grids in sorted(target.kernels.items()):
        found, taken_opsets = history(domain, operator), target.opsets.get(domain, Range(1, None))
        in_reach = range(taken_opsets.first, (taken_opsets.last or latest_opset(domain)) + 1)
        if found is None or since not in map(found.since_version, in_reach):
            continue
        types = found.definitions[since].types_by_variable
        missing = []
        for variable, allowed in sorted(types.items()):
            names = {name for one in allowed if (name := dtype_of_type(one))}
            taken = set().union(*(grid.get(variable, names) for grid in grids)) if grids else set()
            if left := sorted(names - taken):
                missing.append(f"{variable}: {', '.join(left)}")
        if not grids:
            missing = ["no kernel at all"]
        if missing:
            rows.append((operator_link(domain, operator), str(since), "; ".join(missing)))
    if rows:
        yield "### Dtypes without a kernel"
        yield ""
        yield _sourced(
            "Of the dtypes that the definition has; all combinations are in the target file.", target, "kernels"
        )
        yield ""
        yield from table(("operator", "since", "no kernel for"), rows)


def _left(target: Target, book: RuleBook) -> Iterator[str]:
    if target.dtypes_refused:
        yield _sourced(
            f"dtypes that it does not have: {', '.join(sorted(target.dtypes_refused))}", target, "dtypes_refused"
        )
    lacking = sorted(target.operators_lacking)
    known = {operator for domain, operator in histories() if domain in CONVERTED_DOMAINS}
    replaced = [one for one in lacking if any(book.fallbacks(domain, one) for domain in CONVERTED_DOMAINS)]
    refused = [one for one in lacking if (one in known or "." in one) and one not in replaced]
    if refused:
        yield _sourced(
            f"operators that it does not have, which are refused: {', '.join(refused)}", target, "operators_lacking"
        )
    if replaced:
        yield f"operators that it does not have, written otherwise where that is possible: {', '.join(replaced)}"


def _refused_transitions(target: Target, book: RuleBook) -> Iterator[str]:
    found: list[tuple[str, str]] = []
    for transition in all_transitions():
        limit = target.opsets.get(transition.domain)
        if limit is None or limit.last is None or transition.upward or transition.newer <= limit.last:
            continue
        if book.state(transition) is TransitionState.REFUSED:
            entry = book.entry(transition)
            found.append((entry.because if entry else "", operator_link(transition.domain, transition.operator)))
    if not found:
        return
    yield "### Operators that no older opset has an equivalent for"
    yield ""
    number = counted(len(found), "transition")
    yield f"{number} down to its opset, always refused, by reason; other rules refuse single sites, and say why."
    yield ""
    rows = [(because, [link for _, link in group]) for because, group in groupby(sorted(found), key=lambda one: one[0])]
    yield from points(f"{plain(because)}: {_few(links)}" for because, links in rows)


def _few(links: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(links))
