"""ImageDecoder: BMP, PNG, uncompressed TIFF, portable maps and sequential JPEG (in jpeg.py).

JPEG2000, WebP and rarer kinds of the others would take a library; they end in NotExecutable.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy
from numpy.typing import NDArray

from opsetlift.evaluator.errors import NotExecutable
from opsetlift.evaluator.kernels.jpeg import decode_jpeg
from opsetlift.evaluator.kernels.registry import Call, kernel

Array = NDArray[Any]


@kernel("ImageDecoder", since=[20])
def image_decoder(call: Call, encoded: Array) -> Array:
    pixel_format = call.attributes["pixel_format"]
    if pixel_format not in ("RGB", "BGR", "Grayscale"):
        call.fail(f"pixel_format must be RGB, BGR or Grayscale, not {pixel_format}")
    data = encoded.tobytes()
    try:
        pixels = _decode(data)
    except (ValueError, IndexError, KeyError, struct.error, zlib.error):
        # "If it can't decode for any reason ... it will return an empty matrix."
        return numpy.zeros((0, 0, 1 if pixel_format == "Grayscale" else 3), numpy.uint8)
    if pixel_format == "Grayscale":
        return _gray(pixels)
    colors: Array = numpy.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels
    return colors if pixel_format == "RGB" else colors[:, :, ::-1]


def _gray(pixels: Array) -> Array:
    if pixels.shape[2] == 1:
        return pixels
    # The text does not weigh the colors; these weights of ITU-R 601, in 16 bits, are Pillow's.
    weighted: Array = pixels.astype(numpy.int64) @ numpy.array([[19595], [38470], [7471]])
    return numpy.asarray((weighted + 0x8000) >> 16).astype(numpy.uint8)


def _decode(data: bytes) -> Array:
    """Height x width x 1 or 3, uint8; ValueError and its like where the data is broken."""
    if data.startswith(b"BM"):
        return _bmp(data)
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _png(data)
    if data[:4] in (b"II*\0", b"MM\0*"):
        return _tiff(data)
    if data[:2] in (b"P5", b"P6"):
        return _portable_map(data)
    if data.startswith(b"\xff\xd8"):
        return decode_jpeg(data)
    if data[:2] in (b"P1", b"P2", b"P3", b"P4"):
        raise NotExecutable("portable maps are decoded in their binary forms P5 and P6 only")
    if data[4:8] == b"jP  " or data.startswith(b"\xff\x4f\xff\x51"):
        raise NotExecutable("JPEG2000 is not decoded")
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        raise NotExecutable("WebP is not decoded")
    raise ValueError("unknown format")


def _rows(data: bytes, height: int, width: int, channels: int, stride: int) -> Array:
    """Rows of `stride` bytes, cut to their pixels."""
    if len(data) < stride * (height - 1) + width * channels:
        raise ValueError("the data ends early")
    padded = numpy.frombuffer(data[: stride * height].ljust(stride * height, b"\0"), numpy.uint8)
    return padded.reshape(height, stride)[:, : width * channels].reshape(height, width, channels)


def _bmp(data: bytes) -> Array:
    (offset,) = struct.unpack_from("<I", data, 10)
    width, height, _, depth, compression = struct.unpack_from("<iiHHI", data, 18)
    if depth not in (24, 32) or compression:
        raise NotExecutable("of BMP, true colors without compression are decoded")
    stride = (width * depth // 8 + 3) // 4 * 4
    pixels = _rows(data[offset:], abs(height), width, depth // 8, stride)[:, :, 2::-1]
    return pixels[::-1] if height > 0 else pixels


def _portable_map(data: bytes) -> Array:
    fields: list[int] = []
    position = 2
    while len(fields) < 3:
        end = position
        while not data[end : end + 1].isspace():
            end = data.index(b"\n", end) if data[end] == ord("#") else end + 1
        if field := data[position:end].split(b"#")[0]:
            fields.append(int(field))
        position = end + 1
    width, height, greatest = fields
    if greatest != 255:
        raise NotExecutable("of portable maps, those with 255 as their greatest value are decoded")
    channels = 3 if data.startswith(b"P6") else 1
    return _rows(data[position:], height, width, channels, width * channels)


def _tiff(data: bytes) -> Array:
    order = "<" if data.startswith(b"II") else ">"
    (directory,) = struct.unpack_from(f"{order}I", data, 4)
    (count,) = struct.unpack_from(f"{order}H", data, directory)
    tags: dict[int, tuple[int, ...]] = {}
    for entry in range(directory + 2, directory + 2 + 12 * count, 12):
        tag, kind, number = struct.unpack_from(f"{order}HHI", data, entry)
        if kind in (3, 4):
            layout = f"{order}{number}{'H' if kind == 3 else 'I'}"
            place = entry + 8
            if struct.calcsize(layout) > 4:
                (place,) = struct.unpack_from(f"{order}I", data, place)
            tags[tag] = struct.unpack_from(layout, data, place)
    (width,), (height,) = tags[256], tags[257]
    (channels,) = tags.get(277, (1,))
    plain = tags.get(259, (1,)) == (1,) and set(tags.get(258, (1,))) == {8} and tags.get(284, (1,)) == (1,)
    if not plain or (tags[262], channels) not in (((1,), 1), ((2,), 3)):
        raise NotExecutable("of TIFF, uncompressed RGB and gray of 8 bits are decoded")
    strips = zip(tags[273], tags[279], strict=True)
    return _rows(b"".join(data[at : at + size] for at, size in strips), height, width, channels, width * channels)


_PNG_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def _png(data: bytes) -> Array:
    chunks: dict[bytes, bytes] = {}
    position = 8
    while position < len(data):
        (length,) = struct.unpack_from(">I", data, position)
        kind = data[position + 4 : position + 8]
        chunks[kind] = chunks.get(kind, b"") + data[position + 8 : position + 8 + length]
        position += 12 + length
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if depth != 8 or interlaced or color not in _PNG_CHANNELS:
        raise NotExecutable("of PNG, 8 bits per sample without palette or interlacing are decoded")
    channels = _PNG_CHANNELS[color]
    lines = zlib.decompress(chunks[b"IDAT"])
    stride = width * channels + 1
    if len(lines) < stride * height:
        raise ValueError("the data ends early")
    pixels = numpy.zeros((height + 1, width + 1, channels), numpy.uint8)  # with a border of zeros above and left
    for y in range(height):
        line = numpy.frombuffer(lines, numpy.uint8, stride, y * stride)
        _undo_filter(line[0], line[1:].reshape(width, channels), pixels[y], pixels[y + 1])
    return pixels[1:, 1:, : channels - 1 + channels % 2]


def _undo_filter(kind: int, line: Array, above: Array, target: Array) -> None:
    if kind == 0:
        target[1:] = line
    elif kind == 1:
        target[1:] = numpy.cumsum(line, axis=0, dtype=numpy.uint8)
    elif kind == 2:
        target[1:] = line + above[1:]
    elif kind in (3, 4):  # each pixel depends on the one before it
        for x in range(1, len(target)):
            left, up, corner = (pixel.astype(numpy.int16) for pixel in (target[x - 1], above[x], above[x - 1]))
            predicted = (left + up) // 2 if kind == 3 else _paeth(left, up, corner)
            target[x] = line[x - 1] + predicted.astype(numpy.uint8)
    else:
        raise ValueError(f"filter {kind} is unknown")


def _paeth(left: Array, up: Array, corner: Array) -> Array:
    distances = numpy.abs(numpy.stack([up - corner, left - corner, left + up - 2 * corner]))
    return numpy.asarray(numpy.choose(distances.argmin(axis=0), [left, up, corner]))
