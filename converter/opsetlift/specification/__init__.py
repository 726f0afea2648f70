"""The only readers of `onnx.defs`: operators and their versions, experimental operators, dtypes, wider types."""
