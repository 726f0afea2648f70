"""The one exception for models and files that cannot be used."""

from __future__ import annotations

from opsetlift.support.errors import OpsetLiftError


class ModelFileError(OpsetLiftError):
    """A file, or the model in it, is unusable; the message is one sentence for people."""


class ResultRejected(ModelFileError):
    """onnx accepts a model, but not what was made from it: whoever made it is to blame."""


class FileExists(ModelFileError):
    """A file would be replaced, which callers have to ask for; each interface names its own way to do that."""

    def __init__(self, path: object) -> None:
        self.path = path
        super().__init__(f"{path}: this file exists; overwrite=True replaces it")


def one_line(text: object) -> str:
    """Text of unknown origin (a system's or a parser's message) folded onto one line, without a full stop."""
    return " ".join(str(text).split()).rstrip(".")


def reason(error: Exception) -> str:
    """What went wrong, in the operating system's words where it spoke: "permission denied"."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return one_line(text[:1].lower() + text[1:])
