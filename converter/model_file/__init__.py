"""Model files and the models in them: load, validate, check, save. The rest of the project sees this page only."""

from converter.model_file.checking import check_model, without_weights
from converter.model_file.comparable import Contents
from converter.model_file.errors import ModelFileError, ResultRejected
from converter.model_file.external_data import with_data
from converter.model_file.files import CERTIFICATE, MODEL, JobFiles
from converter.model_file.loading import check_regular, load_model, model_from
from converter.model_file.saving import model_bytes, save_model
from converter.model_file.settling import settled
from converter.model_file.validation import validate_model

__all__ = [
    "CERTIFICATE",
    "MODEL",
    "Contents",
    "JobFiles",
    "ModelFileError",
    "ResultRejected",
    "check_model",
    "check_regular",
    "load_model",
    "model_bytes",
    "model_from",
    "save_model",
    "settled",
    "validate_model",
    "with_data",
    "without_weights",
]
