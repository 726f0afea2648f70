"""ImageDecoder, by Pillow, which the extra `opsetlift[images]` installs."""

from __future__ import annotations

import io
from types import ModuleType

import numpy

from opsetlift.evaluator.errors import EvaluationError, NotExecutable
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

_FORMATS = ("BMP", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
"""The formats of the text, by Pillow's names; PPM stands for all portable maps."""

_CODECS = ("jpg", "jpg_2000", "libtiff", "webp", "zlib")
"""What a build of Pillow may lack."""

_DEEP_GRAY = ("I", "F")
"""How Pillow's modes begin for gray of more than 8 bits, which it would cut off at 255."""


@kernel("ImageDecoder", since=[20])
def image_decoder(call: Call, encoded: Array) -> Array:
    """ImageDecoder-20: the pixels of an image file.

    The text weighs no colors for Grayscale; the weights are Pillow's, those of ITU-R BT.601. Of an
    image with transparency the colors are given as they are stored, and of several images in a file the first.

    Args:
        call: `pixel_format` is RGB, BGR or Grayscale.
        encoded: The bytes of the file, uint8 [N].

    Returns:
        uint8 [height, width, 3], for Grayscale [height, width, 1]; [0, 0, channels] where the file cannot be decoded.

    Raises:
        NotExecutable: Pillow or one of its codecs is not installed, or the image has more than 8 bits per gray pixel
            or more pixels than Pillow takes.
    """
    pixel_format = call.attributes["pixel_format"]
    if pixel_format not in ("RGB", "BGR", "Grayscale"):
        call.fail(f"pixel_format must be RGB, BGR or Grayscale, not {pixel_format}")
    channels = 1 if pixel_format == "Grayscale" else 3
    pixels = _decoded(call, encoded.tobytes(), channels)
    if pixels is None:
        # "If it can't decode for any reason ... it will return an empty matrix."
        return numpy.zeros((0, 0, channels), numpy.uint8)
    return pixels[:, :, ::-1] if pixel_format == "BGR" else pixels


def _decoded(call: Call, data: bytes, channels: int) -> Array | None:
    """The pixels, gray or RGB; None where Pillow cannot decode them."""
    image_module = _pillow()
    try:
        with image_module.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.mode.startswith(_DEEP_GRAY):
                raise NotExecutable("images with more than 8 bits per gray pixel are not decoded")
            call.reserve(image.width * image.height * channels)
            pixels = numpy.array(image.convert("L" if channels == 1 else "RGB"))
    except image_module.DecompressionBombError as error:
        raise NotExecutable(f"the image is too large: {error}") from error
    except (EvaluationError, MemoryError):
        raise
    except Exception:  # Pillow's decoders raise what they come across in broken files
        return None
    return pixels.reshape(*pixels.shape[:2], channels)


def _pillow() -> ModuleType:
    try:
        from PIL import Image, features
    except ImportError as error:
        raise NotExecutable("decoding images takes Pillow: pip install 'opsetlift[images]'") from error
    missing = [codec for codec in _CODECS if not features.check(codec)]
    if missing:
        raise NotExecutable(f"this build of Pillow lacks {', '.join(missing)}: pip install 'opsetlift[images]'")
    module: ModuleType = Image
    return module
