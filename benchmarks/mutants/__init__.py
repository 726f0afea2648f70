"""Mutation testing: rules, passes and kernels changed one place at a time, and who notices.

    python -m benchmarks.mutants [--passes | --kernels] [--only MODULE] [--sample N --seed S] [--list] ...

operators.py says what is changed, examples.py what exercises each line, subjects.py what is done with a mutant, and
judge.py who else executes the models: onnxruntime and onnx.reference, on inputs of inputs.py, never of the proof's.
"""

import sys
from pathlib import Path

# What is changed and traced are the sources beside this file, not an installed copy of them.
sys.path[:0] = [str(Path(__file__).parents[2] / root) for root in ("converter", "rules")]
