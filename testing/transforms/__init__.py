"""Ways to write a model otherwise without changing what it means; each takes a test and gives it back rewritten."""

from __future__ import annotations

from testing.transforms.constants import CONSTANTS
from testing.transforms.files import FILES
from testing.transforms.functions import FUNCTIONS
from testing.transforms.interface import INTERFACE
from testing.transforms.subgraphs import SUBGRAPHS
from testing.transforms.transform import Transform
from testing.transforms.variants import VARIANTS

TRANSFORMS: tuple[Transform, ...] = (*INTERFACE, *CONSTANTS, *SUBGRAPHS, *FUNCTIONS, *FILES, *VARIANTS)

__all__ = ["TRANSFORMS", "Transform"]
