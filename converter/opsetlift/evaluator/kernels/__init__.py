"""Kernels by operator family; see registry.py for how one is declared."""
