"""The rule book: rules, the `Site` that they are given, their discovery, and the routes of operators."""

PUBLIC_MODULES = (
    "book",  # all rules, by transition
    "contributed",  # what operators of other domains stand for
    "coverage",  # the table of which transitions have rules
    "explain",  # what happens to an operator between two opsets
    "function_body",  # a node as the function body that its schema gives it
    "rounding",  # the bound that a rule may claim for a site
    "routes",  # an operator's transitions between two opsets
    "rule",  # `Step`, `Introduction`, `Fallback` and the combinators of rules
    "site",  # what a rule sees of a node and may do to it
    "trace",  # which rules changed which nodes
)
