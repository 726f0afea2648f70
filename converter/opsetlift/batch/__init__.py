"""Many models at once: a folder or a glob of files, each converted by itself, over any executor."""

PUBLIC_MODULES = (
    "planning",  # which files become which
    "running",  # all of them, and what became of each
    "summary",  # counts, JSON and CSV
    "task",  # one of them
)
