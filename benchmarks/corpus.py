"""Every test that the installed onnx carries, taken to other opsets: how many arrive, how many are wrong.

    python -m benchmarks.corpus [--up] [--down] [--peer] [--ort] [--only NAME] [--reasons N] [--releases FOLDER]

Each test's model goes from its own opset to each target, is checked in full by onnx.checker and executed on the shipped
inputs; the outputs have to be the shipped ones. `--peer` puts onnx.version_converter through the same; `--ort` executes
in onnxruntime as well, where that implements the opset. `--releases` takes the tests of older onnx releases instead,
from wheels unpacked in a folder each (pip download --no-deps --only-binary=:all: --python-version 3.6 onnx==1.5.0).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx

from testing.cases import Case
from testing.corpus import DOWN_TARGETS, NO_KERNEL, UP_TARGETS, Result, all_cases, judge, reproducible

OUTCOMES = ("correct", "refused", "wrong", "invalid", "crashed")


def targets(case: Case, up: bool, down: bool) -> Iterator[int]:
    """Where a test goes."""
    if up:
        yield from (target for target in UP_TARGETS if target > case.opset)
    if down:
        yield from (target for target in DOWN_TARGETS if target < case.opset)


def _judge_case(job: tuple[Path | None, int, bool, bool, str, bool]) -> list[Result]:
    releases, index, up, down, converter, use_onnxruntime = job
    case = all_cases(releases)[index]
    if not reproducible(case):
        return []
    return [judge(case, target, converter, use_onnxruntime) for target in targets(case, up, down)]


def measure(
    *,
    up: bool = True,
    down: bool = True,
    converter: str = "opsetlift",
    use_onnxruntime: bool = False,
    only: str = "",
    releases: Path | None = None,
) -> list[Result]:
    """Every test at every target, on all cores."""
    cases = enumerate(all_cases(releases))
    indices = [index for index, case in cases if only in case.name or only == case.operator]
    jobs = [(releases, index, up, down, converter, use_onnxruntime) for index in indices]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        return [result for results in pool.imap(_judge_case, jobs, chunksize=8) for result in results]


def table(results: list[Result]) -> str:
    """Outcomes by direction; the share of the correct is of those whose interface exists at the target."""
    lines = [f"{'':>6} {'cases':>7} " + " ".join(f"{outcome:>9}" for outcome in OUTCOMES) + f" {'correct':>9}"]
    for direction in ("up", "down"):
        chosen = [one for one in results if one.direction == direction]
        if not chosen:
            continue
        counts = Counter(one.outcome for one in chosen)
        possible = [one for one in chosen if one.interface_exists and one.target >= 7]
        share = 100 * sum(one.outcome == "correct" for one in possible) / max(len(possible), 1)
        transitions = " ".join(f"{counts[outcome]:>9}" for outcome in OUTCOMES)
        lines.append(f"{direction:>6} {len(chosen):>7} {transitions} {share:>8.1f}%")
    return "\n".join(lines)


def _parts_of_refusal(detail: str) -> tuple[str, str, str]:
    """Why, the transition that stopped the conversion, and the sentence, from a result's detail."""
    head, _, sentence = detail.partition("] ")
    return head.split(" ", 1)[0], head.split("[", 1)[1], sentence


def page(ours: list[Result], peers: list[Result]) -> str:
    """docs/corpus.md: the tables of both converters, and what our refusals cost, most costly first."""
    reasons: dict[tuple[str, str], list[Result]] = {}
    for one in ours:
        if one.outcome == "refused" and one.interface_exists:
            why, transition, _ = _parts_of_refusal(one.detail)
            reasons.setdefault((one.direction, f"{why} {transition}"), []).append(one)
    lines = [
        "# ONNX's own tests at other opsets",
        "",
        f"Written by `python -m benchmarks.corpus --markdown`, with onnx {onnx.__version__}. The last column is the",
        "share of the correct among conversions to opset 7 and later whose interface types exist there.",
        "",
        "```",
        "opsetlift",
        table(ours),
        "",
        "onnx.version_converter",
        table(peers),
        "```",
        "",
        "## What refusals cost",
        "",
        "Conversions refused although the types of inputs and outputs exist at the target, by the transition that "
        "stopped",
        "them; the number behind the slash counts targets from 7 on only.",
        "",
        "| conversions | direction | transition | example |",
        "|---|---|---|---|",
    ]
    for (direction, transition), refused in sorted(reasons.items(), key=lambda item: -len(item[1])):
        late = sum(one.target >= 7 for one in refused)
        sentence = _parts_of_refusal(refused[0].detail)[2].replace("|", "\\|")
        lines.append(f"| {len(refused)} / {late} | {direction} | {transition} | {sentence} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the tables or the page docs/corpus.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--up", action="store_true")
    parser.add_argument("--down", action="store_true")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--ort", action="store_true")
    parser.add_argument("--only", default="", help="a part of a test's name, or an operator")
    parser.add_argument("--releases", type=Path, help="a folder of unpacked wheels of older onnx releases")
    parser.add_argument("--markdown", action="store_true", help="print the page docs/corpus.md, for both converters")
    parser.add_argument("--reasons", type=int, default=0, help="how many of the most frequent refusals to list")
    parser.add_argument("--bad", type=int, default=20, help="how many wrong, invalid or crashed cases to list")
    options = parser.parse_args()
    both = options.up == options.down
    if options.markdown:
        print(page(*(measure(only=options.only, converter=one) for one in ("opsetlift", "peer"))))
        return
    for converter in ("opsetlift", "peer") if options.peer else ("opsetlift",):
        results = measure(
            up=options.up or both,
            down=options.down or both,
            converter=converter,
            use_onnxruntime=options.ort,
            only=options.only,
            releases=options.releases,
        )
        print("onnx.version_converter" if converter == "peer" else "opsetlift")
        print(table(results))
        if converter == "opsetlift":
            bad = [one for one in results if one.outcome not in ("correct", "refused")]
            for one in bad[: options.bad]:
                print(f"  {one.outcome}: {one.name} {one.source}->{one.target}: {one.detail}")
            reasons = Counter(
                (one.direction, one.detail.split("]")[0] + "]")
                for one in results
                if one.outcome == "refused" and one.interface_exists and one.target >= 7
            )
            for (direction, reason), count in reasons.most_common(options.reasons):
                print(f"  {count:>5} {direction:>5} {reason}")
            missing = Counter(
                (one.direction, one.name.split("@")[0], one.detail)
                for one in results
                if one.detail.startswith(NO_KERNEL)
            )
            for (direction, operator, detail), count in missing.most_common():
                print(f"  {count:>5} {direction:>5} {operator}: {detail}")


if __name__ == "__main__":
    main()
