"""The documentation's site: what `mkdocs build` generates from schemas, rules, target files and rule tests.

The pages are not committed: they are some ten megabytes, follow from files that are, and are read on the site only.
"""
