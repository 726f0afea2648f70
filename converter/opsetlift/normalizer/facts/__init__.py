"""Types, shapes and constants of the tensors of gs.Graphs."""
