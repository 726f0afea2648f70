"""Mutation testing: rules, passes and kernels changed one place at a time, and who notices.

    python -m benchmarks.mutants [--passes | --kernels] [--only MODULE] [--sample N --seed S] [--list] ...

operators.py says what is changed, examples.py what exercises each line, subjects.py what is done with a mutant, and
judge.py who else executes the models: onnxruntime and onnx.reference, on inputs of inputs.py, never of the proof's.
"""
