"""Model files and the models in them: load, validate, check, save. The rest of the project sees this page only."""

from converter.model_file.checking import check_model, without_weights
from converter.model_file.comparable import Contents
from converter.model_file.errors import ModelFileError
from converter.model_file.loading import load_model
from converter.model_file.saving import check_writable, save_model
from converter.model_file.settling import settled
from converter.model_file.validation import validate_model

__all__ = [
    "Contents",
    "ModelFileError",
    "check_model",
    "check_writable",
    "load_model",
    "save_model",
    "settled",
    "validate_model",
    "without_weights",
]
