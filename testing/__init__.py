"""What tests and benchmarks share: models, ONNX's own test cases, comparisons, and the tools that judge conversions.

Nothing here imports a test or a benchmark, and those do not import each other.
"""
