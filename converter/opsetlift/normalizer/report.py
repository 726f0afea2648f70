"""The report of a normalisation: what each pass did, and what else a user should know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from onnx import ModelProto

from opsetlift.model.files import all_tensors, stored_bytes
from opsetlift.model.scopes import subgraphs_within
from opsetlift.normalizer.pipeline import Account
from opsetlift.normalizer.undoing import UndonePass
from opsetlift.proof import Proof
from opsetlift.support.showing import Shown
from opsetlift.support.text import as_bytes, counted


@dataclass(frozen=True)
class PassReport:
    """What one pass did to a model."""

    name: str
    changes: int
    """Nodes that it changed, added or removed, and constants that it added or removed."""
    nodes: int
    """By how many nodes the model grew through it; it shrank where this is negative."""
    bytes: int
    """By how many bytes its constants grew."""
    ulps: int
    """0 for an exact pass; else the bound of a rounding one."""
    proof: str
    """"proven", or why it is not."""


@dataclass(frozen=True, repr=False)
class NormalizationReport(Shown):
    """What the passes did."""

    passes: Sequence[PassReport]
    """The passes that ran, in order, also those that found nothing to do."""
    nodes_before: int
    """Of the model, subgraphs and functions included."""
    nodes_after: int
    bytes_before: int
    """Of all tensors in the model: initializers and the attributes of nodes."""
    bytes_after: int
    rounds: int
    """How often the passes ran until they found nothing more to do."""
    notes: Sequence[str] = ()
    undone: Sequence[UndonePass] = ()
    """Built-in passes whose work was undone, because their result was wrong; none of it is in the model."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "undone": [one.as_dict() for one in self.undone]}

    def rows(self) -> list[tuple[str, int, str, str]]:
        """For each pass that changed something its name, its changes, and by how much nodes and bytes grew."""
        return [(one.name, one.changes, f"{one.nodes:+}", f"{one.bytes:+}") for one in self.passes if one.changes]

    def _shown_lines(self) -> Sequence[str]:
        changed = sum(bool(one.changes) for one in self.passes)
        sizes = f"{as_bytes(self.bytes_before)} → {as_bytes(self.bytes_after)} of weights"
        undone = f"undone: {', '.join(one.name for one in self.undone)}" if self.undone else "no pass was undone"
        return (
            f"NormalizationReport: {counted(changed, 'pass', 'passes')} changed the model",
            f"{self.nodes_before:,} → {counted(self.nodes_after, 'node')}, {sizes}",
            undone,
        )

    def _shown_rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        return ("pass", "changes", "nodes", "bytes"), self.rows()


def reports_of(accounts: Sequence[Account], proof: Proof | None) -> list[PassReport]:
    """What passes did, with what the proof says of each: it is about all of them together."""
    if proof is None:
        verdict = "not asked for"
    elif proof.is_proven:
        verdict = "proven"
    else:
        verdict = f"{proof.outcome.value}: {proof.reason}"
    return [
        PassReport(
            one.name,
            one.changes,
            one.nodes,
            one.bytes,
            one.ulps,
            verdict if one.changes else "changed nothing",
        )
        for one in accounts
    ]


def node_count(model: ModelProto) -> int:
    """The nodes of a model, those of subgraphs and functions included."""
    bodies = (model.graph, *model.functions)
    return sum(len(one.node) for one in chain(bodies, *map(subgraphs_within, bodies)))


def constant_bytes(model: ModelProto) -> int:
    """The bytes that the tensors of a model take, wherever they are stored."""
    return sum(stored_bytes(tensor) or tensor.ByteSize() for tensor in all_tensors(model))
