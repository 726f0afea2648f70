"""What modules of rules share: axes, broadcasting, windows, positions and others.

Helpers have no tables of steps: the rule book looks for these in the modules around this package only.
"""
