"""BatchNormalization, whose versions enable training mode in different ways.

1   images only; is_test, consumed_inputs, spatial
6   any rank of 2 and more; -consumed_inputs
7   -is_test: it trains if it has more outputs than Y; without spatial there are statistics of each element
9   -spatial; an input of rank 1 has one channel
14  +training_mode; -saved_mean -saved_var; mean and var may have another dtype, +bfloat16
15  scale and B may have a dtype of their own
"""

from __future__ import annotations

from collections.abc import Callable

import numpy

from opsetlift.rulebook.rule import Apply, Fallback, Rule, Step, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site, is_constant, pop_attribute
from opsetlift.specification.dtypes import DIGITS
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.consumed_inputs import remove_consumed_inputs
from opsetlift_rules.helpers.images import as_image, is_image
from opsetlift_rules.helpers.separating import put_maxima_before

_TRAINS_BY_OUTPUTS = 7
"""The version that trains if it has more outputs than Y, where earlier ones ask is_test."""

_EPSILON = float(numpy.float32(1e-5))
"""The default of epsilon, which is an attribute of float whatever the dtype of X."""

_ROUNDED_ONCE = "computed in the widest dtype of all inputs and rounded once"


def add_consumed_inputs(site: Site) -> None:
    """Add consumed_inputs, which BatchNormalization-1 requires; reshape inputs of other ranks than 4 to images."""
    if is_image(site):
        site.set_attribute("consumed_inputs", [0, 0, 0, 0, 0])
        return
    op = site.op_at(opsets.AXES_AS_INPUTS)
    image, back = as_image(site, op, site.input(0))
    _replace_first(site, site.op.copy(image, *site.inputs[1:], consumed_inputs=[0, 0, 0, 0, 0]), back)


def _replace_first(site: Site, results: str | tuple[str, ...], back: Callable[[str], str]) -> None:
    first, *others = (results,) if isinstance(results, str) else results
    site.replace(back(first), *others)


def replace_the_test_flag_with_outputs(site: Site) -> None:
    """Replace is_test of BatchNormalization-6 with the number of outputs, by which 7 decides whether to train.

    A node without is_test gets all five outputs, so that it still trains.
    """
    if pop_attribute(site, "is_test", 0):
        _keep_result_only(site, "is_test")
        # In version 6 the statistics are per channel either way, and nothing else depends on spatial here.
        site.remove_attribute("spatial")
        return
    if (
        not pop_attribute(site, "spatial", 1)
        and site.rank(0, because="spatial=0 means the same at opsets 6 and 7 only for rank 2") > 2
    ):
        site.refuse(
            Why.INVALID_MODEL,
            "spatial=0 asks for a mean per feature, but BatchNormalization-6 has one mean per channel",
        )
    site.ask_for_outputs(range(5))


def _keep_result_only(site: Site, mode: str) -> None:
    for position in range(1, len(site.node.output)):
        if site.is_read(position):
            site.refuse(
                Why.INVALID_MODEL,
                f"output {position} is read, but with {mode} the specification defines no value for it",
            )
    site.keep_outputs(1)


def replace_outputs_with_the_test_flag(site: Site) -> None:
    """Set is_test of BatchNormalization-6 where BatchNormalization-7 has one output only.

    With spatial=0 the input is flattened, so that the statistics of each element become those of channels.
    """
    trains = any(site.node.output[1:])
    if pop_attribute(site, "spatial", 1):
        if not trains:
            site.set_attribute("is_test", 1)
        return
    _flatten(site, is_test=None if trains else 1, spatial=None)


def flatten_statistics_per_element(site: Site) -> None:
    """Flatten the input of BatchNormalization-7 with spatial=0, as the text of version 9 suggests."""
    if pop_attribute(site, "spatial", 1) == 0:
        _flatten(site)


def _flatten(site: Site, **attributes: int | None) -> None:
    op = site.op_at(opsets.BFLOAT16)
    line = site.constant([-1], "int64", "shape")
    parameters = [op.Reshape(name, line) for name in site.inputs[1:]]
    results = site.op.copy(op.Flatten(site.input(0), axis=1), *parameters, **attributes)
    results = (results,) if isinstance(results, str) else results
    wide = site.op_at(opsets.ALLOWZERO)
    for_y, for_statistics = op.Shape(site.input(0)), op.Shape(site.input(3)) if len(results) > 1 else ""
    site.replace(
        *(
            wide.Reshape(result, for_statistics if position else for_y, allowzero=1) if result else None
            for position, result in enumerate(results)
        )
    )


def add_a_channel_axis_to_vectors(site: Site) -> None:
    """Give inputs [N] of BatchNormalization-9 the shape [N, 1]: version 7 defines nothing for rank 1."""
    if site.rank(0, because="an input of rank 1 has one channel only from opset 9 on") > 1:
        return
    op, axis = site.op_at(opsets.AXES_AS_INPUTS), site.constant([1], "int64")
    results = site.op.copy(op.Unsqueeze(site.input(0), axis), *site.inputs[1:])
    _replace_first(site, results, lambda result: str(op.Squeeze(result, axis)))


def set_training_mode(site: Site) -> None:
    """Set training_mode of BatchNormalization-14 where BatchNormalization-9 trains: if it has more outputs than Y."""
    if not any(site.node.output[1:]):
        site.keep_outputs(1)
        return
    for position in range(3, len(site.node.output)):
        if site.is_read(position):
            site.refuse(
                Why.NO_EQUIVALENT,
                (
                    f"output {position} (saved_mean or saved_var) is read, and BatchNormalization has no such "
                    "output from opset 14 on"
                ),
            )
    site.keep_outputs(3)
    site.set_attribute("training_mode", 1)


def replace_training_mode_with_outputs(site: Site) -> None:
    """Write training_mode of BatchNormalization-14 as the outputs of version 9; compute mixed dtypes in one."""
    if pop_attribute(site, "training_mode", 0):
        site.ask_for_outputs(range(5))
    else:
        _keep_result_only(site, "training_mode=0")
    compute_in_one_dtype(site, ["float16", "float", "double"])


def compute_parameters_and_input_in_one_dtype(site: Site) -> None:
    """Compute BatchNormalization-15 in one dtype: in version 14 only mean and variance may have their own."""
    if site.dtype(1) != site.dtype(0):
        compute_in_one_dtype(site, [])


def compute_in_one_dtype(site: Site, allowed: list[str]) -> None:
    """Compute in the widest dtype, unless the inputs share one of the `allowed`."""
    dtypes = [site.dtype(position) for position in range(5)]
    if len(set(dtypes)) == 1 and dtypes[0] in allowed:
        return
    # Batch statistics have the precision of the batch, even if the running statistics are wider.
    site.rounds(fewer_digits=max(0, DIGITS[dtypes[3]] - DIGITS[dtypes[0]]))
    widest = "double" if "double" in dtypes else "float"
    op = site.op
    inputs = [_cast(op, name, dtype, widest) for name, dtype in zip(site.inputs, dtypes, strict=True)]
    results = site.op.copy(*inputs)
    results = (results,) if isinstance(results, str) else results
    wanted = [dtypes[0], *dtypes[3:5], *dtypes[3:5]]
    site.replace(
        *(
            _cast(op, name, widest, dtype) if site.is_read(position) else name
            for position, (name, dtype) in enumerate(zip(results, wanted, strict=False))
        )
    )


def _cast(op: Operators, name: str, dtype: str, wanted: str) -> str:
    return name if dtype == wanted or not name else str(op.Cast(name, to=wanted))


def compute_batch_statistics(site: Site) -> None:
    """Compute the statistics of a batch where the node trains; else add an axis, or keep apart from the node before.

    Vectors get the axis: no form is of vectors and of what is merged.
    """
    if site.attribute("training_mode", 0) or any(site.node.output[1:]):
        site.rounds()
        _compute_statistics_of_the_batch(site)
    elif len(site.shape(0) or ()) == 1:
        add_a_channel_axis_to_vectors(site)
    else:
        put_maxima_before(site)


def normalize_by_computed_parameters(site: Site) -> None:
    """Subtract the mean, multiply by scale / sqrt(var + epsilon) and add B, where a node computes one of these.

    X [N, C, *spatial], float or double; the other inputs are [C], in the dtype of X. A vector gets its second axis from
    the rule that is tried first.
    """
    trains = site.attribute("training_mode", 0) or any(site.node.output[1:])
    is_told_by_outputs = site.opset >= _TRAINS_BY_OUTPUTS
    if trains or not is_told_by_outputs or all(is_constant(site, position) for position in range(1, 5)):
        return
    dtype = site.dtype(0)
    same = all(site.dtype(position) == dtype for position in range(1, 5))
    if dtype not in ("float", "double") or not same or not site.attribute("spatial", 1):
        return
    op = site.op_at(opsets.BFLOAT16)
    rank = site.rank(0, because="the parameters are repeated along all dimensions but the channels")
    if rank == 1:
        return
    shape = site.constant([1, -1, *[1] * (rank - 2)], "int64", "channels")
    scale, b, mean, variance = (op.Reshape(value, shape) for value in site.inputs[1:5])
    epsilon = site.constant(site.attribute("epsilon", _EPSILON), dtype, "epsilon")
    factor = op.Div(scale, op.Sqrt(op.Add(variance, epsilon)))
    site.replace(op.Add(op.Mul(op.Sub(site.input(0), mean), factor), b))


def _compute_statistics_of_the_batch(site: Site) -> None:
    """Compute the mean and variance of a batch with operators, for runtimes without training mode.

    The running statistics are not updated: nothing may read them.

    X [N, C, *spatial], float or double; the other inputs are [C].
    """
    if any(map(site.is_read, range(1, len(site.node.output)))):
        site.refuse(Why.TRAINING_MODE, "its running statistics are read")
    if site.dtype(0) not in ("float", "double") or not site.attribute("spatial", 1):
        return
    op = site.op_at(opsets.BFLOAT16)
    rank = site.rank(0, because="the mean and variance are taken over all dimensions but the channels")
    axes = [0, *range(2, rank)]
    value, channels = site.input(0), site.constant([-1], "int64", "channels")
    mean = op.ReduceMean(value, axes=axes)
    centred = op.Sub(value, mean)
    variance = op.ReduceMean(op.Mul(centred, centred), axes=axes)
    statistics = (op.Reshape(one, channels) for one in (mean, variance))
    site.replace(site.op.copy(*site.inputs[:3], *statistics, outputs=1, training_mode=None, momentum=None))


def _in_one_dtype(rule: Apply, when: str) -> Rule:
    return rounding(
        rule,
        ulps=2,
        when=when,
        because=_ROUNDED_ONCE,
        fewer_digits=DIGITS["double"] - DIGITS["bfloat16"],
    )


_SEPARATE_DTYPES = (
    "15 gives scale and B a type of their own; 14 leaves open that float16 data may have float statistics"
)

_REPLACE_TRAINING_MODE_WITH_OUTPUTS = _in_one_dtype(replace_training_mode_with_outputs, "dtypes are mixed or bfloat16")
_PARAMETERS_GET_ONE_DTYPE = _in_one_dtype(
    compute_parameters_and_input_in_one_dtype, "scale and B have another dtype than the input"
)

STEPS = [
    Step("BatchNormalization", 1, 6, up=remove_consumed_inputs, down=add_consumed_inputs),
    Step("BatchNormalization", 6, 7, up=replace_the_test_flag_with_outputs, down=replace_outputs_with_the_test_flag),
    Step("BatchNormalization", 7, 9, up=flatten_statistics_per_element, down=add_a_channel_axis_to_vectors),
    Step("BatchNormalization", 9, 14, up=set_training_mode, down=_REPLACE_TRAINING_MODE_WITH_OUTPUTS),
    Step("BatchNormalization", 14, 15, up=unchanged, down=_PARAMETERS_GET_ONE_DTYPE, because=_SEPARATE_DTYPES),
]

_NORMALIZE_OTHERWISE = rounding(
    compute_batch_statistics,
    ulps=8,
    when="it trains",
    because="mean, variance, root and quotient round one by one",
)

FALLBACKS = [
    Fallback("BatchNormalization", _NORMALIZE_OTHERWISE, otherwise=normalize_by_computed_parameters),
]
