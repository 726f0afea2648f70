"""What became of the models of a batch: counts by ending and reason, as JSON and CSV, and the worst ending."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opsetlift.batch.task import Ending, Result

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Count:
    """How many models ended in one way for one kind of reason, and the first of them."""

    ending: Ending
    kind: str
    models: int
    first: Path


def counts(results: Sequence[Result]) -> list[Count]:
    """The counts, most models first within each ending."""
    groups: dict[tuple[Ending, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.ending, result.kind), []).append(result)
    found = [Count(*key, len(group), group[0].source) for key, group in groups.items()]
    order = list(Ending)
    return sorted(found, key=lambda count: (order.index(count.ending), -count.models, count.kind))


def as_json(results: Sequence[Result]) -> str:
    """The results and the counts as a JSON document."""
    totals = {ending.value: sum(one.ending is ending for one in results) for ending in Ending}
    document = {"schema_version": SCHEMA_VERSION, "totals": totals, "models": [one.as_dict() for one in results]}
    return json.dumps(document, indent=1, ensure_ascii=False)


def as_csv(results: Sequence[Result]) -> str:
    """The results as CSV, a line for each model."""
    text = io.StringIO()
    columns = ["source", "target", "ending", "reason", "kind", "proof"]
    columns += ["rewrites", "source_nodes", "target_nodes", "seconds"]
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(one.as_dict() for one in results)
    return text.getvalue()
