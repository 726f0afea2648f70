"""What an older onnx does not know is left out: definitions, dtypes, and what protobuf is called there.

`python -m testing.dependencies lowest` runs with one; here the rules are taken to be written for a newer one.
"""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import pytest
from google.protobuf.descriptor import FieldDescriptor
from onnx import GraphProto, TensorProto

from opsetlift.rulebook.book import RuleBook, RuleBookError
from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged
from opsetlift.specification.dtypes import by_element_type
from opsetlift.specification.history import WRITTEN_FOR, Transition, is_behind
from opsetlift.support.protobuf import is_repeated
from opsetlift.targets.kernel_file import KernelFile, KernelFileError

LATER = {
    "STEPS": [Step("TopK", 24, 9999, up=unchanged, down=unchanged)],
    "INTRODUCTIONS": [Introduction("FromTheFuture", 9999, down=unchanged)],
    "FALLBACKS": [Fallback("FromTheFuture", unchanged)],
}


def module(**declared: object) -> ModuleType:
    found = ModuleType("rules_of_ones_own")
    vars(found).update(declared)
    return found


@pytest.fixture
def written_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WRITTEN_FOR, "", 9999)


def test_this_onnx_is_not_behind():
    assert not is_behind("")
    assert not is_behind("a.domain.of.others")


@pytest.mark.parametrize("kind", LATER)
def test_rules_for_what_onnx_has_not_are_faults_unless_it_is_older(kind: str):
    with pytest.raises(RuleBookError):
        RuleBook([module(**{kind: LATER[kind]})])


@pytest.mark.usefixtures("written_for_later")
def test_an_older_onnx_has_the_rules_for_what_it_knows():
    known = Step("TopK", 10, 11, up=unchanged, down=unchanged)
    book = RuleBook([module(**{**LATER, "STEPS": [*LATER["STEPS"], known]})])
    assert book.entry(Transition("", "TopK", 10, 11, True)) is not None
    assert book.entry(Transition("", "TopK", 24, 9999, True)) is None
    assert book.fallbacks("", "FromTheFuture") == ()


def test_kernels_of_unknown_definitions_are_faults():
    with pytest.raises(KernelFileError, match="no operator 'Add-9999'"):
        KernelFile({"Add-9999": ["T: float"]})


@pytest.mark.usefixtures("written_for_later")
def test_an_older_onnx_has_the_kernels_of_what_it_knows():
    kernels = KernelFile({"Add-9999": ["T: float"], "Add-7": ["T: float"]}).at("1.0")
    assert list(kernels) == [("", "Add", 7)]


def test_tables_by_dtype_leave_out_unknown_ones():
    assert by_element_type({"uint4": 4, "float3e1m1": 3}) == {TensorProto.UINT4: 4}


def test_lists_are_told_from_single_fields_with_and_without_is_repeated():
    fields = GraphProto.DESCRIPTOR.fields_by_name
    assert [is_repeated(fields[name]) for name in ("node", "name")] == [True, False]
    older = [SimpleNamespace(label=one) for one in (FieldDescriptor.LABEL_REPEATED, FieldDescriptor.LABEL_OPTIONAL)]
    assert [is_repeated(one) for one in older] == [True, False]  # type: ignore[arg-type]
