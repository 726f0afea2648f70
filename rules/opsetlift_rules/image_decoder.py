"""Images in files.

ImageDecoder  20: introduced
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Introduction, refused
from opsetlift.support.refusal import Why

_NOTHING_DECODES = refused(
    Why.NO_EQUIVALENT,
    (
        "the bytes determine the image format at run time, and below opset 20 no operator decompresses JPEG, "
        "PNG, TIFF or WebP: decode the image before the model"
    ),
)

INTRODUCTIONS = [
    Introduction("ImageDecoder", 20, down=_NOTHING_DECODES),
]
