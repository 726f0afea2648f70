"""Ways to write a model otherwise without changing what it means; each takes a test and gives it back rewritten."""

from __future__ import annotations

from benchmarks.transforms.constants import CONSTANTS
from benchmarks.transforms.files import FILES
from benchmarks.transforms.functions import FUNCTIONS
from benchmarks.transforms.interface import INTERFACE
from benchmarks.transforms.subgraphs import SUBGRAPHS
from benchmarks.transforms.transform import Transform
from benchmarks.transforms.variants import VARIANTS

TRANSFORMS: tuple[Transform, ...] = (*INTERFACE, *CONSTANTS, *SUBGRAPHS, *FUNCTIONS, *FILES, *VARIANTS)
