"""Images in files.

ImageDecoder  20: introduced
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Introduction, refused
from opsetlift.support.refusal import Why

_NOTHING_DECODES = refused(
    Why.NO_EQUIVALENT,
    "the file's format is told by its bytes at run time, and below opset 20 no operator unpacks the compressed "
    "streams of JPEG, PNG, TIFF or WebP: decode the image before the model",
)

INTRODUCTIONS = [
    Introduction("ImageDecoder", 20, down=_NOTHING_DECODES),
]
