"""The command: choose mutants, run them, print who noticed."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.mutants import subjects
from benchmarks.mutants.examples import ROOT
from benchmarks.mutants.operators import Mutant, diff, mutants_of, sampled
from benchmarks.mutants.run import ERROR, OUTCOMES, Limits, Trial, run
from benchmarks.mutants.subjects import SUBJECTS, Subject, coverage_of


def chosen_mutants(subject: Subject, only: str, count: int, seed: int) -> list[Mutant]:
    """The mutants of the modules whose path has `only` in it; with `count`, a sample."""
    found = [one for path in subject.paths if only in path for one in mutants_of(ROOT, path)]
    return sampled(found, count, seed) if count else found


def table(trials: Sequence[Trial]) -> str:
    """Outcomes by module, and of all."""
    found = [outcome for outcome in OUTCOMES if any(one.outcome == outcome for one in trials)]
    modules = sorted({one.mutant.path for one in trials})
    width = max(map(len, [*modules, "all"]), default=3)
    head = f"{'':<{width}} {'mutants':>8} " + " ".join(f"{outcome:>{max(8, len(outcome))}}" for outcome in found)
    lines = [head]
    for module in [*modules, "all"]:
        counts = Counter(one.outcome for one in trials if module in (one.mutant.path, "all"))
        cells = " ".join(f"{counts[outcome]:>{max(8, len(outcome))}}" for outcome in found)
        lines.append(f"{module:<{width}} {sum(counts.values()):>8} {cells}")
    return "\n".join(lines)


def by_judge(trials: Sequence[Trial]) -> str:
    """Who judged the conversions that the proof took for equal."""
    judged = [verdict for one in trials for _, verdict in one.verdicts if verdict.judged_by]
    counts = Counter(verdict.judged_by for verdict in judged)
    inputs = sum(verdict.inputs for verdict in judged)
    who = ", ".join(f"{count} by {name}" for name, count in counts.most_common())
    return f"The judge was asked {len(judged)} times, and tried {inputs} inputs: {who or 'nobody'}."


def described(trial: Trial) -> str:
    """A mutant in some lines: what it is, and what shows it."""
    lines = [trial.mutant.id]
    if trial.outcome == subjects.SURVIVED:
        lines += [f"    {line}" for line in diff(ROOT, trial.mutant).splitlines()]
    for name, verdict in trial.verdicts:
        if verdict.outcome == trial.outcome:
            lines.append(f"    {name}: {verdict.judged_by} {verdict.detail}".rstrip())
    return "\n".join(lines)


def main() -> None:
    """Try the chosen mutants, and print who noticed which."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.mutants")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--passes", action="store_true", help="the normaliser's passes instead of rules")
    which.add_argument("--targets", action="store_true", help="what decides which nodes a runtime takes, against tests")
    which.add_argument("--kernels", action="store_true", help="the evaluator's kernels, against onnxruntime")
    parser.add_argument("--only", default="", help="a part of the paths of the modules")
    parser.add_argument("--mutant", default="", help="a part of the mutants' ids")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, spread over the modules")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, default=Limits.examples, help="examples that each mutant is judged by")
    parser.add_argument("--timeout", type=float, default=Limits.seconds, help="seconds of computing time per mutant")
    parser.add_argument("--tests", nargs="+", default=(), metavar="FILE", help="take examples from these tests alone")
    parser.add_argument("--without-proof", action="store_true", help="take everything for proven: what the judge finds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="name the mutants and run none")
    parser.add_argument(
        "--show", default=f"{subjects.SURVIVED},{ERROR}", help="outcomes to describe, separated by commas"
    )
    parser.add_argument("--json", type=Path, help="write every trial to this file")
    options = parser.parse_args()
    named = {"passes": options.passes, "targets": options.targets, "kernels": options.kernels}
    subject = SUBJECTS[next((name for name, is_asked in named.items() if is_asked), "rules")]
    chosen = chosen_mutants(subject, options.only, options.sample, options.seed)
    chosen = [one for one in chosen if options.mutant in one.id]
    if options.list:
        print(*(one.id for one in chosen), sep="\n")
        return
    subject.prepare()
    coverage = coverage_of(subject, options.tests, say=lambda text: print(text, file=sys.stderr, flush=True))
    limits = Limits(options.examples, options.timeout, proves=not options.without_proof)
    trials: list[Trial] = []
    started = time.monotonic()
    try:
        for trial in run(subject, chosen, coverage, limits, options.jobs):
            trials.append(trial)
            if trial.outcome in options.show.split(","):
                print(f"{trial.outcome}: {described(trial)}", flush=True)
            if len(trials) % 20 == 0:
                spent = time.monotonic() - started
                print(f"{len(trials)} of {len(chosen)}, {spent:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"stopped after {len(trials)} of {len(chosen)} mutants")
    print(table(trials))
    print(by_judge(trials))
    if options.json:
        options.json.write_text(json.dumps([one.as_dict() for one in trials], indent=1, ensure_ascii=False))
    sys.exit(any(one.outcome in (subjects.SURVIVED, ERROR) for one in trials))


if __name__ == "__main__":
    main()
