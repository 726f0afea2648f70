"""The commands, and the exit status of each way in which they end. Each imports what it needs: `--help` needs little.

0 done; 1 bad usage or unusable input; 2 refused; 3 not equivalent; 70 a defect of OpsetLift or of a package whose rules
it applies (OPSETLIFT_TRACEBACK=1 shows where); 74 standard output is closed or full; 128 and the number of the signal
that ended it.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from opsetlift.cli.errors import (
    DONE,
    INTERNAL,
    INTERRUPTED,
    REFUSED,
    UNUSABLE,
    Interrupted,
    OutputLost,
    UsageFault,
    status_of,
)
from opsetlift.cli.output import (
    complain,
    log_stages,
    occupy_standard_streams,
    output_lost,
    show,
    show_versioned,
    standard_output,
)
from opsetlift.cli.settings import NO_CONFIG, with_settings
from opsetlift.cli.signals import ignore_further_signals, raised_as_exceptions
from opsetlift.support.internal_error import InternalError, as_json, internal_error

app = typer.Typer(
    epilog="Example: opsetlift convert model.onnx out.onnx --to 18",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_LOSSES = (errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT)


def _runtimes(incomplete: str) -> list[str]:
    """The runtimes whose names begin so, for shells."""
    from opsetlift.targets import catalogue

    return [name for name in catalogue() if name.startswith(incomplete)]


def _operators(incomplete: str) -> list[str]:
    """The operators of ai.onnx whose names begin so, for shells."""
    from opsetlift.specification.history import histories

    return sorted(name for domain, name in histories() if not domain and name.startswith(incomplete))


To = Annotated[
    list[str] | None,
    typer.Option("--to", metavar="OPSET", help="Target opset: 18 or ai.onnx.ml=3; repeatable."),
]
For = Annotated[
    str | None,
    typer.Option(
        "--for", metavar="TARGET", autocompletion=_runtimes, help="Target runtime: onnxruntime==1.4 or a target file."
    ),
]
Ir = Annotated[int | None, typer.Option("--ir", metavar="N", help="Target IR version; by default the lowest needed.")]
Dtype = Annotated[
    list[str] | None,
    typer.Option("--dtype", metavar="FROM=TO", help="Replace a dtype: int64=int32; repeatable, not exact."),
]
DtypeInterface = Annotated[
    str | None,
    typer.Option(
        "--dtype-interface",
        metavar="MODE",
        help="Input and output dtypes: keep (default) or change.",
    ),
]
FixShapes = Annotated[
    str | None,
    typer.Option("--fix-shapes", metavar="SIZES", help="Fix open sizes: batch=1,x=1x3x224x224."),
]
Passes = Annotated[
    str | None,
    typer.Option("--passes", metavar="NAMES", help="Run passes: merge-casts or default,-name-nodes."),
]
Exact = Annotated[bool, typer.Option("--exact", help="Refuse everything that changes rounding.")]
CertificateFile = Annotated[
    Path | None,
    typer.Option("--certificate", metavar="FILE", help="Write the certificate as JSON, or a folder of them."),
]
ReportFile = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write a report to look at: one HTML page.")
]
RequireProof = Annotated[bool, typer.Option("--require-proof", help="Refuse unless everything is proven.")]
NoProve = Annotated[bool, typer.Option("--no-prove", help="Skip the proof.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Report only; skip the proof and write nothing.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite OUT, the certificate and the report.")]
ForceReport = Annotated[bool, typer.Option("--force", help="Overwrite the report.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Random seed for the proof.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Print every refusal and the time of each stage.", callback=log_stages),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="OUT", hidden=True)]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither use nor keep verdicts of earlier proofs.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, metavar="N", help="Processes; by default one per core."),
]
SkipExisting = Annotated[
    bool, typer.Option("--skip-existing", help="Of several models: leave out those with an output.")
]
Summary = Annotated[
    Path | None, typer.Option("--summary", metavar="FILE", help="Of several models: write results as .json or .csv.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    if arguments is None and "_OPSETLIFT_COMPLETE" in os.environ:
        return _complete()
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    occupy_standard_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with raised_as_exceptions():
            try:
                return _run(given)
            except (Exception, Interrupted, KeyboardInterrupt) as error:
                ignore_further_signals()
                status = _report(error, is_json="--json" in given)
                # To diff(1) 1 means that two files differ.
                return REFUSED if status == UNUSABLE and given[:1] == ["diff"] else status
    except OutputLost as lost:
        status, sentences = status_of(lost)
        complain(*sentences)
        return status


@cache
def _command() -> Callable[..., Any]:
    """All commands, which take 50 ms to put together: once for callers in this process."""
    return typer.main.get_command(app)


def _complete() -> int:
    """Answer the shell, which asks by the environment what may follow; returns the exit status."""
    try:
        app(prog_name="opsetlift")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else UNUSABLE
    return DONE


def _run(arguments: Sequence[str]) -> int:
    if "" in arguments:  # as a path it would stand for the working folder
        raise UsageFault("an argument is empty; perhaps a variable of the shell is not set")
    try:
        with warnings.catch_warnings():
            # Warnings of libraries are for programmers.
            warnings.simplefilter("ignore")
            status = int(
                _command()(args=with_settings(arguments), prog_name="opsetlift", standalone_mode=False) or DONE
            )
    except SystemExit as error:
        if not error.code:
            return DONE  # --show-completion
        # How typer ends where a pipe is closed while it shows its help.
        raise OutputLost("standard output is closed") from error
    except OSError as error:
        if error.filename is None and error.errno in _LOSSES:
            raise output_lost(error) from error  # what typer prints itself
        raise
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status == DONE:
        with standard_output():
            pass
    return status


def _report(error: BaseException, *, is_json: bool) -> int:
    """Print what stopped a command, and return the exit status."""
    status, sentences = status_of(error)
    if status == INTERNAL and os.environ.get("OPSETLIFT_TRACEBACK"):
        traceback.print_exception(error)
    complain(*sentences)
    if is_json and status == INTERNAL:
        show_versioned(as_json(error if isinstance(error, InternalError) else internal_error(error, "a command")))
    elif is_json and status == UNUSABLE:
        show_versioned({"status": "error", "message": " ".join(sentences)})
    return status


def _print_version(is_asked_for: bool) -> None:
    if is_asked_for:
        from importlib.metadata import version

        show(f"opsetlift {version('opsetlift')} (onnx {version('onnx')})")
        raise typer.Exit


def _run_request(command: str, options: Mapping[str, Any]) -> int:
    """Run `convert` or `normalize` with the options of the command line, named as the fields of `Request`."""
    from opsetlift.cli.conversion import Request, run_request

    return run_request(Request(command=command, **options))


@app.callback()
def opsetlift(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    no_config: Annotated[
        bool, typer.Option(NO_CONFIG, help="Ignore opsetlift.toml and [tool.opsetlift] of pyproject.toml.")
    ] = False,
) -> None:
    """Move ONNX models between opset versions, up and down, with proof."""


@app.command(
    short_help="Convert a model to another opset, runtime or dtype.",
    epilog="Example: opsetlift convert model.onnx out.onnx --to 18",
)
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Model, or a folder or glob of models.")],
    target: Annotated[
        Path | None,
        typer.Argument(metavar="OUT", help="File (or -o OUT), whose extension is the format, or folder."),
    ] = None,
    to: To = None,
    runtime: For = None,
    ir: Ir = None,
    dtype: Dtype = None,
    dtype_interface: DtypeInterface = None,
    fix_shapes: FixShapes = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Run the default passes, as opsetlift normalize does.")
    ] = False,
    passes: Passes = None,
    exact: Exact = False,
    certificate: CertificateFile = None,
    report: ReportFile = None,
    require_proof: RequireProof = False,
    no_prove: NoProve = False,
    dry_run: DryRun = False,
    force: Force = False,
    seed: Seed = 0,
    no_cache: NoCache = False,
    output: Output = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    jobs: Jobs = None,
    skip_existing: SkipExisting = False,
    summary: Summary = None,
    json: Json = False,
) -> int:
    """Convert a model to another opset, IR version, runtime or dtype, prove that it computes the same, and write it."""
    return _run_request("convert", locals())


@app.command(
    short_help="Simplify a model for deployment.",
    epilog="Example: opsetlift normalize model.onnx out.onnx --fix-shapes batch=1",
)
def normalize(
    source: Annotated[
        Path | None,
        typer.Argument(metavar="IN", help="Model, or a folder or glob of models."),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Argument(metavar="OUT", help="File (or -o OUT), whose extension is the format, or folder."),
    ] = None,
    to: To = None,
    runtime: For = None,
    ir: Ir = None,
    dtype: Dtype = None,
    dtype_interface: DtypeInterface = None,
    fix_shapes: FixShapes = None,
    passes: Passes = None,
    list_them: Annotated[bool, typer.Option("--list", help="List the passes and exit.")] = False,
    exact: Exact = False,
    certificate: CertificateFile = None,
    report: ReportFile = None,
    require_proof: RequireProof = False,
    no_prove: NoProve = False,
    dry_run: DryRun = False,
    force: Force = False,
    seed: Seed = 0,
    output: Output = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    no_cache: NoCache = False,
    jobs: Jobs = None,
    skip_existing: SkipExisting = False,
    summary: Summary = None,
    json: Json = False,
) -> int:
    """Simplify a model, after a conversion where one is asked for, and prove it."""
    given = locals()
    if given.pop("list_them"):
        from opsetlift.cli.normalizing import list_passes

        return list_passes(as_json=json)
    if source is None or (target is None and output is None and not dry_run):
        raise UsageFault("normalize needs two files, IN and OUT (or --list to show the passes)")
    return _run_request("normalize", {**given, "normalize": True})


@app.command(
    short_help="Check whether two models compute the same.",
    epilog="Example: opsetlift prove model.onnx out.onnx --certificate certificate.json",
)
def prove(
    first: Annotated[Path, typer.Argument(metavar="A", help="Reference model.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Model to compare with A.")],
    inputs: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Run on these inputs: an .npz or test_data_set_* folders.")
    ] = None,
    expected: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Outputs that both must give for them; .npz or folder.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Minimum number of random inputs.")] = 5,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Random seed.")] = 0,
    ulps: Annotated[
        int, typer.Option(min=0, metavar="N", help="Allowed difference in units in the last place (ULP).")
    ] = 0,
    rtol: Annotated[float, typer.Option(metavar="X", help="Allowed relative difference of each number.")] = 0.0,
    atol: Annotated[float, typer.Option(metavar="X", help="Allowed difference besides --rtol.")] = 0.0,
    judge: Annotated[
        str | None, typer.Option(metavar="ort", help="Also run both models in onnxruntime (needs opsetlift[ort]).")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Verify this certificate of the conversion from A to B.")
    ] = None,
    runtime: Annotated[
        str | None,
        typer.Option("--for", metavar="TARGET", help="Target file of the runtime that the certificate names."),
    ] = None,
    report: ReportFile = None,
    force: ForceReport = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Run two models on the same inputs and report whether they compute the same."""
    from opsetlift.cli.certificates import prove_again
    from opsetlift.cli.files import STANDARD_STREAM
    from opsetlift.cli.progress import progress_shown
    from opsetlift.cli.proving import prove_files
    from opsetlift.cli.reports import ReportTarget

    if certificate is not None:
        if inputs is not None or judge is not None or expected is not None or rtol or atol:
            sentence = "leave out --inputs, --expected, --judge, --rtol and --atol"
            raise UsageFault(f"--certificate chooses its own inputs, evaluator and bounds: {sentence}")
        if STANDARD_STREAM in (first, second):
            raise UsageFault("--certificate describes files, and - is standard input; name a file")
        target = ReportTarget(report, [first, second, certificate], overwrite=force)
        with progress_shown(is_wanted=not quiet):
            return prove_again(certificate, first, second, as_json=json, is_quiet=quiet, runtime=runtime, report=target)
    if runtime is not None:
        raise UsageFault("--for is used only with --certificate, to describe the runtime that it names")
    if judge not in (None, "ort"):
        raise UsageFault(f"unknown evaluator {judge!r}: use ort, which is onnxruntime")
    if expected is not None and inputs is None:
        raise UsageFault("--expected needs --inputs, the inputs that these outputs belong to")
    data = [one for path in (inputs, expected) if path for one in (path.rglob("*.pb") if path.is_dir() else [path])]
    target = ReportTarget(report, [first, second, *data], overwrite=force)
    return prove_files(
        first,
        second,
        inputs=inputs,
        expected=expected,
        runs=runs,
        seed=seed,
        ulps=ulps,
        rtol=rtol,
        atol=atol,
        as_json=json,
        asks_onnxruntime=judge == "ort",
        is_quiet=quiet,
        report=target,
    )


@app.command(
    short_help="Show where a model can be converted to.",
    epilog="Example: opsetlift reach model.onnx --for onnxruntime==1.4",
)
def reach(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model, or a folder or glob of models.")],
    runtimes: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="TARGET",
            autocompletion=_runtimes,
            help="Show only this runtime, such as onnxruntime==1.4; repeatable.",
        ),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Refuse conversions that change rounding.")] = False,
    report: ReportFile = None,
    force: ForceReport = False,
    quiet: Quiet = False,
    jobs: Jobs = None,
    json: Json = False,
) -> int:
    """Show the opsets and runtimes that a model can be converted to, and what blocks the others. Writes no model.

    With --for the exit status is 2 where a runtime cannot be reached.
    """
    from opsetlift.batch.planning import is_batch
    from opsetlift.cli.reaching import show_reach, show_reach_of_models
    from opsetlift.cli.reports import ReportTarget

    if is_batch(model):
        if report is not None or force:
            raise UsageFault(f"--report and --force are for one model, and {model} stands for several")
        return show_reach_of_models(model, runtimes, exact=exact, jobs=jobs, as_json=json, is_quiet=quiet)
    target = ReportTarget(report, [model], overwrite=force)
    return show_reach(model, runtimes, exact=exact, report=target, jobs=jobs, as_json=json, is_quiet=quiet)


@app.command(
    short_help="Show how two models differ.",
    epilog="Example: opsetlift diff model.onnx out.onnx --report diff.html",
)
def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="One model.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The other model.")],
    report: ReportFile = None,
    force: ForceReport = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Show how the structure of two models differs, whoever wrote them. Names inside do not count.

    Exit status: 0 the same, 1 different, 2 trouble.
    """
    from opsetlift.cli.comparing import diff_files

    return diff_files(first, second, report=report, overwrite=force, as_json=json, is_quiet=quiet)


@app.command(
    short_help="Show what a model holds and where it runs.",
    epilog="Example: opsetlift inspect model.onnx",
)
def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model, in any format that onnx.load reads.")],
    fast: Annotated[
        bool, typer.Option("--fast", help="Leave out the lowest opsets, which take dry runs to find.")
    ] = False,
    json: Json = False,
) -> int:
    """Show inputs, outputs, versions, operators and sizes of a model, and where it runs."""
    from opsetlift.cli.inspecting import inspect_file

    return inspect_file(model, is_fast=fast, as_json=json)


@app.command(
    short_help="Check models for a runtime, in CI.",
    epilog="Example: opsetlift check '**/*.onnx' --for onnxruntime==1.16 --junit junit.xml",
)
def check(
    models: Annotated[list[str], typer.Argument(metavar="FILE...", help="Models, folders or patterns: '**/*.onnx'.")],
    runtimes: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="TARGET",
            autocompletion=_runtimes,
            help="Runtime that has to accept each model as it is; repeatable.",
        ),
    ] = None,
    max_opset: Annotated[
        int | None, typer.Option("--max-opset", min=1, metavar="N", help="Newest opset that a model may import.")
    ] = None,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit file.")] = None,
    sarif: Annotated[Path | None, typer.Option("--sarif", metavar="FILE", help="Write a SARIF file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite these files.")] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Check that runtimes accept models as they are, and say what to do where they do not.

    The exit status is 2 where a model does not pass, and 1 where a file is not a
    valid model.
    """
    from opsetlift.cli.checking import check_files

    return check_files(
        models,
        runtimes or (),
        max_opset=max_opset,
        junit=junit,
        sarif=sarif,
        overwrite=force,
        is_quiet=quiet,
        as_json=json,
    )


@app.command(
    short_help="Explain the error message of a runtime.",
    epilog="Example: opsetlift diagnose model.onnx 'Unsupported model IR version: 10, max supported IR version: 9'",
)
def diagnose(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="[MODEL] MESSAGE", help="The model, if at hand, and what the runtime says; - reads it."),
    ],
    runtime: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TARGET",
            autocompletion=_runtimes,
            help="The runtime, such as onnxruntime==1.4; by default as installed.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Explain the error message of a runtime, and print the commands that help; with a model each is tried."""
    from opsetlift.cli.diagnosing import diagnose_message

    return diagnose_message(arguments, target=runtime, as_json=json)


@app.command(
    short_help="Show the known runtimes and what they accept.",
    epilog="Example: opsetlift targets onnxruntime==1.4",
)
def targets(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            autocompletion=_runtimes,
            help="Show this runtime, such as onnxruntime==1.4, or a target file.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """List the known runtimes, or show what one of them accepts and how that is known."""
    from opsetlift.cli.targets import show_targets

    return show_targets(name, as_json=json)


@app.command(
    short_help="Measure what a runtime computes.",
    epilog="Example: opsetlift measure --runner ./run_model --name mine > mine.toml",
)
def measure(
    runner: Annotated[
        str,
        typer.Option(
            "--runner",
            metavar="COMMAND",
            help="Program that runs a model in the runtime; called as COMMAND MODEL.onnx INPUTS.npz OUTPUTS.npz.",
        ),
    ],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="The runtime's name.")] = "measured",
    version: Annotated[str, typer.Option("--version", metavar="VERSION", help="The runtime's version.")] = "1",
    persistent: Annotated[
        bool,
        typer.Option(
            "--persistent", help="Start COMMAND once; it reads requests from standard input, one JSON object per line."
        ),
    ] = False,
    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Store answers here; default NAME-VERSION.measured.jsonl.",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Time limit for one model.")] = 20,
) -> int:
    """Measure what a runtime computes by running small models in it, and print a target file for --for."""
    from opsetlift.cli.measuring import measured_page

    return measured_page(runner, name, version, journal, is_persistent=persistent, timeout=timeout)


@app.command(
    short_help="Show how an operator changed between opsets.",
    epilog="Example: opsetlift explain ReduceMin 11 18",
)
def explain(
    operator: Annotated[
        str,
        typer.Argument(
            metavar="OPERATOR", autocompletion=_operators, help="Operator, such as ReduceMin or ai.onnx.ml.Scaler."
        ),
    ],
    opsets: Annotated[
        list[int] | None, typer.Argument(metavar="FROM TO", help="Show only the changes between these two opsets.")
    ] = None,
    json: Json = False,
) -> int:
    """Show how an operator changed from opset to opset, and the rules that convert it."""
    from opsetlift.cli.pages import show_explanation

    if opsets and len(opsets) != 2:
        raise UsageFault("explain needs both opsets or none: explain TopK 9 11, or explain TopK")
    return show_explanation(operator, (opsets[0], opsets[1]) if opsets else None, as_json=json)


@app.command(
    short_help="Show which version transitions have rules.",
    epilog="Example: opsetlift coverage --json",
)
def coverage(
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/coverage.md.")] = False,
) -> int:
    """Show which version transitions of which operators have rules."""
    from opsetlift.cli.pages import show_coverage

    return show_coverage(as_json=json, as_markdown=markdown)
