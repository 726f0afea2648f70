"""The judge of mutants that the proof took for equal: whole models in executors that share no code with the proof.

The original, the model that the mutant made of it and the one that the unchanged code makes of it run on the same
inputs. What the unchanged result shows of an executor (that it rounds otherwise, that it does not know the original's
version) is not held against the mutant. Our own evaluator is asked last, on inputs that the proof never drew, and its
answers are counted apart.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy
import onnx

from benchmarks.mutants.inputs import Inputs, NotDrawn, Values
from opsetlift.specification import dtypes

ENOUGH = 80
"""This many inputs that the original accepts are enough."""
FEWEST = 6
"""With fewer an executor says nothing."""
TRIES = 600
SECONDS = 3.0
"""How long one executor may take over one conversion."""
SLACK = 16
"""Units in the last place of the largest magnitude that executors may add to what a rule declares."""
REPEATS = 64
"""So often a standard runs again on an input that shows a difference: what it draws at random shows nothing."""

Run = Callable[[Values], list[Any]]


@dataclass(frozen=True)
class Opinion:
    """What an executor found."""

    executor: str
    inputs: int
    """On how many it compared the models."""
    difference: str = ""
    """The first input on which they differ, and how; empty where they do not."""
    seen_by_evaluator: bool | None = None
    """Whether our own evaluator differs on that input, too: then the proof never tried one like it."""
    not_loaded: str = ""
    """Why onnxruntime does not load the mutant's model, although it loads what the unchanged code makes."""


class NoExecutor(Exception):
    """An executor does not take a model at all."""


class NotLoaded(NoExecutor):
    """It takes what the unchanged code makes, and not what the mutant makes."""


def _onnxruntime(model: onnx.ModelProto) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise NoExecutor(str(error)[:300]) from error
    return lambda values: list(session.run(None, values))


def _reference(model: onnx.ModelProto) -> Run:
    from onnx.reference import ReferenceEvaluator

    try:
        reference = ReferenceEvaluator(model)
    except Exception as error:
        raise NoExecutor(str(error)[:300]) from error

    def run(values: Values) -> list[Any]:
        with _silence(), numpy.errstate(all="ignore"):
            return list(reference.run(None, values))

    return run


def _evaluator(model: onnx.ModelProto, *, strict: bool = False) -> Run:
    from opsetlift.evaluator import Evaluator

    try:
        evaluator = Evaluator(model, strict=strict, iteration_limit=2000)
    except Exception as error:
        raise NoExecutor(str(error)[:300]) from error
    return lambda values: list(evaluator.run(values).values())


EXECUTORS = {"onnxruntime": _onnxruntime, "onnx.reference": _reference, "our evaluator": _evaluator}


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        yield


def judged(
    original: onnx.ModelProto,
    mutated: onnx.ModelProto,
    baseline: onnx.ModelProto | None,
    *,
    shipped: Sequence[Values] = (),
    ulps: int = 0,
    seed: int = 0,
    enough: int = ENOUGH,
) -> Opinion | None:
    """The opinion of the first executor that has one; None where none has."""
    not_loaded = ""
    for name, load in EXECUTORS.items():
        try:
            opinion = _opinion(name, load, original, mutated, baseline, Inputs(original, seed, shipped), ulps, enough)
        except NotLoaded as error:
            not_loaded = str(error)
            continue
        except (NoExecutor, NotDrawn):
            continue
        if opinion is not None:
            return replace(opinion, not_loaded=not_loaded)
    return Opinion("onnxruntime", 0, not_loaded=not_loaded) if not_loaded else None


def _opinion(
    name: str,
    load: Callable[[onnx.ModelProto], Run],
    original: onnx.ModelProto,
    mutated: onnx.ModelProto,
    baseline: onnx.ModelProto | None,
    inputs: Inputs,
    ulps: int,
    enough: int,
) -> Opinion | None:
    before = _loaded(load, original)
    right = None if baseline is None else _loaded(load, baseline)
    if before is None and right is None:
        return None
    try:
        after = load(mutated)
    except NoExecutor as error:
        if name == "onnxruntime" and right is not None and "NOT_IMPLEMENTED" not in str(error):
            raise NotLoaded(str(error)) from error
        return None
    legal = _legality(original, ulps)
    compared, started = 0, time.process_time()
    for number, values in enumerate(inputs):
        if compared >= enough or number >= TRIES or time.process_time() - started > SECONDS:
            break
        expected = _attempt(before, values)
        wanted = _attempt(right, values)
        if (before is not None and expected is None) or (right is not None and wanted is None):
            # Where the unchanged code's result fails, too, the mutant's says nothing.
            continue
        inputs.take(values)
        agree = expected is None or wanted is None or not difference(expected, wanted, ulps)
        if not agree and ulps:
            # Where the unchanged code's rounding shows (terms overflow half-way, say), any other would, too.
            continue
        if ulps and (_may_overflow(values) or _overflows(values, expected if expected is not None else wanted)):
            # A bound on rounding says nothing of terms that overflow half-way: in another order, or in a wider type,
            # they may not.
            continue
        found = _attempt(after, values)
        different = "it fails" if found is None else _from_all([expected, wanted], found, ulps)
        compared += 1
        if different:
            verdict = legal(values, mutated)
            if verdict is None:
                continue
            standards = [(run, one) for run, one in ((before, expected), (right, wanted)) if run is not None]
            if any(difference(one, run(values), ulps) for run, one in standards for _ in range(REPEATS)):
                continue
            if _is_open(original, values):
                continue
            if not verdict and found is not None and _is_sign_of_open_zero([expected, wanted], found, mutated, values):
                continue
            if name == "onnx.reference" and not verdict:
                if found is None:
                    # It lacks old definitions (Cast to a name of a type, say) and notices as it runs.
                    return None
                # It or our evaluator is wrong there, and nobody knows which: it gives the largest number for infinity
                # where a Resize has antialias, say. onnxruntime, which people run, counts alone.
                compared -= 1
                continue
            return Opinion(name, compared, f"{different}; inputs: {shown(values)}", verdict)
    return Opinion(name, compared) if compared >= min(FEWEST, enough) or (compared and not inputs._types) else None


def _may_overflow(values: Values) -> bool:
    """Whether some number is so large that its square is none of its dtype, or of float."""
    for value in values.values():
        if isinstance(value, numpy.ndarray) and value.dtype.kind in "fV" and "int" not in value.dtype.name:
            limit = min(float(ml_dtypes.finfo(value.dtype).max), float(numpy.finfo(numpy.float32).max)) ** 0.5
            wide = numpy.abs(value.astype(numpy.float64))
            if bool((numpy.isfinite(wide) & (wide > limit)).any()):
                return True
    return False


def _overflows(values: Values, results: Any) -> bool:
    """Whether finite inputs give results that are not."""
    return all(map(_is_finite, values.values())) and not all(map(_is_finite, results))


def _is_finite(value: Any) -> bool:
    return not isinstance(value, numpy.ndarray) or value.dtype.kind != "f" or bool(numpy.isfinite(value).all())


def _from_all(standards: Sequence[list[Any] | None], found: list[Any], ulps: int) -> str:
    """How it differs from each that there is; empty where it is like one of them."""
    differences = [difference(one, found, ulps) for one in standards if one is not None]
    return differences[0] if all(differences) else ""


def _is_sign_of_open_zero(
    standards: Sequence[list[Any] | None], found: list[Any], mutated: onnx.ModelProto, values: Values
) -> bool:
    """Whether results differ in signs of zeros alone, and a Min or Max of the graph chose among zeros of both signs.

    No text says which zero these give; onnxruntime decides by the order and the sizes of the operands.
    """
    if all(difference(one, found, 1, slack=SLACK - 1) for one in standards if one is not None):
        return False
    operands = [list(node.input) for node in mutated.graph.node if node.op_type in ("Min", "Max") and not node.domain]
    wanted = list(dict.fromkeys(name for names in operands for name in names))
    try:
        arrays = _with_constants(mutated, wanted, values)
    except Exception:
        return False
    return any(_have_zeros_of_both_signs([arrays[name] for name in names]) for names in operands)


def _with_constants(model: onnx.ModelProto, names: Sequence[str], values: Values) -> dict[str, Any]:
    from opsetlift.evaluator import Evaluator

    known = {**{one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}, **values}
    computed = [name for name in names if name not in known]
    return {**known, **Evaluator(model, strict=False).run(values, computed)}


def _have_zeros_of_both_signs(arrays: Sequence[Any]) -> bool:
    if any(one.dtype.kind != "f" for one in arrays):
        return False
    together = numpy.broadcast_arrays(*arrays)
    positive, negative = ([(one == 0) & (numpy.signbit(one) == sign) for one in together] for sign in (False, True))
    return bool((numpy.any(positive, axis=0) & numpy.any(negative, axis=0)).any())


def _is_open(original: onnx.ModelProto, values: Values) -> bool:
    """Whether the specification leaves open what the original computes there, as of a NaN that is quantized."""
    from opsetlift.evaluator import Evaluator

    evaluator = Evaluator(original, strict=False, iteration_limit=2000)
    evaluator.run(values)
    return bool(evaluator.open_results.values)


def _loaded(load: Callable[[onnx.ModelProto], Run], model: onnx.ModelProto) -> Run | None:
    try:
        return load(model)
    except NoExecutor:
        return None


def _attempt(run: Run | None, values: Values) -> list[Any] | None:
    try:
        return None if run is None else run(values)
    except NoExecutor:
        raise
    except Exception:
        return None


def _legality(original: onnx.ModelProto, ulps: int) -> Callable[[Values, onnx.ModelProto], bool | None]:
    """Whether our evaluator sees a difference on an input.

    None where the text of the original's version forbids it, or an output has not the shape that the original declares.
    """

    def verdict(values: Values, mutated: onnx.ModelProto) -> bool | None:
        try:
            expected = _evaluator(original)(values)
        except Exception:
            return None
        if any(map(_contradicts, original.graph.output, expected)):
            return None
        try:
            found = _evaluator(mutated)(values)
        except Exception:
            return True
        return bool(difference(expected, found, ulps, slack=0))

    return verdict


def _contradicts(info: onnx.ValueInfoProto, value: Any) -> bool:
    shape = dtypes.shape_of_type(info.type)
    if shape is None or not isinstance(value, numpy.ndarray):
        return False
    sizes = zip(shape, value.shape, strict=False)
    return len(shape) != value.ndim or any(isinstance(one, int) and one != size for one, size in sizes)


def difference(expected: Any, actual: Any, ulps: int, *, slack: int = SLACK) -> str:
    """How two results differ; empty where they do not.

    Floats may be some units of the largest magnitude apart; the sign of a zero counts where no rule rounds.
    """
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple) or len(expected) != len(actual):
            return "another number of values"
        pairs = zip(expected, actual, strict=True)
        return next(filter(None, (difference(one, other, ulps, slack=slack) for one, other in pairs)), "")
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or expected.keys() != actual.keys():
            return "other keys"
        return difference(list(expected.values()), [actual[key] for key in expected], ulps, slack=slack)
    if expected is None or actual is None:
        return "" if expected is actual else "an empty optional on one side"
    one, other = numpy.asarray(expected), numpy.asarray(actual)
    if one.dtype.kind in "OUS" or other.dtype.kind in "OUS":
        same = one.shape == other.shape and all(map(_same_text, one.reshape(-1), other.reshape(-1)))
        return "" if same else f"{_brief(one)} became {_brief(other)}"
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return f"{one.dtype}{list(one.shape)} became {other.dtype}{list(other.shape)}"
    if one.dtype.kind == "c":
        parts = [one.real, one.imag], [other.real, other.imag]
        return difference(*parts, ulps, slack=slack)
    if one.dtype.kind in "biu" or "int" in one.dtype.name:
        return "" if bool((one == other).all()) else _where(one != other, one, other)
    return _float_difference(one, other, ulps, slack)


def _same_text(one: Any, other: Any) -> bool:
    return (one.decode() if isinstance(one, bytes) else str(one)) == (
        other.decode() if isinstance(other, bytes) else str(other)
    )


def _float_difference(one: Any, other: Any, ulps: int, slack: int) -> str:
    eps = float(ml_dtypes.finfo(one.dtype).eps)
    smallest = float(ml_dtypes.finfo(one.dtype).tiny)
    first, second = one.astype(numpy.float64), other.astype(numpy.float64)
    with numpy.errstate(all="ignore"):
        finite = numpy.abs(first[numpy.isfinite(first)])
        largest = max(float(finite.max(initial=0.0)), smallest)
        bad = ~(numpy.abs(first - second) <= (ulps + slack) * eps * largest)
        bad &= ~((first == second) | (numpy.isnan(first) & numpy.isnan(second)))
        if not ulps:
            bad |= (first == 0) & (second == 0) & (numpy.signbit(first) != numpy.signbit(second))
    return _where(bad, one, other) if bool(bad.any()) else ""


def _where(bad: Any, one: Any, other: Any) -> str:
    index = tuple(int(axis[0]) for axis in numpy.nonzero(bad)) if bad.ndim else ()
    return f"at {list(index)} {one[index]} became {other[index]} ({int(bad.sum())} of {bad.size} elements)"


def _brief(value: Any) -> str:
    return numpy.array2string(numpy.asarray(value), threshold=12, separator=", ").replace("\n", "")[:200]


def shown(values: Values) -> str:
    """Inputs in one line."""
    parts = []
    for name, value in values.items():
        array = numpy.asarray(value) if isinstance(value, numpy.ndarray) else None
        parts.append(
            f"{name} = {_brief(value)} {array.dtype}{list(array.shape)}"
            if array is not None
            else f"{name} = {value!r}"[:200]
        )
    return "; ".join(parts)
