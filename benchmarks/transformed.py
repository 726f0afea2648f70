"""ONNX's own tests written otherwise, then taken to other opsets: what arrives plainly has to arrive in every form.

    python -m benchmarks.transformed [--only NAME] [--transform NAME] [--every N] [--ort] [--releases FOLDER]

Each test goes through each transform of testing/transforms, which keeps what the model means, and is converted,
checked and executed at each target as benchmarks/corpus.py does it. Beside wrong, invalid and crashed conversions, this
counts those that are refused although the test itself is not.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter
from pathlib import Path

from testing.corpus import all_cases, chosen_cases, reproducible
from testing.transformed import UNJUDGED, Outcome, outcomes
from testing.transforms import TRANSFORMS

TARGETS = (7, 9, 11, 13, 18, 21, 28)
COLUMNS = ("correct", "refused", "refused anew", "wrong", "invalid", "crashed", UNJUDGED)


def _judge_case(job: tuple[Path | None, int, tuple[str, ...], tuple[int, ...], bool]) -> list[Outcome]:
    releases, index, names, targets, ort = job
    case = all_cases(releases)[index]
    if not reproducible(case):
        return []
    chosen = (transform for transform in TRANSFORMS if transform.name in names)
    return [one for transform in chosen for one in outcomes(case, transform, targets, ort=ort)]


def table(found: list[Outcome]) -> str:
    """Outcomes by transform."""
    lines = [f"{'':>36} " + " ".join(f"{column:>12}" for column in COLUMNS)]
    for name in dict.fromkeys(one.transform for one in found):
        counts = Counter(one.kind for one in found if one.transform == name)
        lines.append(f"{name:>36} " + " ".join(f"{counts[column]:>12}" for column in COLUMNS))
    return "\n".join(lines)


def main() -> None:
    """Convert the chosen tests in the chosen forms, and print the table and the bad conversions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a part of a test's name, or an operator")
    parser.add_argument("--transform", default="", help="parts of transforms' names, separated by commas")
    parser.add_argument("--targets", default=",".join(map(str, TARGETS)), help="opsets, separated by commas")
    parser.add_argument("--every", type=int, default=1, help="take each N-th test only")
    parser.add_argument("--start", type=int, default=0, help="the first of these")
    parser.add_argument("--expanded", action="store_true", help="also the tests of expanded functions, of many nodes")
    parser.add_argument("--all", action="store_true", help="also tests that differ from another in values alone")
    parser.add_argument("--ort", action="store_true", help="execute in onnxruntime as well")
    parser.add_argument("--releases", type=Path, help="a folder of unpacked wheels of older onnx releases")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--bad", type=int, default=200, help="how many kinds of bad conversions to list")
    options = parser.parse_args()
    parts = options.transform.split(",")
    names = tuple(one.name for one in TRANSFORMS if any(part in one.name for part in parts))
    targets = tuple(map(int, options.targets.split(",")))
    indices = chosen_cases(options.releases, options.only, expanded=options.expanded, all_kinds=options.all)
    jobs = [(options.releases, index, names, targets, options.ort) for index in indices[options.start :: options.every]]
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        found = [one for some in pool.imap(_judge_case, jobs, chunksize=4) for one in some]
    print(table(found))
    bad = Counter((one.kind, one.transform, one.result.detail) for one in found if one.is_bad)
    examples = {(one.kind, one.transform, one.result.detail): one for one in reversed(found)}
    for key, count in sorted(bad.items(), key=lambda item: (item[0][0], -item[1]))[: options.bad]:
        print(f"{count:>5} {examples[key]}")


if __name__ == "__main__":
    main()
