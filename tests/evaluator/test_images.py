"""ImageDecoder on files that ONNX's node tests do not have."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy
import pytest
from onnx import helper

from opsetlift.evaluator import NotExecutable, Rejected, run_node
from testing.cases import node_cases

PIXELS = numpy.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=numpy.uint8)


def decode(data: bytes, pixel_format: str = "RGB") -> Any:
    node = helper.make_node("ImageDecoder", ["x"], ["y"], pixel_format=pixel_format)
    return run_node(node, [numpy.frombuffer(data, numpy.uint8)], {"": 20})[0]


def png(pixels: Any, filters: list[int], color: int) -> bytes:
    """A PNG whose lines have these filters."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width, channels = pixels.shape
    bordered = numpy.zeros((height + 1, width + 1, channels), numpy.int64)
    bordered[1:, 1:] = pixels
    left, up, corner = bordered[1:, :-1], bordered[:-1, 1:], bordered[:-1, :-1]
    estimate = left + up - corner
    nearest_first = [
        numpy.abs(estimate - left) <= numpy.minimum(numpy.abs(estimate - up), numpy.abs(estimate - corner)),
        numpy.abs(estimate - up) <= numpy.abs(estimate - corner),
    ]
    paeth = numpy.select(nearest_first, [left, up], corner)
    predictions = [0 * left, left, up, (left + up) // 2, paeth]
    lines = [
        bytes([kind]) + (bordered[1:, 1:][y] - predictions[kind][y]).astype(numpy.uint8).tobytes()
        for y, kind in enumerate(filters)
    ]
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    content = zlib.compress(b"".join(lines))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", content) + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", range(5), ids=["none", "sub", "up", "average", "Paeth"])
def test_each_filter_of_png_is_undone(kind: int) -> None:
    assert (decode(png(PIXELS, [kind] * 5, 2)) == PIXELS).all()


def test_transparency_is_dropped() -> None:
    transparent = numpy.concatenate([PIXELS, PIXELS[:, :, :1]], axis=2)
    assert (decode(png(transparent, [4, 3, 2, 1, 0], 6)) == PIXELS).all()
    assert (decode(png(PIXELS[:, :, :2], [0] * 5, 4), "Grayscale") == PIXELS[:, :, :1]).all()


def test_gray_images_have_three_equal_channels_in_rgb() -> None:
    assert (decode(png(PIXELS[:, :, :1], [0] * 5, 0)) == PIXELS[:, :, [0, 0, 0]]).all()


def bmp(pixels: Any, *, downward: bool, depth: int) -> bytes:
    height, width, _ = pixels.shape
    stored = numpy.zeros((height, (width * depth // 8 + 3) // 4 * 4), numpy.uint8)
    samples = numpy.zeros((height, width, depth // 8), numpy.uint8)
    samples[:, :, :3] = pixels[:: 1 if downward else -1, :, ::-1]
    stored[:, : width * depth // 8] = samples.reshape(height, -1)
    header = struct.pack("<IiiHHIIiiII", 40, width, -height if downward else height, 1, depth, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + stored.size, 0, 0, 54) + header + stored.tobytes()


@pytest.mark.parametrize("downward", [False, True])
@pytest.mark.parametrize("depth", [24, 32])
def test_bmp_goes_up_or_down_in_padded_lines(downward: bool, depth: int) -> None:
    assert (decode(bmp(PIXELS, downward=downward, depth=depth)) == PIXELS).all()


def test_portable_maps_may_have_comments() -> None:
    header = b"P6 # a comment\n# another\n7 5\n255\n"
    assert (decode(header + PIXELS.tobytes(), "BGR") == PIXELS[:, :, ::-1]).all()
    assert (decode(b"P5\n7 5 255\n" + PIXELS[:, :, 0].tobytes(), "Grayscale") == PIXELS[:, :, :1]).all()


def test_gray_tiff_of_either_byte_order_is_read_strip_by_strip() -> None:
    gray = PIXELS[:, :, 0]
    for order, mark in (("<", b"II"), (">", b"MM")):
        tags = [(256, 7), (257, 5), (258, 8), (259, 1), (262, 1), (277, 1), (278, 3)]
        strips = 8 + 2 + 12 * (len(tags) + 2)
        entries = b"".join(struct.pack(f"{order}HHIHH", tag, 3, 1, value, 0) for tag, value in tags)
        entries += struct.pack(f"{order}HHII", 273, 4, 2, strips) + struct.pack(f"{order}HHII", 279, 4, 2, strips + 8)
        head = mark + struct.pack(f"{order}HI", 42, 8) + struct.pack(f"{order}H", len(tags) + 2)
        places = struct.pack(f"{order}IIII", strips + 16, strips + 16 + 21, 21, 14)
        assert (decode(head + entries + places + gray.tobytes(), "Grayscale")[:, :, 0] == gray).all()


def flat_jpeg(levels: list[list[int]], width: int, sampling: list[int], *, restart: int = 0) -> bytes:
    """A JPEG of blocks without detail: per component the levels of its blocks, 8 to a step, in coded order."""

    def segment(marker: int, content: bytes) -> bytes:
        return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content

    frame = struct.pack(">BHHB", 8, 8 if sampling == [0x21, 0x11, 0x11] else 16, width, len(levels))
    frame += b"".join(bytes([number, sample, 0]) for number, sample in enumerate(sampling))
    # The code of size s is s in four bits; AC knows one symbol, the end of the block, as a single 0.
    tables = bytes([0x00, *([0, 0, 0, 9] + [0] * 12), *range(9)]) + bytes([0x10, 1, *([0] * 15), 0])
    scan = bytes([len(levels)]) + b"".join(bytes([number, 0]) for number in range(len(levels))) + bytes([0, 63, 0])
    per_unit = [(sample >> 4) * (sample & 15) if len(levels) > 1 else 1 for sample in sampling]
    units = len(levels[0]) // per_unit[0]
    coded, bits, previous = b"", "", [0] * len(levels)
    for unit in range(units):
        if restart and unit and unit % restart == 0:
            coded += _packed(bits) + bytes([0xFF, 0xD0 + (unit // restart - 1) % 8])
            bits, previous = "", [0] * len(levels)
        for number, count in enumerate(per_unit):
            for level in levels[number][unit * count : (unit + 1) * count]:
                difference = level - previous[number]
                previous[number] = level
                size = abs(difference).bit_length()
                value = difference if difference >= 0 else difference + (1 << size) - 1
                bits += f"{size:04b}" + (f"{value:0{size}b}" if size else "") + "0"
    coded += _packed(bits)
    interval = segment(0xDD, struct.pack(">H", restart)) if restart else b""
    quantization = segment(0xDB, bytes([0] + [64] * 64))
    return (
        b"\xff\xd8"
        + quantization
        + segment(0xC0, frame)
        + segment(0xC4, tables)
        + interval
        + segment(0xDA, scan)
        + coded
        + b"\xff\xd9"
    )


def _packed(bits: str) -> bytes:
    bits += "1" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0") if bits else b""


@pytest.mark.parametrize("restart", [0, 1, 3])
def test_gray_jpeg_with_and_without_restarts(restart: int) -> None:
    levels = [-16, -3, 0, 5, 15, -1]
    image = decode(flat_jpeg([levels], 24, [0x11], restart=restart), "Grayscale")
    assert image.shape == (16, 24, 1)
    expected = numpy.clip(128 + 8 * numpy.array(levels).reshape(2, 3), 0, 255)
    assert (image[::8, ::8, 0] == expected).all()


def test_chroma_of_half_the_width_is_interpolated_and_half_is_rounded_by_turns() -> None:
    # Two units: 128 + 8 and 128 + 16 in both chroma components, gray otherwise.
    image = decode(flat_jpeg([[0] * 4, [1, 2], [0, 0]], 32, [0x21, 0x11, 0x11]))
    blue = numpy.array([8] * 15 + [10, 14] + [16] * 15)
    assert (image[0, :, 2] == 128 + numpy.floor(1.772 * blue + 0.5)).all()
    assert (image[:, :, 0] == 128).all()


def test_chroma_of_half_the_size_is_interpolated_in_both_directions() -> None:
    image = decode(flat_jpeg([[0] * 8, [0, 0], [2, -2]], 32, [0x22, 0x11, 0x11]))
    red = numpy.array([16] * 15 + [8, -8] + [-16] * 15)
    assert (image[:, :, 0] == 128 + numpy.floor(1.402 * red + 0.5)).all()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nothing",
        b"BM",
        b"P6\n9 9\n255\n...",
        png(PIXELS, [0] * 5, 2)[:60],
        b"\x89PNG\r\n\x1a\n",
        b"II*\0\xff\xff\xff\xff",
        flat_jpeg([[1, 2]], 16, [0x11])[:70],
    ],
    ids=["empty", "unknown", "BMP", "PNM", "PNG", "PNG header", "TIFF", "JPEG"],
)
def test_what_cannot_be_decoded_gives_an_empty_image(data: bytes) -> None:
    assert decode(data).shape == (0, 0, 3)
    assert decode(data, "Grayscale").shape == (0, 0, 1)


def test_a_truncated_jpeg_gives_an_empty_image() -> None:
    (case,) = (case for case in node_cases() if case.name == "test_image_decoder_decode_jpeg_rgb")
    (encoded,) = case.inputs().values()
    assert decode(encoded[:-100].tobytes()).shape == (0, 0, 3)


def test_formats_that_would_take_a_library_are_not_executable() -> None:
    for data in (b"RIFF....WEBP", b"\0\0\0\x0cjP  \r\n\x87\n", b"P1\n1 1\n0"):
        with pytest.raises(NotExecutable, match="ImageDecoder-20 node"):
            decode(data)


def test_other_pixel_formats_are_rejected() -> None:
    with pytest.raises(Rejected, match="must be RGB, BGR or Grayscale, not CMYK"):
        decode(b"", "CMYK")
