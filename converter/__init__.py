"""OpsetLift: moves ONNX models between opset versions and proves that what it wrote computes the same."""
