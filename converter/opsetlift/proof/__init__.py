"""Proofs: that a conversion kept the meaning, site by site, and that two models compute the same."""

from opsetlift.proof.certificate import (
    Certificate,
    ConversionProof,
    Destination,
    DtypeProof,
    FixedShapes,
    Outcome,
    PassesProof,
    PassRecord,
    Proof,
    ProofByParts,
    Repair,
    Request,
    SiteRecord,
    StageRecord,
    model_sha256,
    tool_versions,
)
from opsetlift.proof.compare import Tolerance
from opsetlift.proof.conversions import prove_conversion
from opsetlift.proof.data_sets import Data, UnusableData, given_cases
from opsetlift.proof.diversity import InputDiversity
from opsetlift.proof.dtype_changes import prove_dtypes
from opsetlift.proof.folded_constants import folded_tensors
from opsetlift.proof.inputs import Attempt, Case, Explored, Floor, Input, InputGenerator
from opsetlift.proof.model_numbers import numbers_of, numbers_of_differences, sizes_held, texts_of
from opsetlift.proof.not_equivalent import NotEquivalent
from opsetlift.proof.onnxruntime_comparison import OnnxruntimeMissing, OnnxruntimeVerdict, ask_onnxruntime
from opsetlift.proof.regions import Region, Verdict, regions_of
from opsetlift.proof.scopes import Aligned, ScopePair, paired_scopes
from opsetlift.proof.shapes import dims_of
from opsetlift.proof.side_by_side import (
    MOST_NUMBERS,
    WholeModelResult,
    drives_of,
    interface_differences,
    long_lists,
    model_inputs,
    note_constant_outputs,
    prove_models,
    try_overridden,
    ways_of,
)
from opsetlift.proof.structure import structural_differences
from opsetlift.proof.trace_json import trace_as_dict
from opsetlift.proof.trial import Sides, Trial, try_sides
from opsetlift.proof.verdict_cache import KnownVerdict, VerdictCache, default_folder, verdict_key
from opsetlift.proof.watching import Differences, Inside, inside_of

__all__ = [
    "MOST_NUMBERS",
    "Aligned",
    "Attempt",
    "Case",
    "Certificate",
    "ConversionProof",
    "Data",
    "Destination",
    "Differences",
    "DtypeProof",
    "Explored",
    "FixedShapes",
    "Floor",
    "Input",
    "InputDiversity",
    "InputGenerator",
    "Inside",
    "KnownVerdict",
    "NotEquivalent",
    "OnnxruntimeMissing",
    "OnnxruntimeVerdict",
    "Outcome",
    "PassRecord",
    "PassesProof",
    "Proof",
    "ProofByParts",
    "Region",
    "Repair",
    "Request",
    "ScopePair",
    "Sides",
    "SiteRecord",
    "StageRecord",
    "Tolerance",
    "Trial",
    "UnusableData",
    "Verdict",
    "VerdictCache",
    "WholeModelResult",
    "ask_onnxruntime",
    "default_folder",
    "dims_of",
    "drives_of",
    "folded_tensors",
    "given_cases",
    "inside_of",
    "interface_differences",
    "long_lists",
    "model_inputs",
    "model_sha256",
    "note_constant_outputs",
    "numbers_of",
    "numbers_of_differences",
    "paired_scopes",
    "prove_conversion",
    "prove_dtypes",
    "prove_models",
    "regions_of",
    "sizes_held",
    "structural_differences",
    "texts_of",
    "tool_versions",
    "trace_as_dict",
    "try_overridden",
    "try_sides",
    "verdict_key",
    "ways_of",
]
