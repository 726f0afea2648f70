"""Strict, version-exact execution of ONNX models in numpy."""
