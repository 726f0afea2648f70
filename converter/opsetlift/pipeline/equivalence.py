"""Whether two models compute the same, of any kind that callers have."""

from __future__ import annotations

from opsetlift.model.files import repaired, validated
from opsetlift.pipeline.given import Model, opened
from opsetlift.proof import Data, WholeModelResult
from opsetlift.proof import prove_models as prove_opened


def prove_models(
    a: Model,
    b: Model,
    *,
    inputs: Data | None = None,
    expected: Data | None = None,
    runs: int = 5,
    seed: int = 0,
    ulps: int = 0,
    rtol: float = 0.0,
    atol: float = 0.0,
    base_dir: str = "",
) -> WholeModelResult:
    """Execute two models on the same inputs and compare their outputs.

    Symbolic dimensions are bound alike in all inputs. What the first model rejects is redrawn from narrower ranges.

    Args:
        a: The first model, in any kind that `opsetlift.convert` takes.
        b: The second model.
        inputs: The inputs by name, an .npz that holds them, or a folder of ONNX's test data: `input_0.pb` and so on, or
            folders `test_data_set_*` with such files. Without them, inputs are drawn from the declared types.
        expected: What both models have to give for these inputs, in the same ways; of a folder `output_0.pb` and so on,
            which are used without being asked for where they lie beside the inputs.
        runs: How many drawn inputs both run on at least. More follow until each input has held every kind of value
            that its dtype has and the first model accepts.
        seed: Random seed for the drawn inputs.
        ulps: How far floats may differ, in units in the last place of the largest magnitude of an output.
        rtol: How far numbers may differ, relative to the first model's (or to what is expected), element by element.
        atol: How far numbers may differ besides that. A difference that one of the bounds allows is none.
        base_dir: Folder of the external data, by default that of the file.

    Returns:
        The outcome, with the first output that differs, or what keeps equal outputs from being a proof.

    Raises:
        ModelFileError: A model cannot be read, or is not sound.
        TypeError: `runs`, `seed` or `ulps` is no whole number, or `rtol` or `atol` no number.
        ValueError: One of them is too small, or NaN.
        UnusableData: `inputs` or `expected` cannot be read, or are not those of the models.
    """
    one, other = opened(a, base_dir), opened(b, base_dir)
    for given in (one, other):
        validated(repaired(given.model)[0])
    return prove_opened(
        one.model,
        other.model,
        inputs=inputs,
        expected=expected,
        runs=runs,
        seed=seed,
        ulps=ulps,
        rtol=rtol,
        atol=atol,
        base_dir=one.base_dir,
        other_dir=other.base_dir,
    )
