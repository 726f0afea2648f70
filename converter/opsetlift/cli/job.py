"""What commands that write a model have in common: one model read, one written, and no file taken for another."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path

from onnx import ModelProto

from opsetlift.cli.errors import Interrupted, OutputLost, UsageFault
from opsetlift.cli.output import write_bytes
from opsetlift.model.files import CERTIFICATE, MODEL, JobFiles, load_model, model_bytes, model_from, save_model
from opsetlift.targets import files_of

STANDARD_STREAM = Path("-")
"""The name of standard input and standard output on the command line."""


class Job:
    """A model that is read from IN, and where the result goes; raises before any work is done where that cannot be.

    Args:
        source: IN.
        target: OUT; None where nothing is written.
        certificate: Where the certificate goes, if anywhere.
        runtime: What `--for` says, which may be a file.
        overwrite: Whether OUT and the certificate may be replaced.
        as_json: Whether standard output is for JSON.

    Raises:
        UsageFault, ModelFileError: for paths that cannot be used, and a model that cannot be read.
    """

    def __init__(
        self,
        source: Path,
        target: Path | None,
        *,
        certificate: Path | None = None,
        runtime: str | None = None,
        overwrite: bool = False,
        as_json: bool = False,
    ) -> None:
        self.target = target
        self._certificate = certificate
        self._folder = source.parent
        self._files = JobFiles(overwrite=overwrite)
        if source != STANDARD_STREAM:
            self._files.read(source, "the input itself")
        for path in files_of(runtime or ""):
            self._files.read(path, "the description of the runtime")
        if target == STANDARD_STREAM:
            _check_standard_output(certificate, as_json=as_json)
        elif target is not None:
            self._files.write(target, MODEL)
        if certificate is not None:
            self._files.write(certificate, CERTIFICATE)
        if source == STANDARD_STREAM:
            self.model = _model_from_standard_input()
        else:
            self.model = load_model(source)
            self._files.read_data(self.model, self._folder)

    @property
    def base_dir(self) -> str:
        """The folder of the model's external data."""
        return str(self._folder)

    @contextmanager
    def written(self, model: ModelProto, certificate: str | None = None) -> Iterator[None]:
        """Write the result; what is said inside goes to standard error where the model goes to standard output.

        Whatever ends it then says that the files are written.
        """
        what_is_written = "nothing was written"
        to_standard_error = redirect_stdout(sys.stderr) if self.target == STANDARD_STREAM else nullcontext()
        try:
            if self.target == STANDARD_STREAM:
                content = model_bytes(model)
                what_is_written = "the model may be incomplete"
                write_bytes(content)
            elif self.target is not None:
                beside = {self._certificate: certificate.encode()} if self._certificate and certificate else {}
                what_is_written = f"{self.target} is either as it was or complete"
                save_model(model, self.target, source_dir=self._folder, beside=beside, files=self._files)
                what_is_written = f"{self.target} is written"
            with to_standard_error:
                yield
        except Interrupted as stopped:
            stopped.what_is_written = what_is_written
            raise
        except OutputLost as lost:
            raise OutputLost(f"{lost}; {what_is_written}") from lost


def _check_standard_output(certificate: Path | None, *, as_json: bool) -> None:
    if as_json:
        raise UsageFault("OUT is -, and --json needs standard output, too; name a file")
    if certificate is not None:
        raise UsageFault("OUT is -, and a certificate belongs to a file; name one")
    if sys.stdout is not None and sys.stdout.isatty():
        raise UsageFault("OUT is -, and standard output is a terminal; name a file or a pipe")


def _model_from_standard_input() -> ModelProto:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageFault("IN is -, and standard input is no file or pipe")
    try:
        return model_from(sys.stdin.buffer.read())
    except OSError as error:
        raise UsageFault(f"standard input cannot be read: {error.strerror}") from error
