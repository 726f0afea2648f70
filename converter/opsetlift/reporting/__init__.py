"""What people look at: reports as web pages, differences of models, their contents, causes of runtimes' errors."""

PUBLIC_MODULES = (
    "diagnosis",  # why a runtime does not take a model
    "checking",  # whether models run where they have to
    "differences",  # the structural difference of two models
    "inspection",  # what a model holds
    "neighbourhood",  # nodes as text
    "pages",  # the pages of `--report`
    "refusals",  # refusals by cause, and what would work
)
