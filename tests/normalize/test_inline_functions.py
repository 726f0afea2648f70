"""Functions, where they are called."""

from opsetlift.pipeline.normalize import normalize
from tests.normalize.rewriting import check_unchanged, rewritten, text_model

PASS = "inline-functions"


def body(text: str, name: str = "f", head: str = "(x) => (y)", attributes: str = "", opset: int = 17) -> str:
    """A function of the domain "local"."""
    return f'<domain: "local", opset_import: ["" : {opset}, "local" : 1]> {name} {attributes} {head} {{ {text} }}'


def operators(graph: str, functions: str) -> list[str]:
    """The operators of the graph after the pass; no function is left."""
    result = rewritten((PASS, "remove-unused"), text_model(graph, functions=functions)).model
    assert not result.functions
    return [node.op_type for node in result.graph.node]


def test_calls_become_what_the_function_does() -> None:
    graph = "g (float[2] x) => (float[2] y) { a = local.f(x) y = local.f(a) }"
    assert operators(graph, body("t = Neg(x) y = Exp(t)")) == ["Neg", "Exp", "Neg", "Exp"]


def test_functions_that_call_functions() -> None:
    functions = body("y = local.h(x)") + "\n" + body("t = Abs(x) y = Neg(t)", name="h")
    assert operators("g (float[2] x) => (float[2] y) { y = local.f(x) }", functions) == ["Abs", "Neg"]


def test_attributes_of_the_call_and_defaults() -> None:
    function = body(
        "t = Elu<alpha: float = @a>(x) y = LeakyRelu<alpha: float = @b>(t)", attributes="<a, b: float = 0.5>"
    )
    graph = "g (float[2] x) => (float[2] y) { y = local.f<a = 2.0>(x) }"
    assert operators(graph, function) == ["Elu", "LeakyRelu"]


def test_an_attribute_that_the_call_leaves_out_is_absent() -> None:
    function = body("y = Elu<alpha: float = @a>(x)", attributes="<a>")
    result = rewritten(PASS, text_model("g (float[2] x) => (float[2] y) { y = local.f(x) }", functions=function)).model
    assert not result.graph.node[0].attribute


def test_an_input_that_the_call_leaves_out() -> None:
    function = body("y = Clip(x, low, high)", head="(x, low, high) => (y)")
    graph = "g (float[2] x, float h) => (float[2] y) { y = local.f(x, , h) }"
    assert operators(graph, function) == ["Clip"]


def test_an_input_that_is_an_output() -> None:
    function = body("z = Neg(x)", head="(x) => (x, z)")
    graph = "g (float[2] x) => (float[2] y, float[2] z) { y, z = local.f(x) }"
    assert sorted(operators(graph, function)) == ["Identity", "Neg"]


def test_subgraphs_in_functions_get_names_of_their_own() -> None:
    function = body(
        """t = Neg(x)
        y = If (c) <
            then_branch = a () => (float[2] u) { v = Exp(t) u = Abs(v) },
            else_branch = b () => (float[2] w) { w = Abs(t) }
        >""",
        head="(x, c) => (y)",
    )
    graph = "g (float[2] x, bool c) => (float[2] y) { a = local.f(x, c) y = local.f(a, c) }"
    assert operators(graph, function) == ["Neg", "If", "Neg", "If"]


def test_calls_in_subgraphs() -> None:
    graph = """g (float[2] x, bool c) => (float[2] y) {
        y = If (c) <
            then_branch = a () => (float[2] u) { u = local.f(x) },
            else_branch = b () => (float[2] w) { w = Abs(x) }
        >
    }"""
    assert operators(graph, body("t = Neg(x) y = Exp(t)")) == ["If"]


def test_a_body_for_another_opset_stays() -> None:
    graph = "g (float[2] x) => (float[2] y) { y = local.f(x) }"
    check_unchanged(PASS, graph, functions=body("y = Neg(x)", opset=13))


def test_functions_stay_unless_somebody_asks() -> None:
    graph = "g (float[2] x) => (float[2] y) { y = local.f(x) }"
    result = normalize(text_model(graph, functions=body("y = Neg(x)"))).model
    assert [function.name for function in result.functions] == ["f"]


def test_notes_of_the_call_and_of_the_body_are_kept() -> None:
    model = text_model("g (float[2] x) => (float[2] y) { y = local.f(x) }", functions=body("y = Neg(x)"))
    model.graph.node[0].doc_string = "the call"
    model.functions[0].node[0].doc_string = "the body"
    (node,) = rewritten(PASS, model).model.graph.node
    assert node.doc_string == "the body\nthe call"
