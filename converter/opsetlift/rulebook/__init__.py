"""The rule book: rules, the `Site` that they are given, their discovery, and the routes of operators."""
