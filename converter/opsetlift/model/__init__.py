"""Models and their files: load, validate, check, save; scopes, names, constants, dead code, IR versions."""
