"""ONNX's own tests there and back: each to another opset and back, where neither way is refused.

    python -m benchmarks.round_trips [--only NAME] [--releases FOLDER] [--markdown]

What comes back has to compute the shipped outputs. Up and down again it should have the nodes that it had, too; where
it has not, docs/round_trips.md, which `--markdown` prints, says why. Tests of older versions are made from the newer
ones that are legal there (testing/transforms/variants.py).
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter
from pathlib import Path

import onnx

from testing.corpus import all_cases, chosen_cases
from testing.round_trips import Trip, first_losses, trips

OUTCOMES = ("same nodes", "equal", "refused back", "wrong", "invalid", "crashed")


def _trips_of(job: tuple[Path | None, int]) -> list[Trip]:
    releases, index = job
    return trips(all_cases(releases)[index])


def table(found: list[Trip]) -> str:
    """Outcomes by direction."""
    lines = [f"{'':>12} {'trips':>7} " + " ".join(f"{outcome:>12}" for outcome in OUTCOMES)]
    for direction in ("up and down", "down and up"):
        counts = Counter(one.outcome for one in found if one.direction == direction)
        transitions = " ".join(f"{counts[outcome]:>12}" for outcome in OUTCOMES)
        lines.append(f"{direction:>12} {counts.total():>7} {transitions}")
    return "\n".join(lines)


def page(found: list[Trip], asked: str) -> str:
    """docs/round_trips.md."""
    names = {one.name for one in found}
    lines = [
        "# Round trips",
        "",
        f"Written by `python -m benchmarks.round_trips {asked} --markdown`, onnx {onnx.__version__}. Each test stands",
        f"for those that differ from it in values alone ({len(names)} of them here), and goes from every version of",
        "its operator that takes it to other opsets and back.",
        "",
        "```",
        table(found),
        "```",
        "",
        "*Same nodes* have the same operators, names, inputs, outputs and attribute values. *Equal* ones compute the",
        "shipped outputs in another form. Down and up that is common: what was decomposed is not put together",
        "again. Up and down it is the exception, and these are all:",
        "",
        "| operator | from | tests | for example | what comes back | why it is no inverse |",
        "|---|---|---|---|---|---|",
    ]
    for (operator, version, why), some in sorted(first_losses(found).items()):
        one = some[0]
        lines.append(
            f"| {operator} | {version} | {len(some)} | {one.name} {one.source}→{one.target}→{one.source} | "
            f"{one.detail.replace('|', '/')} | {why} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Take the chosen tests there and back, and print the tables or the page docs/round_trips.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a part of a test's name, or an operator")
    parser.add_argument("--every", type=int, default=1, help="take each N-th test only")
    parser.add_argument("--all", action="store_true", help="also tests that differ from another in values alone")
    parser.add_argument("--releases", type=Path, help="a folder of unpacked wheels of older onnx releases")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--markdown", action="store_true", help="print the page docs/round_trips.md")
    options = parser.parse_args()
    indices = chosen_cases(options.releases, options.only, expanded=False, all_kinds=options.all)
    jobs = [(options.releases, index) for index in indices[:: options.every]]
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        found = [trip for some in pool.imap(_trips_of, jobs, chunksize=4) for trip in some]
    if options.markdown:
        print(page(found, f"--every {options.every}"))
        return
    print(table(found))
    for one in found:
        if one.is_bad or one.outcome == "refused back":
            print(f"  {one.outcome}: {one.name} {one.source}->{one.target}: {one.detail}")
    for (operator, version, why), some in sorted(first_losses(found).items()):
        one = some[0]
        print(f"  {operator} {version}: {one.name} {one.source}->{one.target}, {len(some)} tests: {one.detail}: {why}")


if __name__ == "__main__":
    main()
