"""The proof of one conversion, from its two models and the trace between them."""

from __future__ import annotations

from onnx import ModelProto

from opsetlift.model.def_use import DefUse
from opsetlift.model.notes import without_notes
from opsetlift.proof.certificate import ConversionProof, Destination
from opsetlift.proof.copies import read_as_originals
from opsetlift.proof.declarations import declaration_differences
from opsetlift.proof.scopes import paired_scopes
from opsetlift.proof.site_proofs import SiteProofs
from opsetlift.proof.sites import Facts
from opsetlift.proof.structure import structural_differences
from opsetlift.proof.verdict_cache import VerdictCache
from opsetlift.rulebook.trace import ConversionTrace


def prove_conversion(
    original: ModelProto,
    converted: ModelProto,
    trace: ConversionTrace,
    facts: Facts,
    *,
    seed: int = 0,
    destination: Destination | None = None,
    cache: VerdictCache | None = None,
    jobs: int = 1,
    index: DefUse | None = None,
) -> ConversionProof:
    """Prove that `converted` computes what `original` does.

    Args:
        original: The model before.
        converted: The model after; its external data lies where the original's does.
        trace: Which nodes became which. The bounds of rules that round are taken from it.
        facts: What is known of the original's values.
        seed: Random seed for the inputs.
        destination: Where the conversion was to go, for the record.
        cache: The verdicts of earlier runs, where they may be used.
        jobs: How many processes share the work where it takes long.
        index: That of the original's graph, where somebody has it already.
    """
    noted = without_notes(original, trace.moved_notes)
    converted, faults = read_as_originals(converted, trace)
    proofs = SiteProofs(noted, converted, seed, cache, jobs)
    pairs = list(paired_scopes(noted, converted, trace, index if noted is original else None))
    proofs.add_all(pairs, trace, facts)
    return ConversionProof(
        structure=[
            *faults,
            *structural_differences(noted, converted, trace, pairs),
            *declaration_differences(pairs, facts),
        ],
        sites=proofs.records,
        nodes=proofs.nodes,
        trace=trace,
        destination=destination,
    )
