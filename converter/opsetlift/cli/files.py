"""The files of a command that writes a model: one is read, one is written, and none is taken for another."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from pathlib import Path

from onnx import ModelProto

from opsetlift.cli.errors import Interrupted, OutputLost, UsageFault
from opsetlift.cli.output import write_bytes
from opsetlift.cli.settings import settings_files
from opsetlift.model.files import (
    CERTIFICATE,
    MODEL,
    REPORT,
    JobFiles,
    load_model,
    model_bytes,
    model_from,
    save_beside,
    save_model,
)
from opsetlift.proof import Certificate
from opsetlift.targets import files_of

STANDARD_STREAM = Path("-")
"""The name of standard input and standard output on the command line."""


class CommandFiles:
    """The model that a command reads from IN, and where the result goes. Nothing is written where a path is unusable.

    Args:
        source: IN.
        target: OUT; None where nothing is written.
        certificate: Where the certificate goes, if anywhere.
        report: Where the report goes, if anywhere.
        runtime: What `--for` says, which may be a file.
        overwrite: Whether OUT, the certificate and the report may be replaced.
        as_json: Whether standard output is for JSON.

    Raises:
        UsageFault, ModelFileError: A path cannot be used, or the model cannot be read.
    """

    def __init__(
        self,
        source: Path,
        target: Path | None,
        *,
        certificate: Path | None = None,
        report: Path | None = None,
        runtime: str | None = None,
        overwrite: bool = False,
        as_json: bool = False,
    ) -> None:
        self.target = target
        self.base_dir = str(source.parent)
        self._certificate = certificate
        self._report = report
        self._page: bytes | None = None
        self._files = noted_files(overwrite=overwrite)
        self._what_is_written = "nothing was written"
        self._left: Path | None = None
        if source != STANDARD_STREAM:
            self._files.read(source, "the input itself")
        for path in files_of(runtime or ""):
            self._files.read(path, "the description of the runtime")
        for file, what in ((certificate, "a certificate"), (report, "a report")):
            if file == STANDARD_STREAM:
                raise UsageFault(f"{what} belongs to a file, and - is standard output; name a file")
        if target == STANDARD_STREAM:
            _check_standard_output(certificate, as_json=as_json)
        elif target is not None:
            self._files.write(target, MODEL)
        if certificate is not None:
            self._files.write(certificate, CERTIFICATE)
        if report is not None:
            self._files.write(report, REPORT)
        if source == STANDARD_STREAM:
            self._model = _model_from_standard_input()
        else:
            self._left = source if target != STANDARD_STREAM else None
            self._model = load_model(source, leave_weights=self._left is not None)
            self._files.read_data(self._model, source.parent)

    def read(self) -> ModelProto:
        """The model in IN."""
        return self._model

    def set_report(self, page: str) -> None:
        """Let the report be written together with the model."""
        self._page = page.encode()

    def write_report(self, page: str) -> None:
        """Write the report alone, where no model is written. Raises ModelFileError."""
        assert self._report is not None
        save_beside(self._report, page.encode(), self._files)

    def write(self, model: ModelProto, certificate: Certificate | None) -> None:
        """Write the model to OUT, and the certificate where that was asked for.

        Raises:
            ModelFileError: It cannot be written.
            OutputLost: Standard output is closed or full.
        """
        if self.target == STANDARD_STREAM:
            content = model_bytes(model)
            self._what_is_written = "the model may be incomplete"
            if self._report is not None and self._page is not None:
                save_beside(self._report, self._page, self._files)
            write_bytes(content)
        elif self.target is not None:
            beside = {}
            if self._certificate is not None and certificate is not None:
                beside[self._certificate] = certificate.to_json().encode()
            if self._report is not None and self._page is not None:
                beside[self._report] = self._page
            self._what_is_written = f"{self.target} is either unchanged or complete"
            save_model(
                model,
                self.target,
                source_dir=Path(self.base_dir),
                source=self._left,
                beside=beside,
                files=self._files,
            )
            self._what_is_written = f"{self.target} is written"

    @contextmanager
    def accounted(self) -> Iterator[None]:
        """Let whatever ends a command say which files it has written."""
        try:
            yield
        except Interrupted as stopped:
            stopped.what_is_written = self._what_is_written
            raise
        except OutputLost as lost:
            raise OutputLost(f"{lost}; {self._what_is_written}") from lost

    def page_stream(self) -> AbstractContextManager[object]:
        """Where the page goes: to standard error, where the model goes to standard output."""
        return redirect_stdout(sys.stderr) if self.target == STANDARD_STREAM else nullcontext()


def noted_files(*, overwrite: bool) -> JobFiles:
    """The files of a command; so far it reads those of the settings."""
    files = JobFiles(overwrite=overwrite)
    for path in settings_files():
        files.read(path, "the file of the settings")
    return files


def model_or_path(path: Path) -> ModelProto | Path:
    """The model on standard input for -, any other path as it is: for commands that only read.

    Raises:
        UsageFault, ModelFileError: Standard input holds no model.
    """
    return _model_from_standard_input() if path == STANDARD_STREAM else path


def models_or_paths(first: Path, second: Path) -> tuple[ModelProto | Path, ModelProto | Path]:
    """Do the same for two models, of which one may be on standard input. Raises as `model_or_path` does."""
    if first == second == STANDARD_STREAM:
        raise UsageFault("A and B are both -, but standard input holds one model")
    return model_or_path(first), model_or_path(second)


def opened(model: ModelProto | Path) -> ModelProto:
    """The model itself. Raises ModelFileError."""
    return model if isinstance(model, ModelProto) else load_model(model)


def _check_standard_output(certificate: Path | None, *, as_json: bool) -> None:
    if as_json:
        raise UsageFault("OUT is -, but --json also writes to standard output: name a file")
    if certificate is not None:
        raise UsageFault("OUT is -, but a certificate describes a file: name one")
    if sys.stdout is not None and sys.stdout.isatty():
        raise UsageFault("OUT is -, but standard output is a terminal: name a file or use a pipe")


def _model_from_standard_input() -> ModelProto:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageFault("the model is to come from standard input (-), which is neither a file nor a pipe")
    try:
        return model_from(sys.stdin.buffer.read())
    except OSError as error:
        raise UsageFault(f"standard input cannot be read: {error.strerror}") from error
