"""Dropout, of which each version says in another way whether it trains.

1   is_test, consumed_inputs
6   consumed_inputs goes
7   is_test goes: it cannot be told to train
10  the mask is boolean
12  ratio becomes an input; training_mode says whether it trains; +seed
13  +bfloat16
22  +float8
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Step, unchanged, values_travel
from opsetlift.rulebook.site import Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.consumed_inputs import consumed_inputs_go

_TRAINS = "the node trains, and from opset 7 to 11 Dropout cannot be told to"


def is_test_goes(site: Site) -> None:
    """Up from 6. What trains goes on to 12, the next version that can be told to."""
    if site.pop_attribute("is_test", 0):
        return
    ratio = site.attribute("ratio", 0.5)
    if ratio == 0:
        return
    if site.target < 12:
        site.refuse(Why.TRAINING_MODE, _TRAINS)
    op, dtype = site.op_at(12), site.dtype(0)
    trains, share = site.scalar(True, "bool", "training_mode"), site.scalar(ratio, "float", "ratio")
    output, mask = op.Dropout(site.input(0), share, trains, outputs=2)
    site.replace(output, op.Cast(mask, to=dtype) if site.is_read(1) else mask)


def is_test_is_set(site: Site) -> None:
    """Down to 6, where the mask of a test is not filled: it is computed, as nothing was dropped."""
    if site.is_read(1):
        op = site.op
        output = op.Dropout(site.input(0), ratio=site.attribute("ratio"), is_test=1)
        site.replace(output, _ones(site, site.dtype(0)))
        return
    site.keep_outputs(1)
    site.set_attribute("is_test", 1)


def _ones(site: Site, dtype: str) -> str:
    op = site.op_at(13)
    return str(op.Expand(site.scalar(1, dtype, "one"), op.Shape(site.input(0))))


def mask_is_cast_to_numbers(site: Site) -> None:
    """Up to 10, where the mask is boolean."""
    _cast_mask(site, site.dtype(0))


def mask_is_cast_to_booleans(site: Site) -> None:
    """Down to 7, where the mask has the dtype of the data."""
    _cast_mask(site, "bool")


def _cast_mask(site: Site, dtype: str) -> None:
    if site.is_read(1):
        output, mask = site.copy(site.input(0), outputs=2)
        site.replace(output, site.op.Cast(mask, to=dtype))
    else:
        site.keep_outputs(1)


def ratio_becomes_an_input(site: Site) -> None:
    """Without training_mode nothing is dropped, as in the versions before; the ratio is kept for whoever trains,
    where it is one: below 12 it has no bounds, and from 12 on it lies in [0, 1).
    """
    ratio = site.pop_attribute("ratio")
    if ratio is not None and 0 <= ratio < 1:
        site.append_input(site.scalar(ratio, "float", "ratio"))


def ratio_becomes_an_attribute(site: Site) -> None:
    """Down to 10. What trains goes on to 6, the next version that can be told to."""
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
        # 12 says what the mask is where nothing is dropped; before, runtimes differ.
        site.replace(site.copy(site.input(0), outputs=1), _ones(site, "bool"))
    else:
        site.keep_outputs(1)


def _trains(site: Site) -> bool:
    if not site.input(2):
        return False
    trains = site.constant_value(2)
    if trains is None:
        site.refuse(
            Why.INPUT_NOT_CONSTANT, "whether the node trains is computed at run time, and below opset 12 it is fixed"
        )
    return bool(trains.reshape(-1)[0])


def _train_below_7(site: Site, ratio: float | None) -> None:
    if site.target >= 7:
        site.refuse(Why.TRAINING_MODE, _TRAINS)
    if ratio is None:
        site.refuse(Why.INPUT_NOT_CONSTANT, "the ratio is computed at run time, and below opset 12 it is an attribute")
    if site.has_attribute("seed"):
        site.refuse(Why.NO_EQUIVALENT, "below opset 12 Dropout cannot be told the seed of its random numbers")
    op: Operators = site.op_at(6)
    output, mask = op.Dropout(site.input(0), ratio=ratio, outputs=2)
    site.replace(output, op.Cast(mask, to="bool") if site.is_read(1) else mask)


def ratio_is_cast(site: Site) -> None:
    """Below 22 neither data nor ratio are float8, and the ratio is not bfloat16."""
    if site.input(1) and site.dtype(1) not in ("float16", "float", "double"):
        site.set_input(1, site.op.Cast(site.input(1), to="float"))
    site.carry_if_lost()


_UNSET_RATIO = "13 has both 'not set: a copy of the input' and 'not set: 0.5' of the ratio; 22 keeps the latter"

STEPS = [
    Step("Dropout", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Dropout", 6, 7, up=is_test_goes, down=is_test_is_set),
    Step("Dropout", 7, 10, up=mask_is_cast_to_numbers, down=mask_is_cast_to_booleans),
    Step("Dropout", 10, 12, up=ratio_becomes_an_input, down=ratio_becomes_an_attribute),
    Step("Dropout", 12, 13, up=unchanged, down=values_travel()),
    Step("Dropout", 13, 22, up=unchanged, down=ratio_is_cast, because=_UNSET_RATIO),
]
