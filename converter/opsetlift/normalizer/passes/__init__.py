"""The passes, one module each, found by being there: `PASS = Pass(...)` or `PASSES = (...)`."""
