"""The only readers of `onnx.defs`: operators and their versions, experimental operators, dtypes, wider dtypes."""

PUBLIC_MODULES = (
    "contributed",  # operators of onnxruntime's own domain
    "dtypes",  # names of dtypes and types in each of their spellings
    "experimental",  # operators that never had a version
    "history",  # operators, their versions, and the transitions between opsets
    "operands",  # a node's inputs and outputs with their names and type variables in the schema
    "wider_dtypes",  # dtypes that hold every value of a narrower one
)
