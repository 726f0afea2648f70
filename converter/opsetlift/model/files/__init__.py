"""Model files and the models in them: load, validate, check, save. The rest of the project sees this page only."""

from opsetlift.model.files.checking import check_model, fault_found, without_weights
from opsetlift.model.files.comparable import Contents
from opsetlift.model.files.errors import FileExists, ModelFileError, ResultRejected, reason
from opsetlift.model.files.external_data import ExternalData, with_data
from opsetlift.model.files.files import CERTIFICATE, MODEL, REPORT, SUMMARY, JobFiles
from opsetlift.model.files.inference_in_parts import inferred_in_parts, needs_parts
from opsetlift.model.files.loading import (
    check_regular,
    check_tensors,
    form_of,
    is_known_form,
    load_model,
    model_from,
    read_file,
)
from opsetlift.model.files.partial_copies import copy_without
from opsetlift.model.files.raw_data import with_raw_data
from opsetlift.model.files.repairing import repaired, validated
from opsetlift.model.files.saving import model_bytes, save_beside, save_model
from opsetlift.model.files.tensors import all_tensors, check_data, is_external, stored_bytes
from opsetlift.model.files.validation import validate_model

__all__ = [
    "CERTIFICATE",
    "MODEL",
    "REPORT",
    "SUMMARY",
    "Contents",
    "ExternalData",
    "FileExists",
    "JobFiles",
    "ModelFileError",
    "ResultRejected",
    "all_tensors",
    "check_data",
    "check_model",
    "check_regular",
    "check_tensors",
    "copy_without",
    "fault_found",
    "form_of",
    "inferred_in_parts",
    "is_external",
    "is_known_form",
    "load_model",
    "model_bytes",
    "model_from",
    "needs_parts",
    "read_file",
    "reason",
    "repaired",
    "save_beside",
    "save_model",
    "stored_bytes",
    "validate_model",
    "validated",
    "with_data",
    "with_raw_data",
    "without_weights",
]
