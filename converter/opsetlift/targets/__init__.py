"""Targets: what each runtime takes, as data. One TOML file per runtime; users add files of their own.

`find_target("onnxruntime==1.4")` is what `convert(..., target=...)` and `--for` use.
"""

from opsetlift.targets.finding import UnknownTarget, catalogue, files_of, find_target, target_of
from opsetlift.targets.objections import (
    contributed_objection,
    has_kernel,
    known_of_operators,
    may_object,
    node_objection,
)
from opsetlift.targets.ranges import Range
from opsetlift.targets.reading import TargetFileError
from opsetlift.targets.shared_constants import Owners, SharedConstants
from opsetlift.targets.target import Target

__all__ = [
    "Owners",
    "Range",
    "SharedConstants",
    "Target",
    "TargetFileError",
    "UnknownTarget",
    "catalogue",
    "contributed_objection",
    "files_of",
    "find_target",
    "has_kernel",
    "known_of_operators",
    "may_object",
    "node_objection",
    "target_of",
]
