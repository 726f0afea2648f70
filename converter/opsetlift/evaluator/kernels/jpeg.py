"""Sequential JPEG with Huffman codes (ITU-T T.81), which ImageDecoder names first among its formats."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy
from numpy.typing import NDArray

from opsetlift.evaluator.errors import NotExecutable

Array = NDArray[Any]

_ZIGZAG = numpy.array(
    sorted(range(64), key=lambda place: (sum(divmod(place, 8)), divmod(place, 8)[sum(divmod(place, 8)) % 2 == 0]))
)
"""Where the coefficients stand in their 8 x 8 block, in the order in which they are coded."""


def _inverse_cosines() -> Array:
    """The inverse transform of 8 coefficients as a matrix of integers, scaled by 2**13.

    T.81 leaves the arithmetic open. The common decoders use the factors of Loeffler, Ligtenberg and Moschytz in 13
    bits, and that decides how the last bit of a pixel is rounded.
    """
    coefficients = numpy.eye(8, dtype=numpy.int64)

    def scaled(factor: float) -> int:
        return round(factor * (1 << 13))

    even, odd = coefficients[0::2], coefficients[1::2]
    shared = (even[1] + even[3]) * scaled(0.541196100)
    low = shared - even[3] * scaled(1.847759065)
    high = shared + even[1] * scaled(0.765366865)
    total, difference = (even[0] + even[2]) << 13, (even[0] - even[2]) << 13
    evens = numpy.stack([total + high, difference + low, difference - low, total - high])

    outer, inner = (odd[3] + odd[0]) * -scaled(0.899976223), (odd[2] + odd[1]) * -scaled(2.562915447)
    crossing = (odd.sum(axis=0)) * scaled(1.175875602)
    first = (odd[3] + odd[1]) * -scaled(1.961570560) + crossing
    second = (odd[2] + odd[0]) * -scaled(0.390180644) + crossing
    odds = numpy.stack(
        [
            odd[0] * scaled(1.501321110) + outer + second,
            odd[1] * scaled(3.072711026) + inner + first,
            odd[2] * scaled(2.053119869) + inner + second,
            odd[3] * scaled(0.298631336) + outer + first,
        ]
    )
    return numpy.concatenate([evens + odds, (evens - odds)[::-1]])


_INVERSE = _inverse_cosines()


@dataclass
class _Component:
    """A color component of the frame."""

    horizontal: int
    vertical: int
    quantization: int
    dc_table: int = 0
    ac_table: int = 0
    previous: int = 0
    """The last block's DC coefficient, from which the next one's differs."""
    blocks: list[Array] = field(default_factory=list)


HuffmanTable = dict[tuple[int, int], int]
"""(length, code) -> symbol."""


def decode_jpeg(data: bytes) -> Array:
    """Height x width x 1 or 3, uint8. Raises ValueError and its like for broken data, NotExecutable for other modes."""
    quantization: dict[int, Array] = {}
    huffman: dict[int, HuffmanTable] = {}
    components: dict[int, _Component] = {}
    height = width = interval = 0
    for marker, segment, position in _segments(data):
        if marker == 0xDB:
            _read_quantization(segment, quantization)
        elif marker == 0xC4:
            _read_huffman(segment, huffman)
        elif marker == 0xDD:
            (interval,) = struct.unpack(">H", segment)
        elif marker in (0xC0, 0xC1):
            precision, height, width, count = struct.unpack_from(">BHHB", segment)
            if precision != 8 or count not in (1, 3):
                raise NotExecutable("of JPEG, 8 bits and one or three components are decoded")
            for index in range(count):
                number, sampling, table = segment[6 + 3 * index : 9 + 3 * index]
                components[number] = _Component(sampling >> 4, sampling & 15, table)
        elif 0xC2 <= marker <= 0xCF and marker != 0xCC:
            raise NotExecutable("of JPEG, the sequential mode with Huffman codes is decoded")
        elif marker == 0xDA:
            if segment[0] != len(components):
                raise NotExecutable("of JPEG, files with a single scan are decoded")
            for index in range(segment[0]):
                number, tables = segment[1 + 2 * index : 3 + 2 * index]
                components[number].dc_table, components[number].ac_table = tables >> 4, 16 | tables & 15
            frame = list(components.values())
            _read_scan(data[position:], frame, huffman, interval, height, width)
            return _pixels(frame, quantization, height, width)
    raise ValueError("there is no scan")


def _segments(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Marker, content and end of each segment."""
    position = 2
    while True:
        while data[position + 1] == 0xFF:
            position += 1
        marker = data[position + 1]
        (length,) = struct.unpack_from(">H", data, position + 2)
        end = position + 2 + length
        yield marker, data[position + 4 : end], end
        position = end


def _read_quantization(segment: bytes, tables: dict[int, Array]) -> None:
    position = 0
    while position < len(segment):
        wide, number = divmod(segment[position], 16)
        size = 128 if wide else 64
        values = numpy.frombuffer(segment, ">u2" if wide else "u1", 64, position + 1)
        tables[number] = numpy.zeros(64, numpy.int64)
        tables[number][_ZIGZAG] = values
        position += 1 + size


def _read_huffman(segment: bytes, tables: dict[int, HuffmanTable]) -> None:
    position = 0
    while position < len(segment):
        number, counts = segment[position], segment[position + 1 : position + 17]
        position += 17
        table: HuffmanTable = {}
        code = 0
        for length, count in enumerate(counts, 1):
            for symbol in segment[position : position + count]:
                table[length, code] = symbol
                code += 1
            position += count
            code <<= 1
        tables[number] = table


class _Bits:
    """The bits of an interval between restarts, the most significant one first."""

    def __init__(self, data: bytes) -> None:
        unstuffed = numpy.frombuffer(data.replace(b"\xff\0", b"\xff"), numpy.uint8)
        self._bits: list[int] = numpy.unpackbits(unstuffed).tolist()
        self._position = 0

    def symbol(self, table: HuffmanTable) -> int:
        code = 0
        for length in range(1, 17):
            code = code << 1 | self._bits[self._position]
            self._position += 1
            if (found := table.get((length, code))) is not None:
                return found
        raise ValueError("no such code")

    def number(self, size: int) -> int:
        """A signed number of `size` bits; those that begin with 0 are negative."""
        value = 0
        for bit in self._bits[self._position : self._position + size]:
            value = value << 1 | bit
        self._position += size
        return value if size and value >> (size - 1) else value - (1 << size) + 1


def _read_scan(
    data: bytes, components: list[_Component], huffman: dict[int, HuffmanTable], interval: int, height: int, width: int
) -> None:
    if len(components) == 1:
        components[0].horizontal = components[0].vertical = 1  # a scan of one component is not interleaved
    units = _across(width, components, "horizontal") * _across(height, components, "vertical")
    intervals = _intervals(data)
    bits = _Bits(next(intervals, b""))
    for unit in range(units):
        if interval and unit and unit % interval == 0:
            bits = _Bits(next(intervals, b""))
            for component in components:
                component.previous = 0
        for component in components:
            for _ in range(component.horizontal * component.vertical):
                component.blocks.append(_read_block(bits, component, huffman))


def _across(size: int, components: list[_Component], direction: str) -> int:
    """How many coded units there are in a direction."""
    most: int = max(getattr(component, direction) for component in components)
    return -(-size // (8 * most))


def _intervals(data: bytes) -> Iterator[bytes]:
    start = position = 0
    while True:
        position = data.find(b"\xff", position)
        if position < 0:
            yield data[start:]
            return
        marker = data[position + 1] if position + 1 < len(data) else 0xD9
        if marker:
            yield data[start:position]
            if not 0xD0 <= marker <= 0xD7:
                return
            start = position + 2
        position += 2


def _read_block(bits: _Bits, component: _Component, huffman: dict[int, HuffmanTable]) -> Array:
    block = numpy.zeros(64, numpy.int64)
    component.previous += bits.number(bits.symbol(huffman[component.dc_table]))
    block[0] = component.previous
    place = 1
    while place < 64:
        zeros, size = divmod(bits.symbol(huffman[component.ac_table]), 16)
        if not size and zeros != 15:
            break
        place += zeros
        block[_ZIGZAG[place]] = bits.number(size) if size else 0
        place += 1
    return block


def _pixels(components: list[_Component], quantization: dict[int, Array], height: int, width: int) -> Array:
    columns = _across(width, components, "horizontal")
    tallest = max(component.vertical for component in components)
    widest = max(component.horizontal for component in components)
    planes = []
    for component in components:
        vertical, horizontal = component.vertical, component.horizontal
        coefficients = numpy.stack(component.blocks) * quantization[component.quantization]
        columns_done = _shifted(_INVERSE @ coefficients.reshape(-1, 8, 8), 11)  # two bits are kept for the rows
        samples = numpy.clip(_shifted(columns_done @ _INVERSE.T, 18) + 128, 0, 255)
        plane = samples.reshape(-1, columns, vertical, horizontal, 8, 8).transpose(0, 2, 4, 1, 3, 5)
        plane = plane.reshape(-1, columns * horizontal * 8)
        plane = plane[: -(-height * vertical // tallest), : -(-width * horizontal // widest)]
        planes.append(_upsampled(plane, tallest // vertical, widest // horizontal)[:height, :width])
    if len(planes) == 1:
        return planes[0].astype(numpy.uint8)[:, :, None]
    return _rgb(planes[0], planes[1] - 128, planes[2] - 128)


def _shifted(values: Array, bits: int) -> Array:
    """Divided by 2**bits and rounded, half up."""
    return numpy.asarray((values + (1 << (bits - 1))) >> bits)


def _upsampled(plane: Array, vertical: int, horizontal: int) -> Array:
    """Chroma at twice its size by linear interpolation; 0.5 goes down and up by turns."""
    if (vertical, horizontal) == (1, 1):
        return plane
    if horizontal != 2 or vertical not in (1, 2):
        raise NotExecutable("of JPEG, chroma of full size, half the width or half of both is decoded")
    if vertical == 1:
        near, left, right = _with_neighbors(plane, axis=1)
        # At the borders the neighbor is the pixel itself.
        return numpy.stack([(3 * near + left + 1) >> 2, (3 * near + right + 2) >> 2], axis=2).reshape(len(plane), -1)
    near, above, below = _with_neighbors(plane, axis=0)
    rows = numpy.stack([3 * near + above, 3 * near + below], axis=1).reshape(-1, plane.shape[1])
    near, left, right = _with_neighbors(rows, axis=1)
    return numpy.stack([(3 * near + left + 8) >> 4, (3 * near + right + 7) >> 4], axis=2).reshape(len(rows), -1)


def _with_neighbors(plane: Array, axis: int) -> tuple[Array, Array, Array]:
    before = numpy.concatenate([plane.take([0], axis), plane.take(range(plane.shape[axis] - 1), axis)], axis)
    after = numpy.concatenate([plane.take(range(1, plane.shape[axis]), axis), plane.take([-1], axis)], axis)
    return plane, before, after


def _rgb(y: Array, blue: Array, red: Array) -> Array:
    """JFIF's conversion, with its factors in 16 bits."""
    factors = numpy.rint(numpy.array([1.402, 0.34414, 0.71414, 1.772]) * 65536).astype(numpy.int64)
    channels = [
        y + _shifted(factors[0] * red, 16),
        y + _shifted(-factors[1] * blue - factors[2] * red, 16),
        y + _shifted(factors[3] * blue, 16),
    ]
    return numpy.asarray(numpy.clip(numpy.stack(channels, axis=2), 0, 255).astype(numpy.uint8))
