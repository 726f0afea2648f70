"""The assertion that two models compute the same."""

from __future__ import annotations

from opsetlift.pipeline.equivalence import prove_models
from opsetlift.pipeline.given import Model
from opsetlift.proof import Data, WholeModelResult


def assert_equivalent(
    a: Model,
    b: Model,
    *,
    inputs: Data | None = None,
    expected: Data | None = None,
    runs: int = 3,
    seed: int = 0,
    ulps: int = 0,
    rtol: float = 0.0,
    atol: float = 0.0,
    base_dir: str = "",
    accept_weak: bool = False,
) -> WholeModelResult:
    """Assert that two models compute the same, bit for bit or within a bound.

    Args:
        a: The first model: a ModelProto, a path, bytes, or any other kind that `opsetlift.convert` takes.
        b: The second model.
        inputs: The inputs by name, an .npz, or a folder of ONNX's test data. Without them, inputs are drawn.
        expected: What both models have to give for these inputs.
        runs: How many drawn inputs both run on at least.
        seed: Random seed for the drawn inputs.
        ulps: How far floats may differ, in units in the last place of the largest magnitude of an output.
        rtol: How far numbers may differ, relative to the first model's.
        atol: How far numbers may differ besides that.
        base_dir: Folder of the external data, by default that of the file.
        accept_weak: Whether it is enough that the models agree on inputs that are not diverse enough for a proof.

    Returns:
        What the comparison found.

    Raises:
        AssertionError: They differ, with the first output and the first node that do; or that they are the same is not
            shown, as where the first model ran on no input.
        ModelFileError, UnusableData: A model, or the data, cannot be read.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    found = prove_models(
        a,
        b,
        inputs=inputs,
        expected=expected,
        runs=runs,
        seed=seed,
        ulps=ulps,
        rtol=rtol,
        atol=atol,
        base_dir=base_dir,
    )
    if not (found.is_equal or (accept_weak and found.agrees)):
        lines = [f"the models are {found.outcome.value}: {found.sentence}"]
        if found.first_difference is not None:
            lines.append(str(found.first_difference))
        raise AssertionError("\n".join(lines))
    return found
