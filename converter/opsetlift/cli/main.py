"""The commands, and the exit status of each way in which they end.

0 done; 1 bad usage or unusable input; 2 refused; 3 not equivalent; 70 a defect of OpsetLift or of a package whose rules
it applies (OPSETLIFT_TRACEBACK=1 shows where); 74 standard output is closed or full; 128 and the number of the signal
that ended it.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import onnx
import typer

from opsetlift.cli.certificates import prove_again
from opsetlift.cli.conversion import Request, run_request
from opsetlift.cli.errors import (
    DONE,
    INTERNAL,
    INTERRUPTED,
    UNUSABLE,
    Interrupted,
    OutputLost,
    UsageFault,
    status_of,
)
from opsetlift.cli.normalizing import list_passes
from opsetlift.cli.output import complain, occupy_standard_streams, output_lost, show, show_json, standard_output
from opsetlift.cli.pages import coverage_page, explanation_page
from opsetlift.cli.proving import prove_files
from opsetlift.cli.reaching import reach_page
from opsetlift.cli.signals import ignore_further_signals, raised_as_exceptions
from opsetlift.cli.targets import all_targets, target_as_dict, target_page, targets_table
from opsetlift.pipeline.reach import reach as reach_of
from opsetlift.rulebook.coverage import Coverage
from opsetlift.rulebook.explain import explain as explain_operator
from opsetlift.support.internal_error import InternalError, as_json, internal_error
from opsetlift.targets import find_target

app = typer.Typer(
    epilog="Example: opsetlift convert model.onnx out.onnx --to 18",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_LOSSES = (errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT)

To = Annotated[
    list[str] | None,
    typer.Option("--to", metavar="OPSET", help="Target opset: 18 or ai.onnx.ml=3; repeatable."),
]
For = Annotated[
    str | None,
    typer.Option("--for", metavar="TARGET", help="Target runtime: onnxruntime==1.4 or a target file."),
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
    Path | None, typer.Option("--certificate", metavar="FILE", help="Write the certificate of the proof, as JSON.")
]
RequireProof = Annotated[bool, typer.Option("--require-proof", help="Refuse unless everything is proven.")]
NoProve = Annotated[bool, typer.Option("--no-prove", help="Skip the proof.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Report only; skip the proof and write nothing.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite OUT and the certificate.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Random seed for the proof.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither use nor keep verdicts of earlier proofs.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, metavar="N", help="Models at a time; by default one per core."),
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
    given = list(sys.argv[1:] if arguments is None else arguments)
    occupy_standard_streams()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with raised_as_exceptions():
            try:
                return _run(given)
            except (Exception, Interrupted, KeyboardInterrupt) as error:
                ignore_further_signals()
                return _report(error, is_json="--json" in given)
    except OutputLost as lost:
        status, sentences = status_of(lost)
        complain(*sentences)
        return status


def _run(arguments: Sequence[str]) -> int:
    try:
        with warnings.catch_warnings():
            # Warnings of libraries are for programmers.
            warnings.simplefilter("ignore")
            status = int(app(args=list(arguments), prog_name="opsetlift", standalone_mode=False) or DONE)
    except SystemExit as error:
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
        show_json(as_json(error if isinstance(error, InternalError) else internal_error(error, "a command")))
    elif is_json and status == UNUSABLE:
        show_json({"status": "error", "message": " ".join(sentences)})
    return status


def _print_version(is_asked_for: bool) -> None:
    if is_asked_for:
        show(f"opsetlift {version('opsetlift')} (onnx {onnx.__version__})")
        raise typer.Exit


@app.callback()
def opsetlift(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
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
        Path,
        typer.Argument(metavar="OUT", help="File, whose extension is the format, or folder."),
    ],
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
    require_proof: RequireProof = False,
    no_prove: NoProve = False,
    dry_run: DryRun = False,
    force: Force = False,
    seed: Seed = 0,
    no_cache: NoCache = False,
    jobs: Jobs = None,
    skip_existing: SkipExisting = False,
    summary: Summary = None,
    json: Json = False,
) -> int:
    """Convert a model to another opset, IR version, runtime or dtype, prove that it computes the same, and write it."""
    return run_request(
        Request(
            command="convert",
            source=source,
            target=target,
            to=to,
            ir=ir,
            runtime=runtime,
            dtype=dtype,
            dtype_interface=dtype_interface,
            exact=exact,
            fix_shapes=fix_shapes,
            normalize=normalize,
            passes=passes,
            dry_run=dry_run,
            certificate=certificate,
            no_prove=no_prove,
            require_proof=require_proof,
            force=force,
            seed=seed,
            no_cache=no_cache,
            jobs=jobs,
            skip_existing=skip_existing,
            summary=summary,
            json=json,
        )
    )


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
        typer.Argument(metavar="OUT", help="File, whose extension is the format, or folder."),
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
    require_proof: RequireProof = False,
    no_prove: NoProve = False,
    dry_run: DryRun = False,
    force: Force = False,
    seed: Seed = 0,
    no_cache: NoCache = False,
    jobs: Jobs = None,
    skip_existing: SkipExisting = False,
    summary: Summary = None,
    json: Json = False,
) -> int:
    """Simplify a model, after a conversion where one is asked for, and prove it."""
    if list_them:
        return list_passes(as_json=json)
    if source is None or target is None:
        raise UsageFault("normalize takes two files, IN and OUT, or --list")
    return run_request(
        Request(
            command="normalize",
            source=source,
            target=target,
            to=to,
            ir=ir,
            runtime=runtime,
            dtype=dtype,
            dtype_interface=dtype_interface,
            exact=exact,
            fix_shapes=fix_shapes,
            normalize=True,
            passes=passes,
            dry_run=dry_run,
            certificate=certificate,
            no_prove=no_prove,
            require_proof=require_proof,
            force=force,
            seed=seed,
            no_cache=no_cache,
            jobs=jobs,
            skip_existing=skip_existing,
            summary=summary,
            json=json,
        )
    )


@app.command(
    short_help="Check whether two models compute the same.",
    epilog="Example: opsetlift prove model.onnx out.onnx --certificate certificate.json",
)
def prove(
    first: Annotated[Path, typer.Argument(metavar="A", help="Reference model.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Model to compare with A.")],
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Run on the arrays of this .npz file, one per input.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Minimum number of random inputs.")] = 5,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Random seed.")] = 0,
    ulps: Annotated[
        int, typer.Option(min=0, metavar="N", help="Allowed difference in units in the last place (ULP).")
    ] = 0,
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
    json: Json = False,
) -> int:
    """Run two models on the same inputs and report whether they compute the same."""
    if certificate is not None:
        if inputs is not None or judge is not None:
            raise UsageFault("--certificate chooses its own inputs and evaluator: leave out --inputs and --judge")
        return prove_again(certificate, first, second, as_json=json, runtime=runtime)
    if runtime is not None:
        raise UsageFault("--for is used only with --certificate, to describe the runtime that it names")
    if judge not in (None, "ort"):
        raise UsageFault(f"unknown evaluator {judge!r}: use ort, which is onnxruntime")
    return prove_files(
        first, second, inputs=inputs, runs=runs, seed=seed, ulps=ulps, as_json=json, asks_onnxruntime=judge == "ort"
    )


@app.command(
    short_help="Show where a model can be converted to.",
    epilog="Example: opsetlift reach model.onnx --for onnxruntime==1.4",
)
def reach(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model, in any format that onnx.load reads.")],
    runtimes: Annotated[
        list[str] | None,
        typer.Option("--for", metavar="TARGET", help="Show only this runtime, such as onnxruntime==1.4; repeatable."),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Refuse conversions that change rounding.")] = False,
    json: Json = False,
) -> int:
    """Show the opsets and runtimes that a model can be converted to, and what blocks the others. Writes nothing."""
    found = reach_of(model, targets=runtimes or None, exact=exact)
    if json:
        show_json(found.as_dict())
    else:
        show(*reach_page(found, is_detailed=bool(runtimes)))
    return DONE


@app.command(
    short_help="Show the known runtimes and what they accept.",
    epilog="Example: opsetlift targets onnxruntime==1.4",
)
def targets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Show this runtime, such as onnxruntime==1.4, or a target file."),
    ] = None,
    json: Json = False,
) -> int:
    """List the known runtimes, or show what one of them accepts and how that is known."""
    if json:
        show_json([target_as_dict(find_target(name))] if name else [target_as_dict(one) for one in all_targets()])
    elif name:
        show(*target_page(find_target(name)))
    else:
        show(targets_table())
    return DONE


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
        str, typer.Argument(metavar="OPERATOR", help="Operator, such as ReduceMin or ai.onnx.ml.Scaler.")
    ],
    opsets: Annotated[
        list[int] | None, typer.Argument(metavar="FROM TO", help="Show only the changes between these two opsets.")
    ] = None,
    json: Json = False,
) -> int:
    """Show how an operator changed from opset to opset, and the rules that convert it."""
    if opsets and len(opsets) != 2:
        raise UsageFault("explain takes an operator and either no opsets or two")
    explanation = explain_operator(operator, (opsets[0], opsets[1]) if opsets else None)
    if json:
        show_json(explanation.as_dict())
    else:
        show(*explanation_page(explanation))
    return DONE


@app.command(
    short_help="Show which version transitions have rules.",
    epilog="Example: opsetlift coverage --json",
)
def coverage(
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/coverage.md.")] = False,
) -> int:
    """Show which version transitions of which operators have rules."""
    found = Coverage()
    if json:
        show_json(found.as_dict())
    elif markdown:
        show(found.markdown().rstrip("\n"))
    else:
        show(*coverage_page(found))
    return DONE
