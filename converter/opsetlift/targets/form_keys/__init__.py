"""The keys by which a target file says how a node is written that the runtime does not take."""

from opsetlift.targets.form_keys import (
    attributes,
    axes,
    before,
    channels,
    inputs,
    numbers,
    outputs,
    resizing,
    shapes,
    subgraphs,
    windows,
)
from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import Key, declared_in

MODULES = (
    attributes,
    outputs,
    subgraphs,
    before,
    shapes,
    numbers,
    channels,
    axes,
    resizing,
    windows,
    inputs,
)
"""In this order their keys are tested: those first that look at the node alone."""

KEYS = {one.name: one for module in MODULES for one in declared_in(module)}
"""By name."""

__all__ = ["KEYS", "MODULES", "Key", "Place"]
