"""`--report` of commands that write no model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opsetlift.cli.errors import UsageFault
from opsetlift.cli.files import STANDARD_STREAM, noted_files
from opsetlift.model.files import REPORT, save_beside


class ReportTarget:
    """The file that a report goes to, if one is asked for. It is never one that the command reads.

    Args:
        report: The file.
        sources: What the command reads.
        overwrite: Whether it may be replaced.

    Raises:
        UsageFault, ModelFileError: The file cannot be used.
    """

    def __init__(self, report: Path | None, sources: Sequence[Path], *, overwrite: bool) -> None:
        self._report = report
        self._files = noted_files(overwrite=overwrite)
        if report == STANDARD_STREAM:
            raise UsageFault("a report belongs to a file, and - is standard output; name a file")
        if report is None and overwrite:
            raise UsageFault("--force is used only with --report, which names the file to overwrite")
        for source in sources:
            if source != STANDARD_STREAM:
                self._files.read(source, f"the input {source}")
        if report is not None:
            self._files.write(report, REPORT)

    @property
    def is_asked_for(self) -> bool:
        """Whether there is to be a report."""
        return self._report is not None

    def write(self, page: str) -> None:
        """Write it. Raises ModelFileError."""
        assert self._report is not None
        save_beside(self._report, page.encode(), self._files)
