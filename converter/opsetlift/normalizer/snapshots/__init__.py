"""Comparison of a model with how it was before a pass."""
