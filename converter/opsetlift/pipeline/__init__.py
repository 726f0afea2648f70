"""The stages in order and their presets: `convert`, `normalize` and `reach`."""

PUBLIC_MODULES = (
    "convert",  # the preset for other opsets
    "equivalence",  # whether two models compute the same
    "evidence",  # what stages did to a model
    "given",  # what is taken for a model
    "job",  # what was asked for, and the model on its way
    "normalize",  # the preset for passes
    "reach",  # which opsets and runtimes a model can be converted for
    "report",  # what `--report` writes
    "results",  # what the presets return
    "stages",  # the stages in order
    "verification",  # the job of a certificate, run again
)
