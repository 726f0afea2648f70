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

from opsetlift.rulebook.rule import Step, unchanged, widen_values
from opsetlift.rulebook.site import Operators, Site, has_attribute, pop_attribute, widen_if_lost
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.consumed_inputs import remove_consumed_inputs

_TEST_FLAG = 6
"""The last opset at which Dropout has is_test, and so a training mode."""

_TRAINING_MODE = 12
"""The first opset at which Dropout has training_mode."""

_TRAINS = "the node is in training mode, which Dropout does not support at opsets 7 to 11"


def remove_the_test_flag(site: Site) -> None:
    """Remove is_test of Dropout-6; a node in training mode becomes Dropout-12, which has training_mode."""
    if pop_attribute(site, "is_test", 0):
        return
    ratio = site.attribute("ratio", 0.5)
    if ratio == 0:
        return
    if site.target < _TRAINING_MODE:
        site.refuse(Why.TRAINING_MODE, _TRAINS)
    op, dtype = site.op_at(_TRAINING_MODE), site.dtype(0)
    trains, share = site.constant(True, "bool", "training_mode"), site.constant(ratio, "float", "ratio")
    output, mask = op.Dropout(site.input(0), share, trains, outputs=2)
    site.replace(output, op.Cast(mask, to=dtype) if site.is_read(1) else mask)


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
    """Move the ratio of Dropout-12 to the attribute of Dropout-10; a node in training mode becomes Dropout-6."""
    ratio = site.constant_value(1) if site.input(1) else None
    share = 0.5 if ratio is None else float(ratio.reshape(-1)[0])
    if _trains(site) and (share != 0 or (site.input(1) and ratio is None)):
        _train_below_7(site, None if site.input(1) and ratio is None else share)
        return
    if ratio is not None:
        site.set_attribute("ratio", share)
    site.remove_attribute("seed")
    site.remove_input(2)
    site.remove_input(1)
    if site.is_read(1):
        # 12 defines the mask where nothing is dropped; below it runtimes differ.
        site.replace(site.op.copy(site.input(0), outputs=1), _ones(site, "bool"))
    else:
        site.keep_outputs(1)


def _trains(site: Site) -> bool:
    if not site.input(2):
        return False
    trains = site.constant_value(2)
    if trains is None:
        site.refuse(Why.INPUT_NOT_CONSTANT, "training_mode is computed at run time; below opset 12 it must be constant")
    return bool(trains.reshape(-1)[0])


def _train_below_7(site: Site, ratio: float | None) -> None:
    if site.target > _TEST_FLAG:
        site.refuse(Why.TRAINING_MODE, _TRAINS)
    if ratio is None:
        site.refuse(Why.INPUT_NOT_CONSTANT, "the ratio is computed at run time; below opset 12 it is an attribute")
    if has_attribute(site, "seed"):
        site.refuse(Why.NO_EQUIVALENT, "Dropout has no seed below opset 12")
    op: Operators = site.op_at(_TEST_FLAG)
    output, mask = op.Dropout(site.input(0), ratio=ratio, outputs=2)
    site.replace(output, op.Cast(mask, to="bool") if site.is_read(1) else mask)


def cast_data_and_ratio(site: Site) -> None:
    """Cast data and ratio of Dropout-22 to types of Dropout-13, which takes neither float8 nor a bfloat16 ratio."""
    if site.input(1) and site.dtype(1) not in ("float16", "float", "double"):
        site.set_input(1, site.op.Cast(site.input(1), to="float"))
    widen_if_lost(site)


_UNSET_RATIO = "13 says both 'not set: a copy of the input' and 'not set: 0.5' of the ratio; 22 keeps the latter"

STEPS = [
    Step("Dropout", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Dropout", 6, 7, up=remove_the_test_flag, down=set_the_test_flag),
    Step("Dropout", 7, 10, up=cast_mask_to_the_data_type, down=cast_mask_to_bool),
    Step("Dropout", 10, 12, up=move_ratio_to_an_input, down=move_ratio_to_an_attribute),
    Step("Dropout", 12, 13, up=unchanged, down=widen_values()),
    Step("Dropout", 13, 22, up=unchanged, down=cast_data_and_ratio, because=_UNSET_RATIO),
]
