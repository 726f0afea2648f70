"""What rules of several families share: axes, broadcasting, windows, positions and the like.

No operator's steps stand here: the rule book looks for them in the modules around this package.
"""
