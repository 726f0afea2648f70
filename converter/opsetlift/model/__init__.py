"""Models and their files: load, validate, check, save; scopes, names, constants, dead code, IR versions."""

PUBLIC_MODULES = (
    "arrays",  # tensors as numpy arrays
    "dead_code",  # nodes that nothing uses
    "def_use",  # definitions and uses of values, one index per scope
    "files",  # load, validate, check and save
    "inlined_calls",  # what functions do in place of the calls, for onnx's inference
    "inlining",  # functions and subgraphs in place of the nodes that run them
    "ir_version",  # the IR version that a model needs
    "loop_bodies",  # what the body of a loop gives and reads
    "matching",  # which nodes of two models are the same
    "names",  # names that are free
    "notes",  # doc strings and metadata that move from node to node
    "scopes",  # graphs, functions and subgraphs, and how places in them are written
)
