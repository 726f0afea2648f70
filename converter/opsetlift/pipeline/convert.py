"""The preset of the pipeline that takes a model elsewhere: `convert`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from opsetlift.conversion.dtype_policy import KEEP
from opsetlift.pipeline.given import Model
from opsetlift.pipeline.job import Job, Options
from opsetlift.pipeline.results import Conversion as Conversion
from opsetlift.pipeline.results import conversion_of
from opsetlift.pipeline.stages import STAGES, run
from opsetlift.rulebook.book import RuleBook
from opsetlift.support.arguments import of_kind
from opsetlift.support.garbage import rarely_collected
from opsetlift.targets import Target

if TYPE_CHECKING:
    from opsetlift.normalizer import PassLike, Shapes


def convert(
    model: Model,
    *,
    to: int | Mapping[str, int] | None = None,
    ir: int | None = None,
    target: str | Target | None = None,
    dtypes: Mapping[str, str] | None = None,
    dtype_interface: str = KEEP,
    exact: bool = False,
    fix_shapes: Shapes | None = None,
    normalize: bool | Sequence[PassLike] = False,
    size_limit: int | None = None,
    prove: bool = True,
    require_proof: bool = False,
    check: bool = True,
    seed: int = 0,
    base_dir: str = "",
    rule_book: RuleBook | None = None,
    cache: bool = False,
    jobs: int = 1,
) -> Conversion:
    """Convert a model to other opsets, an IR version, a runtime or other dtypes.

    Args:
        model: A ModelProto, a path, bytes, an open file, a `gs.Graph`, an `onnx_ir.Model` or a
            `torch.onnx.ONNXProgram`. It stays as it is.
        to: The opset of ai.onnx, or opsets by domain. Domains that nothing in the model imports are left out.
        ir: The IR version; by default the lowest that the result needs.
        target: The runtime that the result is for, such as "onnxruntime==1.4". Opsets and IR version that are not given
            are the nearest that it accepts. Whatever else it is known not to accept is refused.
        dtypes: Dtypes to change first, such as {"int64": "int32"}, wherever the schemas permit it; never exact.
        dtype_interface: "keep" leaves inputs and outputs in their dtypes, behind Cast nodes; "change" changes them.
        exact: Refuse rules and passes that round, and other dtypes.
        fix_shapes: Sizes for symbolic dimensions, {"batch": 1}, and shapes for inputs, {"x": (1, 3, 224, 224)}.
        normalize: Run passes on the result: True for the default ones, or those to run, as in `opsetlift.normalize`.
        size_limit: As in `opsetlift.normalize`.
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
        The model, the report and the certificate; `as_given` is the model in the kind that was given.

    Raises:
        ConversionRefused: The model cannot be converted; it names every place.
        NotEquivalent: The proof found a difference.
        ProofMissing: A proof is required, and there is none.
        UnreachableTarget, UnknownTarget, UnusableDtypes, ShapeFault, UnknownPass: What is asked for does not exist.
        PassFailed, PassNotEquivalent: A pass of the caller is wrong.
        ModelFileError: The file or the model cannot be read.
        TypeError: An argument is of another type.
        InternalError: A defect of OpsetLift, or of a package whose rules it applies.
    """
    passes: Sequence[PassLike] | None = None
    if normalize is not False:
        wanted = "True, False or a list of passes"
        passes = ["default"] if normalize is True else of_kind(normalize, Sequence, "normalize", wanted)
    options = Options.of(
        to=to,
        ir=ir,
        target=target,
        dtypes=dtypes,
        dtype_interface=dtype_interface,
        exact=exact,
        fix_shapes=fix_shapes,
        passes=passes,
        size_limit=size_limit,
        prove=prove,
        require_proof=require_proof,
        check=check,
        seed=seed,
        rule_book=rule_book,
        cache=cache,
        jobs=jobs,
    )
    options.need_a_destination()
    with rarely_collected():  # until the job has gone, of which none is garbage
        return conversion_of(run(STAGES, Job(model, options, base_dir)))


_Kind = TypeVar("_Kind")


def convert_version(model: _Kind, target_version: int) -> _Kind:
    """A drop-in for `onnx.version_converter.convert_version`: a new model, without proof and check.

    Args:
        model: A ModelProto. Of what else `convert` takes, bytes, a `gs.Graph`, an `onnx_ir.Model` or a program give the
            same kind, and a path or an open file gives a ModelProto.
        target_version: The opset of ai.onnx.

    Raises:
        ConversionRefused: It cannot be converted.
        TypeError: `target_version` is no whole number.
    """
    result: _Kind = convert(model, to=target_version, prove=False, check=False).as_given
    return result
