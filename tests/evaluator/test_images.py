"""ImageDecoder: the files that ONNX released with what they hold, and what its node tests leave out."""

from __future__ import annotations

import io
import random
import sys
from typing import Any

import numpy
import pytest
from onnx import helper
from onnx.backend.test.case.node import _image_decoder_data as released

from opsetlift.evaluator import NotExecutable, Rejected, TooLarge, run_node

Image = pytest.importorskip("PIL.Image", reason="the extra opsetlift[images] is not installed")

PIXELS = numpy.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=numpy.uint8)
RELEASED = sorted(name for name in vars(released) if name.startswith("image_decoder_decode_"))
FORMATS = {
    "BMP": {},
    "JPEG": {},
    "JPEG2000": {},
    "PNG": {},
    "PPM": {},
    "TIFF": {"compression": "tiff_lzw"},
    "WEBP": {"lossless": True},
}


def decode(data: bytes, pixel_format: str = "RGB", **options: Any) -> Any:
    node = helper.make_node("ImageDecoder", ["x"], ["y"], pixel_format=pixel_format)
    return run_node(node, [numpy.frombuffer(data, numpy.uint8)], {"": 20}, **options)[0]


def encoded(pixels: Any, file_format: str, mode: str | None = None, **options: Any) -> bytes:
    image, file = Image.fromarray(pixels), io.BytesIO()
    (image.convert(mode) if mode else image).save(file, file_format, **(options or FORMATS.get(file_format, {})))
    return file.getvalue()


@pytest.mark.parametrize("name", RELEASED)
def test_the_files_that_onnx_released_are_decoded_as_it_released_them(name: str) -> None:
    """The node tests of an onnx beside Pillow expect what Pillow decodes; these outputs are in onnx's own sources."""
    pixel_format = {"rgb": "RGB", "bgr": "BGR", "grayscale": "Grayscale"}[name.rpartition("_")[2]]
    case = getattr(released, name)
    pixels = decode(case.data.tobytes(), pixel_format)
    assert pixels.dtype == case.output.dtype == numpy.uint8
    numpy.testing.assert_allclose(pixels, case.output, rtol=1e-3, atol=1e-7)


def test_the_released_files_are_of_each_format() -> None:
    assert {name.split("_")[3] for name in RELEASED} == {"bmp", "jpeg", "jpeg2k", "png", "pnm", "tiff", "webp"}


@pytest.mark.parametrize("file_format", sorted(FORMATS.keys() - {"JPEG"}))
def test_pixel_formats_order_and_weigh_the_colors(file_format: str) -> None:
    data = encoded(PIXELS, file_format)
    numpy.testing.assert_array_equal(decode(data), PIXELS)
    numpy.testing.assert_array_equal(decode(data, "BGR"), PIXELS[:, :, ::-1])
    gray = (PIXELS @ numpy.array([19595, 38470, 7471]) + 0x8000) >> 16
    numpy.testing.assert_array_equal(decode(data, "Grayscale"), gray[:, :, None])


def test_gray_images_have_three_equal_channels_in_rgb() -> None:
    for file_format in FORMATS.keys() - {"WEBP"}:
        gray = numpy.full((3, 4), 77, numpy.uint8)
        numpy.testing.assert_array_equal(decode(encoded(gray, file_format)), numpy.full((3, 4, 3), 77))
        numpy.testing.assert_array_equal(decode(encoded(gray, file_format), "Grayscale"), gray[:, :, None])


def test_transparency_is_dropped_and_not_blended() -> None:
    transparent = numpy.concatenate([PIXELS, PIXELS[:, :, :1]], axis=2)
    numpy.testing.assert_array_equal(decode(encoded(transparent, "PNG")), PIXELS)
    gray = numpy.dstack([PIXELS[:, :, 0], PIXELS[:, :, 1]])
    numpy.testing.assert_array_equal(decode(encoded(gray, "PNG"), "Grayscale"), PIXELS[:, :, :1])


def test_palettes_and_bits_are_expanded() -> None:
    few = (PIXELS // 128 * 255).astype(numpy.uint8)
    numpy.testing.assert_array_equal(decode(encoded(few, "PNG", "P")), few)
    assert (decode(b"P1\n2 2\n1 0 0 1", "Grayscale")[:, :, 0] == [[0, 255], [255, 0]]).all()


@pytest.mark.parametrize("file_format", ["PNG", "TIFF", "PPM"])
def test_gray_of_more_than_8_bits_is_not_cut_off(file_format: str) -> None:
    deep = numpy.array([[0, 255, 256, 65535]], numpy.uint16)
    with pytest.raises(NotExecutable, match=r"ImageDecoder-20 node.*more than 8 bits per gray pixel"):
        decode(encoded(deep, file_format), "Grayscale")


@pytest.mark.parametrize("data", [b"", b"nothing", b"\x89PNG\r\n\x1a\n", b"P6\n9 9\n255\n..."])
def test_what_cannot_be_decoded_gives_an_empty_image(data: bytes) -> None:
    assert decode(data).shape == decode(data, "BGR").shape == (0, 0, 3)
    assert decode(data, "Grayscale").shape == (0, 0, 1)


@pytest.mark.filterwarnings("ignore:Truncated File Read")
@pytest.mark.parametrize("file_format", sorted(FORMATS.keys() - {"JPEG2000"}))
def test_truncated_files_give_an_empty_image(file_format: str) -> None:
    data = encoded(PIXELS, file_format)
    assert decode(data[: -len(data) // 4]).shape == (0, 0, 3)


def test_formats_that_the_text_does_not_name_give_an_empty_image() -> None:
    assert decode(encoded(PIXELS, "GIF")).shape == (0, 0, 3)


@pytest.mark.filterwarnings("ignore")
def test_broken_files_are_decoded_in_part_or_not_at_all() -> None:
    source = random.Random(3)
    seen = set()
    for file_format in FORMATS:
        whole = encoded(PIXELS, file_format)
        for _ in range(60):
            data = bytearray(whole)
            for _ in range(3):
                data[source.randrange(len(data))] = source.randrange(256)
            try:
                seen.add(decode(bytes(data), element_limit=10_000).shape == (0, 0, 3))
            except (NotExecutable, TooLarge):  # the sizes in the file may be anything
                continue
    assert seen == {True, False}


def test_large_images_are_refused_before_they_are_decoded() -> None:
    data = encoded(PIXELS, "PNG")
    with pytest.raises(TooLarge, match="105 elements, where at most 104"):
        decode(data, element_limit=104)
    with pytest.raises(NotExecutable, match="the image is too large"):
        decode(b"P5\n50000 50000\n255\n")


def test_other_pixel_formats_are_rejected() -> None:
    with pytest.raises(Rejected, match="must be RGB, BGR or Grayscale, not CMYK"):
        decode(b"", "CMYK")


def test_without_pillow_the_node_is_not_executable_and_the_message_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = encoded(PIXELS, "PNG")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(NotExecutable, match=r"ImageDecoder-20 node.*takes Pillow: pip install 'opsetlift\[images\]'"):
        decode(data)


def test_a_pillow_that_was_built_without_a_codec_does_not_take_its_files_for_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from PIL import features

    monkeypatch.setattr(features, "check", lambda codec: codec != "webp")
    with pytest.raises(NotExecutable, match="this build of Pillow lacks webp"):
        decode(encoded(PIXELS, "WEBP"))
