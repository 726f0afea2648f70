"""The preset of the pipeline that brings a model into the form for deployment: `normalize`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from opsetlift.conversion.dtype_policy import KEEP
from opsetlift.pipeline.given import Model
from opsetlift.pipeline.job import Job, Options
from opsetlift.pipeline.results import Normalization as Normalization
from opsetlift.pipeline.results import ProofMissing as ProofMissing
from opsetlift.pipeline.results import normalization_of
from opsetlift.pipeline.stages import STAGES, run
from opsetlift.rulebook.book import RuleBook
from opsetlift.support.garbage import rarely_collected
from opsetlift.targets import Target

if TYPE_CHECKING:
    from opsetlift.normalizer import PassLike, Shapes


def normalize(
    model: Model,
    passes: Sequence[PassLike] | None = None,
    *,
    to: int | Mapping[str, int] | None = None,
    ir: int | None = None,
    target: str | Target | None = None,
    dtypes: Mapping[str, str] | None = None,
    dtype_interface: str = KEEP,
    exact: bool = False,
    fix_shapes: Shapes | None = None,
    size_limit: int | None = None,
    prove: bool = True,
    require_proof: bool = False,
    check: bool = True,
    seed: int = 0,
    base_dir: str = "",
    rule_book: RuleBook | None = None,
    cache: bool = False,
    jobs: int = 1,
) -> Normalization:
    """Simplify a model for deployment. Where a destination is given, it is converted first, as `convert` does.

    A pass of OpsetLift whose result is wrong (it raised an error, the proof or onnx's checker failed) is undone;
    `report.undone` names it, and the other passes run. A pass of the caller is not undone: it raises an error.

    Args:
        model: A ModelProto, a path, bytes, an open file, a `gs.Graph`, an `onnx_ir.Model` or a
            `torch.onnx.ONNXProgram`. It stays as it is.
        passes: Names, `Pass` objects, functions over a `gs.Graph` (and a `Context`, if they take one) or patterns, in
            the order in which they run. "default" and "all" stand for several, and "-name" leaves one out.
        to: As in `opsetlift.convert`, like the other arguments that are not described here.
        ir: The IR version.
        target: The runtime that the result is for.
        dtypes: Dtypes to change first.
        dtype_interface: Whether inputs and outputs keep their dtypes.
        exact: Refuse rules and passes that round, and other dtypes.
        fix_shapes: Sizes for symbolic dimensions, {"batch": 1}, and shapes for inputs, {"x": (1, 3, 224, 224)}.
        size_limit: A computed value of more bytes (by default 1 MiB) is stored in the model only where it takes no more
            room than what it is computed from.
        prove: Prove that the result computes the same.
        require_proof: Raise ProofMissing where something is not proven.
        check: Validate the model, and run onnx's checker on the result.
        seed: Random seed for the proof.
        base_dir: The folder of external data; by default that of the file.
        rule_book: The rules; by default those that are installed.
        cache: Keep the verdicts on rewrites in the user's cache folder, and use those that are there.
        jobs: How many processes prove rewrites where that takes more than half a second: copies of this one, and so
            only on Linux, and where it has no other threads.

    Returns:
        The model, the report, the proof of the passes, and the certificate of everything.

    Raises:
        PassNotEquivalent: A pass of the caller changed what the model computes.
        PassFailed: A pass of the caller failed, or the model cannot be normalised.
        UnknownPass, ShapeFault: What is asked for does not exist.
        ProofMissing, ConversionRefused, and whatever else `convert` raises.
    """
    options = Options.of(
        to=to,
        ir=ir,
        target=target,
        dtypes=dtypes,
        dtype_interface=dtype_interface,
        exact=exact,
        fix_shapes=fix_shapes,
        passes=["default"] if passes is None else passes,
        size_limit=size_limit,
        prove=prove,
        require_proof=require_proof,
        check=check,
        seed=seed,
        rule_book=rule_book,
        cache=cache,
        jobs=jobs,
    )
    with rarely_collected():  # until the job has gone, of which none is garbage
        return normalization_of(run(STAGES, Job(model, options, base_dir)))
