"""Takes a model from opset to opset, from dtype to dtype and to an IR version."""
