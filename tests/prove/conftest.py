"""What tests of the proof share."""

from __future__ import annotations

from typing import Any

import pytest

from opsetlift.proof import sites


@pytest.fixture
def told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let unchanged nodes be tried on inputs, as they are where the evaluator tells both versions apart."""

    def never(*_: Any) -> bool:
        return False

    monkeypatch.setattr(sites, "same_code", never)
