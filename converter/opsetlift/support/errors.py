"""The base of every error that callers may expect."""


class OpsetLiftError(Exception):
    """Something that OpsetLift was asked for cannot be done; the message is for people."""
