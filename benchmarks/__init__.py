"""Programs that measure OpsetLift. Each is run as `python -m benchmarks.<name>`, and its docstring describes it."""
