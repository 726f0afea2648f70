"""The opsets that rules write nodes for or ask the target for, each named for what it brings.

A rule writes nodes for the opset at which they are shortest, and the walk converts them on to the target.
"""

from __future__ import annotations

CONCAT_OF_ALL_TYPES = 4
"""Concat takes every dtype."""

SHAPE_AS_INPUT = 5
"""Reshape takes its shape as an input."""

INTEGERS_IN_ARITHMETIC = 6
"""Add, Sub, Mul and Div take integers of 32 and 64 bits."""

BROADCASTING = 7
"""Binary operators broadcast both inputs as numpy does."""

BROADCASTING_IN_MIN_AND_MAX = 8
"""Min, Max, Sum and Mean broadcast their inputs."""

EXPAND = 8
"""Expand is introduced."""

SCAN = 8
"""Scan is introduced."""

WHERE = 9
"""Where is introduced; Less and Greater take integers."""

NON_ZERO = 9
"""NonZero and ConstantOfShape are introduced."""

SCATTER = 9
"""Scatter is introduced."""

SLICE_ATTRIBUTES = 9
"""The last opset at which the bounds and axes of Slice are attributes."""

SLICE_INPUTS = 10
"""Slice takes its bounds and axes as inputs."""

MOD = 10
"""Mod is introduced."""

RESIZE = 10
"""Resize is introduced: the nearest element is the one before."""

NON_NEGATIVE_INDICES = 10
"""The last opset at which Gather, Scatter and OneHot take no negative indices; older runtimes need no more."""

FLOATS_IN_EQUAL = 11
"""Equal takes floats."""

ODD_PADS_MOVED = 11
"""The odd pad that output_shape of ConvTranspose leaves is on the other side."""

AXES_OF_SUMS_AS_ATTRIBUTE = 10
"""The axes of ReduceSum and the bounds of Clip are attributes."""

UNIQUE = 11
"""Unique is introduced."""

GATHER_ND = 11
"""GatherND is introduced."""

BRANCHES_OF_DIFFERENT_SHAPES = 11
"""The branches of If may give outputs of different shapes."""

INTEGERS_IN_MIN_AND_MAX = 12
"""Min and Max take all integers."""

AXES_AS_INPUTS = 13
"""Squeeze, Unsqueeze and ReduceSum take their axes as inputs, and Split its lengths."""

BFLOAT16 = 13
"""Arithmetic, Cast, Concat, Expand, Gather, Pad, Slice and most older operators take bfloat16."""

SCALES_ALONG_AN_AXIS = 13
"""QuantizeLinear and DequantizeLinear have an axis."""

ALLOWZERO = 14
"""Reshape takes sizes of 0 as such, by `allowzero`."""

ALL_INTEGERS_IN_ARITHMETIC = 14
"""Add, Sub, Mul and Div take integers of 8 and 16 bits, too."""

BFLOAT16_IN_WHERE = 16
"""Where takes bfloat16."""

BFLOAT16_IN_LOOPS = 16
"""If, Loop and Scan take bfloat16."""

REDUCTION_AXES_AS_INPUTS = 18
"""All reductions take their axes as an input."""

PAD_AXES = 18
"""Pad takes axes."""

BFLOAT16_IN_CONSTANT_OF_SHAPE = 20
"""ConstantOfShape takes bfloat16."""
