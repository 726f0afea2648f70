"""The rules for the operators of ONNX: a module for each family of operators, or for one operator under its name.

Each has STEPS, and INTRODUCTIONS, EXPERIMENTAL_OPERATORS and FALLBACKS where there are any. What several need is in
`helpers`; no module imports another.
"""
