"""Dropout, whose versions enable training mode in different ways.

1   is_test, consumed_inputs
6   -consumed_inputs
7   -is_test: no training mode
10  the mask is boolean
12  ratio attribute -> input; +training_mode; +seed
13  +bfloat16
22  +float8
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Step, unchanged, widen_values
from opsetlift.rulebook.site import Site, has_attribute, is_constant, pop_attribute, widen_if_lost
from opsetlift.specification.dtypes import element_type
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.consumed_inputs import remove_consumed_inputs
from opsetlift_rules.helpers.scalars import scalar

_TEST_FLAG = 6
"""The last opset at which Dropout has is_test, and so a training mode."""

_TRAINING_MODE = 12
"""The first opset at which Dropout has training_mode."""


def remove_the_test_flag(site: Site) -> None:
    """Remove is_test of Dropout-6; a node in training mode becomes Dropout-12, which has training_mode."""
    if pop_attribute(site, "is_test", 0):
        return
    ratio = site.attribute("ratio", 0.5)
    if ratio == 0:
        return
    op, dtype = site.op_at(_TRAINING_MODE), site.dtype(0)
    trains, share = site.constant(True, "bool", "training_mode"), site.constant(ratio, "float", "ratio")
    if site.is_read(1):
        output, mask = op.Dropout(site.input(0), share, trains, outputs=2)
        site.replace(output, op.Cast(mask, to=dtype))
    else:
        site.keep_outputs(1)
        site.replace(op.Dropout(site.input(0), share, trains))


def set_the_test_flag(site: Site) -> None:
    """Set is_test for Dropout-6, which gives no mask then: a mask that is read is a constant of ones."""
    if site.is_read(1):
        op = site.op
        output = op.Dropout(site.input(0), ratio=site.attribute("ratio"), is_test=1)
        site.replace(output, _ones(site, site.dtype(0)))
        return
    site.keep_outputs(1)
    site.set_attribute("is_test", 1)


def _ones(site: Site, dtype: str) -> str:
    op = site.op_at(opsets.BFLOAT16)
    return str(op.Expand(site.constant(1, dtype, "one"), op.Shape(site.input(0))))


def cast_mask_to_the_data_type(site: Site) -> None:
    """Cast the mask of Dropout-10, which is boolean, to the dtype of the data, as Dropout-7 gives it."""
    _cast_mask(site, site.dtype(0))


def cast_mask_to_bool(site: Site) -> None:
    """Cast the mask of Dropout-7, which has the dtype of the data, to bool, as Dropout-10 gives it."""
    _cast_mask(site, "bool")


def _cast_mask(site: Site, dtype: str) -> None:
    if site.is_read(1):
        output, mask = site.op.copy(site.input(0), outputs=2)
        site.replace(output, site.op.Cast(mask, to=dtype))
    else:
        site.keep_outputs(1)


def move_ratio_to_an_input(site: Site) -> None:
    """Move the ratio of Dropout-10 to an input of Dropout-12.

    Without training_mode nothing is dropped, as before; the ratio is kept for later training, unless it is outside of
    [0, 1), to which Dropout-12 confines it.
    """
    ratio = pop_attribute(site, "ratio")
    if ratio is not None and 0 <= ratio < 1:
        site.set_input(len(site.inputs), site.constant(ratio, "float", "ratio"))


def move_ratio_to_an_attribute(site: Site) -> None:
    """Move the ratio of Dropout-12 to the attribute of Dropout-10, where nothing is dropped.

    A node in training mode becomes Dropout-6, or else uniform random numbers; one that may train, too.
    """
    ratio = site.constant_value(1) if site.input(1) else numpy.array(0.5)
    share = None if ratio is None else float(ratio.reshape(-1)[0])
    trains = site.constant_value(2) if site.input(2) else numpy.array(False)
    if share != 0 and (trains is None or trains.any()):
        if site.target > _TEST_FLAG or share is None or trains is None or has_attribute(site, "seed"):
            drop_what_random_numbers_choose(site)
        else:
            _train_below_7(site, share)
        return
    if site.input(1) and share is not None:
        site.set_attribute("ratio", share)
    site.remove_attribute("seed")
    site.remove_input(2)
    site.remove_input(1)
    if site.is_read(1):
        # 12 defines the mask where nothing is dropped; below it runtimes differ.
        site.replace(site.op.copy(site.input(0), outputs=1), _ones(site, "bool"))
    else:
        site.keep_outputs(1)


def leave_out_training_mode(site: Site) -> None:
    """Leave out training_mode and the mask where nothing is dropped; a mask that is read is a constant of ones."""
    trains = site.constant_value(2) if site.input(2) else numpy.array(False)
    if trains is None or trains.any():
        return
    inputs = site.inputs[: 2 if site.input(1) else 1]
    site.replace(site.op.copy(*inputs, outputs=1), _ones(site, "bool") if site.is_read(1) else None)


def drop_what_random_numbers_choose(site: Site) -> None:
    """Replace a Dropout-12 that trains, or may, with data * mask * 1 / (1 - ratio), the formula of its text.

    The mask is where a uniform random number reaches the ratio.
    """
    op, data, dtype = site.op_at(opsets.BFLOAT16), site.input(0), site.dtype(0)
    wide = "double" if dtype == "double" else "float"
    one = site.constant(1.0, "double", "one")

    def share() -> str:
        return str(op.Cast(scalar(site, 1), to="double"))

    ratio = site.folded(share) if site.input(1) else site.constant(0.5, "double", "ratio")
    scale = site.folded(lambda: str(op.Cast(op.Div(one, op.Sub(one, ratio)), to=wide)))
    drawn = op.RandomUniformLike(data, dtype=element_type("double"), low=0.0, high=1.0, seed=_seed(site))
    mask = op.Not(op.Less(drawn, ratio))
    masked = op.Mul(data if dtype == wide else op.Cast(data, to=wide), op.Cast(mask, to=wide))
    output = op.Mul(masked, scale)
    output = output if dtype == wide else op.Cast(output, to=dtype)
    if not is_constant(site, 2):
        trains = scalar(site, 2)
        mask = op.Or(op.Not(trains), mask)
        output = op.Where(trains, output, data)
    site.replace(output, mask)


def _seed(site: Site) -> float | None:
    seed = site.attribute("seed")
    return None if seed is None else float(seed)


def _train_below_7(site: Site, ratio: float) -> None:
    op = site.op_at(_TEST_FLAG)
    output, mask = op.Dropout(site.input(0), ratio=ratio, outputs=2)
    site.replace(output, op.Cast(mask, to="bool") if site.is_read(1) else mask)


def cast_data_and_ratio(site: Site) -> None:
    """Cast data and ratio of Dropout-22 to types of Dropout-13, which takes neither float8 nor a bfloat16 ratio."""
    if site.input(1) and site.dtype(1) not in ("float16", "float", "double"):
        site.set_input(1, site.op.Cast(site.input(1), to="float"))
    widen_if_lost(site)


def copy_or_leave_out_training_mode(site: Site) -> None:
    """Replace a Dropout of which only the data is left with Identity; else write no training_mode and no mask."""
    if not site.is_read(1) and not (site.input(2) if len(site.inputs) > _TRAINS else ""):
        site.keep_outputs(1)
        site.replace(site.op.Identity(site.input(0)))
    else:
        leave_out_training_mode(site)


_TRAINS = 2
"""The input training_mode."""

_UNSET_RATIO = "13 says both 'not set: a copy of the input' and 'not set: 0.5' of the ratio; 22 keeps the latter"

STEPS = [
    Step("Dropout", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Dropout", 6, 7, up=remove_the_test_flag, down=set_the_test_flag),
    Step("Dropout", 7, 10, up=cast_mask_to_the_data_type, down=cast_mask_to_bool),
    Step("Dropout", 10, 12, up=move_ratio_to_an_input, down=move_ratio_to_an_attribute),
    Step("Dropout", 12, 13, up=unchanged, down=widen_values()),
    Step("Dropout", 13, 22, up=unchanged, down=cast_data_and_ratio, because=_UNSET_RATIO),
]

FALLBACKS = [
    Fallback("Dropout", copy_or_leave_out_training_mode),
]
