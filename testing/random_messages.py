"""Messages of random content, for what reads and writes protobuf itself."""

from __future__ import annotations

import random

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto

from opsetlift.support.protobuf import is_repeated

FLOATS, STRINGS = {FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE}, {FieldDescriptor.TYPE_STRING}


def filled(message: Message, source: random.Random, depth: int = 4) -> None:
    """Give a message random values of random fields, whether they make sense together or not."""
    for field in message.DESCRIPTOR.fields:
        if source.random() < 0.4:
            continue
        for _ in range(source.choice((0, 1, 1, 2, 5)) if is_repeated(field) else 1):
            if field.message_type is not None:
                if depth:
                    there = getattr(message, field.name)
                    filled(there.add() if is_repeated(field) else there, source, depth - 1)
                continue
            value = value_of(field, source)
            if is_repeated(field):
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)


def value_of(field: FieldDescriptor, source: random.Random) -> object:
    """Draw a value of a field that is no message."""
    if field.enum_type is not None:
        return source.choice(field.enum_type.values).number
    if field.type in FLOATS:
        return source.choice((0.0, 1.5, -2.0))
    if field.type in STRINGS:
        return source.choice(("", "x", "a name" * 30))
    if field.type == FieldDescriptor.TYPE_BYTES:
        return source.randbytes(source.choice((0, 1, 127, 128, 300, 20_000)))
    return source.choice((0, 1, 127, 128, 2**31 - 1))


def random_model(seed: int) -> ModelProto:
    """A model of random content, some of whose initializers hold raw data of the size that their shape tells."""
    source, model = random.Random(seed), ModelProto()
    filled(model, source)
    for number in range(source.randrange(1, 5)):
        size = source.choice((1, 100, 127, 128, 16_383, 16_384, 70_000))
        tensor = TensorProto(
            name=f"w{number}", data_type=TensorProto.UINT8, dims=[size], raw_data=source.randbytes(size)
        )
        tensor.doc_string = source.choice(("", "text" * 100))
        tensor.metadata_props.add(key="k", value="v" * source.randrange(200))
        model.graph.initializer.insert(source.randrange(len(model.graph.initializer) + 1), tensor)
    return model
