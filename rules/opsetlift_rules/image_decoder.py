"""Images in files.

ImageDecoder  20: born
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Birth, refused
from opsetlift.support.refusal import Why

_NOTHING_DECODES = refused(
    Why.NO_EQUIVALENT,
    "the file's format is told by its bytes at run time, and below opset 20 no operator unpacks the compressed "
    "streams of JPEG, PNG, TIFF or WebP: decode the image before the model",
)

BIRTHS = [
    Birth("ImageDecoder", 20, down=_NOTHING_DECODES),
]
