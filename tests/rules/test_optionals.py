"""Optionals below 18 and below 15."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_refusal, check_rewrite


def test_what_is_no_optional_is_resolved_below_18():
    check_rewrite(
        """<ir_version: 8, opset_import: ["": 18]>
        g (float[N] x, seq(float[N]) s) => (float[N] y, bool a, bool b, bool c, seq(float[N]) t) {
            y = OptionalGetElement (x)
            a = OptionalHasElement (x)
            b = OptionalHasElement ()
            c = OptionalHasElement (s)
            t = OptionalGetElement (s)
        }""",
        """<ir_version: 8, opset_import: ["": 17]>
        g (float[N] x, seq(float[N]) s) => (float[N] y, bool a, bool b, bool c, seq(float[N]) t)
        <bool a_present = {1}, bool b_absent = {0}> {
            y = Identity (x)
            a = Identity (a_present)
            b = Identity (b_absent)
            c = Identity (a_present)
            t = Identity (s)
        }""",
    )


def test_optionals_stay_optionals_between_15_and_28():
    text = (
        '<ir_version: 8, opset_import: ["": {}]> g (optional(float[N]) x) => (float[N] y, bool a) '
        "{{ y = OptionalGetElement (x) a = OptionalHasElement (x) }}"
    )
    for source, target in ((15, 28), (28, 15), (18, 15)):
        check_rewrite(text.format(source), text.format(target))


@pytest.mark.parametrize("to", [14, 9])
def test_an_optional_that_is_made_here_becomes_its_element_below_15(to):
    check_rewrite(
        """<ir_version: 8, opset_import: ["": 15]> g (float[N] x) => (float[N] y, bool a) {
            o = Optional (x)
            y = OptionalGetElement (o)
            a = OptionalHasElement (o)
        }""",
        f"""<ir_version: 4, opset_import: ["": {to}]> g (float[N] x) => (float[N] y, bool a)
        <bool a_presence = {{1}}> {{
            y = Identity (x)
            a = Identity (a_presence)
        }}""",
    )


def test_a_sequence_in_an_optional_is_taken_apart_below_11():
    check_rewrite(
        """<ir_version: 8, opset_import: ["": 15]> g (float[N] x, float[N] z) => (float[M] y) {
            s = SequenceConstruct (x, z)
            o = Optional (s)
            t = OptionalGetElement (o)
            y = ConcatFromSequence <axis = 0> (t)
        }""",
        '<ir_version: 4, opset_import: ["": 9]> g (float[N] x, float[N] z) => (float[M] y) '
        "{ y = Concat <axis: int = 0> (x, z) }",
    )


def test_an_optional_that_is_given_is_refused_below_15():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 15]> g (optional(float[N]) x) => (bool a) { a = OptionalHasElement (x) }',
        14,
        Why.NO_EQUIVALENT,
        "not created in this graph",
    )
