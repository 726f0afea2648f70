"""Test inputs: which shapes and values two models are compared on."""

from opsetlift.proof.inputs.cases import Attempt, Case, Enough, Explored, Floor, Input, Ran
from opsetlift.proof.inputs.generator import InputGenerator
from opsetlift.proof.inputs.layouts import LONG
from opsetlift.proof.inputs.searching import FEW_GUESSES, GUESSES

__all__ = [
    "FEW_GUESSES",
    "GUESSES",
    "LONG",
    "Attempt",
    "Case",
    "Enough",
    "Explored",
    "Floor",
    "Input",
    "InputGenerator",
    "Ran",
]
