"""What is used of graphsurgeon beside its documented API: one module uses it, and the installed version has it."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy
import onnx_graphsurgeon as gs
import pytest

import opsetlift
from opsetlift.normalizer.graphs import graphsurgeon_internals as internals
from opsetlift.normalizer.graphs.traversal import nodes_in

_PACKAGE = Path(opsetlift.__file__).parent
_INTERNALS = _PACKAGE / "normalizer" / "graphs" / "graphsurgeon_internals.py"


def _private_uses(source: str) -> Iterator[str]:
    """Imports of graphsurgeon's modules, and private attributes of anything but self and cls."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=str(module)) if module.startswith("onnx_graphsurgeon."):
                yield f"line {node.lineno}: from {module} import"
            case ast.Import(names=names) if any(name.name.startswith("onnx_graphsurgeon.") for name in names):
                yield f"line {node.lineno}: import"
            case ast.Call(func=ast.Name(id="vars")):
                yield f"line {node.lineno}: vars"
            case ast.Attribute(value=value, attr=name) if name.startswith("_") and name not in _DUNDERS:
                if not (isinstance(value, ast.Name) and value.id in ("self", "cls")):
                    yield f"line {node.lineno}: {ast.unparse(node)}"
            case ast.Call(func=ast.Name(id="attrgetter"), args=args):
                for name in args:
                    if isinstance(name, ast.Constant) and str(name.value).startswith("_"):
                        yield f"line {node.lineno}: {ast.unparse(node)}"


_DUNDERS = frozenset(
    ("__init__", "__name__", "__path__", "__doc__", "__module__", "__cause__", "__package__", "__class__")
)


def test_the_search_for_private_parts_finds_them() -> None:
    lines = ["from onnx_graphsurgeon.ir import tensor", "x._values", "vars(x)", "x.__dict__", "attrgetter('_values')"]
    found = _private_uses("\n".join([*lines, "x.values"]))
    assert [use.split(":")[0] for use in found] == [f"line {number}" for number in range(1, 6)]


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    "path",
    [path for path in sorted((_PACKAGE / "normalizer").rglob("*.py")) if path != _INTERNALS],
    ids=lambda path: str(path.relative_to(_PACKAGE)),
)
def test_one_module_touches_private_parts_of_graphsurgeon(path: Path) -> None:
    allowed = ("before._", "now._", "other._")  # of objects of the same class
    uses = [use for use in _private_uses(path.read_text()) if not use.split(": ")[1].startswith(allowed)]
    assert uses == []


def test_no_other_room_imports_modules_of_graphsurgeon() -> None:
    users = [
        path
        for path in sorted(_PACKAGE.rglob("*.py"))
        if path != _INTERNALS and re.search(r"(from|import) onnx_graphsurgeon\.", path.read_text())
    ]
    assert users == []


def test_the_version_is_capped_at_what_is_tested() -> None:
    project = _PACKAGE.parents[1] / "pyproject.toml"
    if not project.is_file():
        pytest.skip("the package is installed without its sources")
    dependencies = tomllib.loads(project.read_text())["project"]["dependencies"]
    (bound,) = [one for one in dependencies if one.startswith("onnx-graphsurgeon")]
    found = re.fullmatch(r"onnx-graphsurgeon>=([\d.]+),<([\d.]+)", bound)
    assert found is not None, bound
    least, below = (tuple(map(int, one.split("."))) for one in found.groups())
    installed = tuple(map(int, version("onnx-graphsurgeon").split(".")[:3]))
    assert least <= installed < below
    assert below == (installed[0], installed[1] + 1), "the next minor version is not tested"


def test_values_are_held_until_they_are_asked_for() -> None:
    class Values(internals.LazyValues):  # type: ignore[misc]
        def __init__(self) -> None:
            self.shape, self.dtype, self.nbytes = (2,), numpy.dtype(numpy.float32), 8

        def load(self) -> numpy.ndarray:
            return numpy.ones(2, numpy.float32)

    held = Values()
    constant = gs.Constant("w", held)
    assert internals.held_values(constant) is held
    values = constant.values
    assert values.tolist() == [1, 1]
    assert internals.held_values(constant) is values
    assert internals.held_values(gs.Constant("v", values)) is values


def test_links_of_one_of_two_equal_nodes_are_removed() -> None:
    x, y = gs.Variable("x"), gs.Variable("y")
    twins = [gs.Node("Add", "same", inputs=[x, x], outputs=[y]), gs.Node("Add", "same", inputs=[x, x], outputs=[y])]
    assert twins[0] == twins[1]
    internals.remove_links(twins[1])
    assert (list(twins[1].inputs), list(twins[1].outputs)) == ([], [])
    assert [one is twins[0] for one in (*x.outputs, *y.inputs)] == [True, True, True]


def test_links_are_rebuilt_in_the_order_of_the_nodes() -> None:
    x, y, gone = gs.Variable("x"), gs.Variable("y"), gs.Variable("gone")
    nodes = [gs.Node("Neg", inputs=[x], outputs=[y]), gs.Node("Add", inputs=[y, x])]
    gs.Node("Abs", inputs=[x], outputs=[gone])
    internals.rebuild_links([x, y, gone], nodes)
    assert [[id(node) for node in tensor.outputs] for tensor in (x, y)] == [[*map(id, nodes)], [id(nodes[1])]]
    assert [len(tensor.inputs) for tensor in (x, y, gone)] == [0, 1, 0]
    y.outputs.remove(nodes[1])
    assert [id(tensor) for tensor in nodes[1].inputs] == [id(x)], "the lists do not update each other any more"


@pytest.mark.parametrize("owner", [gs.Variable("x"), gs.Constant("w", numpy.ones(1)), gs.Node("Neg"), gs.Graph()])
def test_attached_objects_stay_with_their_owner(owner: gs.Node, capfd: pytest.CaptureFixture[str]) -> None:
    assert internals.attached(owner) is None
    note = object()
    internals.attach(owner, note)
    assert internals.attached(owner) is note
    assert capfd.readouterr().out == ""


def test_attribute_types_go_both_ways() -> None:
    from onnx import AttributeProto

    for kind in (AttributeProto.FLOAT, AttributeProto.INTS, AttributeProto.GRAPH, AttributeProto.TENSOR):
        assert internals.onnx_attribute_type_of(internals.attribute_type_of(kind)) == kind


def test_matching_reads_nodes_of_subgraphs_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    x, y, z = gs.Variable("x"), gs.Variable("y"), gs.Variable("z")
    inner = gs.Graph(nodes=[gs.Node("Neg", inputs=[x], outputs=[z])], outputs=[z])
    graph = gs.Graph(
        nodes=[gs.Node("Abs", inputs=[x], outputs=[y]), gs.Node("If", attrs={"then_branch": inner}, inputs=[y])],
        inputs=[x],
        outputs=[y],
    )
    pattern = gs.GraphPattern()
    pattern.set_output_tensors([pattern.add("one", "Abs", inputs=[pattern.variable()])])
    nodes = [node for node in nodes_in(graph) if node.op == "Neg"]
    with internals.ready_for_matching(graph, nodes):
        matches = pattern.match_all(graph)
    assert [match.get("one").op for match in matches] == ["Abs"]
    assert not hasattr(nodes[0], "id")
    assert capfd.readouterr().out == ""
