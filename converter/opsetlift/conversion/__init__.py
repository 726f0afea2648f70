"""Takes a model from opset to opset, from dtype to dtype and to an IR version."""

PUBLIC_MODULES = (
    "contributed",  # operators of other domains in ONNX's
    "destination",  # the opsets to go to
    "distinct",  # a model with one node of each kind
    "dtype_policy",  # which dtypes become which
    "fitting",  # a model in the form that a runtime takes
    "ir_fitting",  # a model in the form that an IR version can hold
    "objections",  # what a runtime does not take of a model
    "opset_search",  # the nearest opsets that work
    "retyping",  # a model with other dtypes
    "unnamed_dimensions",  # names for open sizes
    "untyped_outputs",  # types for outputs that declare none
    "walked",  # a copy of a model at other opsets
)
