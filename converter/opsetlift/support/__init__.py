"""What every room may use: errors, refusals, checks of arguments, plug-ins, work in several processes."""

PUBLIC_MODULES = (
    "arguments",  # checks of what callers pass
    "errors",  # the base class of all public errors
    "garbage",  # how often Python looks for it
    "internal_error",  # defects of OpsetLift itself, with what a report of them needs
    "onnx_errors",  # what onnx raises
    "plugins",  # what is registered under an entry-point group
    "processes",  # work that copies of this process share
    "progress",  # how far long work is
    "protobuf",  # what releases of protobuf name differently
    "refusal",  # `ConversionRefused` and its refusals
    "showing",  # results in a shell and in a notebook
    "text",  # names in models as text that is safe to print
)
