"""The record of a proof, and the verification of one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from opsetlift import Certificate, CertificateRefused, convert, verify
from opsetlift.model.files import Contents, load_model, save_model
from opsetlift.pipeline.convert import Conversion
from opsetlift.pipeline.job import Job
from opsetlift.pipeline.stages import DRY_RUN, Stage, run
from opsetlift.proof.certificate import model_sha256
from testing.small_models import externalise
from tests.prove.conversions import model

LAYERS = """<ir_version: 8, opset_import: ["": 16, "local": 1]>
g (float16[N, 3] x, float16[N, 3] b, bool c) => (float16[N] y, float16[N, 3] z)
   <float16[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
  h = MatMul (x, w)
  s = HardSwish (h)
  d = Sub (s, b)
  y = ReduceMin <axes = [1], keepdims = 0> (d)
  z = If (c) <
    then_branch = t () => (float16[N, 3] p) { p = local.leak <slope: float = 0.5> (d) },
    else_branch = e () => (float16[N, 3] q) { q = HardSwish (d) }
  >
}
<domain: "local", opset_import: ["": 16]>
leak <slope> (a) => (r) { k = LeakyRelu <alpha: float = @slope> (a) r = Neg (k) }"""

CONVERSIONS: dict[str, dict[str, Any]] = {
    "down": {"to": 13},
    "up": {"to": 18},
    "inlined": {"to": 13, "ir": 7},
    "for a runtime": {"target": "onnxruntime==1.4"},
    "other dtypes": {"to": 18, "dtypes": {"float16": "float"}},
    "normalised": {"to": 18, "fix_shapes": {"N": 2}, "normalize": True},
    "normalised for a runtime": {"target": "onnxruntime==1.8", "normalize": ["merge-bounds", "default"]},
}


def layers() -> ModelProto:
    made = model(LAYERS)
    made.graph.node[1].metadata_props.add(key="layer", value="3")
    return made


@pytest.fixture(scope="module")
def conversions() -> dict[str, Conversion]:
    return {name: convert(layers(), **options) for name, options in CONVERSIONS.items()}


@pytest.fixture(params=CONVERSIONS)
def done(request: pytest.FixtureRequest, conversions: dict[str, Conversion]) -> Conversion:
    return conversions[request.param]


def copied(original: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(original)
    return copy


def certificate_of(done: Conversion) -> dict[str, Any]:
    assert done.certificate is not None
    content: dict[str, Any] = json.loads(done.certificate.to_json())
    return content


def conversion_in(content: dict[str, Any]) -> dict[str, Any]:
    """The evidence of the first conversion that a certificate states."""
    found: dict[str, Any] = next(one["evidence"] for one in content["stages"] if one["stage"] == "convert")
    return found


def checked(content: dict[str, Any], converted: ModelProto, original: ModelProto | None = None) -> Certificate:
    original = original or layers()
    return verify(Certificate.from_json(json.dumps(content)), original, converted)


def test_a_certificate_says_what_was_proven_and_with_what() -> None:
    content = certificate_of(
        convert(model("g (float[N] x) => (float[1] y) { y = ReduceMin <axes = [0]> (x) }", 13), to=18)
    )
    assert content["source_opsets"] == {"ai.onnx": 13}
    assert content["target_opsets"] == {"ai.onnx": 18}
    assert content["request"]["to"] == {"ai.onnx": 18}
    assert set(content["tools"]) == {"opsetlift", "onnx", "numpy"}
    (stage,) = content["stages"]
    assert stage["stage"] == "convert"
    proof = stage["evidence"]
    assert proof["destination"] == {"opsets": {"ai.onnx": 18}, "ir": None, "runtime": None}
    assert len(proof["argument"]) == 2
    site = proof["sites"][0]
    assert (site["operator"], site["node"], site["path"], site["outcome"]) == ("ReduceMin", "y", "graph", "EQUAL")
    assert site["rules"] == ["ReduceMin 13→18: move axes to an input"]
    assert site["cases"] > 10


@pytest.mark.quick_share(2)
@pytest.mark.slow
def test_a_certificate_survives_json(done: Conversion) -> None:
    assert done.certificate is not None
    again = Certificate.from_json(done.certificate.to_json())
    assert again.to_json() == done.certificate.to_json()
    assert again.summary() == done.certificate.summary()
    assert again.is_proven


@pytest.mark.slow
def test_a_proof_can_be_run_again_from_its_certificate(done: Conversion) -> None:
    again = checked(certificate_of(done), done.model)
    assert done.certificate is not None
    assert again.to_json() == done.certificate.to_json()


def test_a_certificate_of_other_models_is_not_verified(conversions: dict[str, Conversion]) -> None:
    with pytest.raises(ValueError, match="the certificate is about another converted model"):
        checked(certificate_of(conversions["down"]), layers())
    with pytest.raises(ValueError, match="the certificate is about another original"):
        checked(certificate_of(conversions["down"]), conversions["down"].model, conversions["up"].model)


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values of a certificate, containers included."""
    if path:
        yield path
    if isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from leaves(value, (*path, key))


def holder_of(content: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        content = content[key]
    return content


def mutations(value: Any) -> Iterator[Any]:
    if isinstance(value, bool) or value is None:
        yield 1
    elif isinstance(value, int | float):
        yield from (value + 1, value + 10**12, -1 - value, float("nan"), 1e308, str(value), None)
    elif isinstance(value, str):
        yield from (f"{value}x", "", 7)
    elif isinstance(value, list):
        yield from ([*value, *value[-1:]] if value else ["x"], value[:-1] if value else [{}], {})
    else:
        yield from ({**value, "unheard of": 1}, {}, [])


NOT_STATEMENTS = {"tools", "rejected", "worst_ulps", "worst_case", "worst"}
"""What depends on the machine and the installed versions. Nothing follows from it."""


def run_once_for_each_request() -> Callable[[Sequence[Stage], Job], Job]:
    """The stages; what they made of a model is kept for the next time that the same is asked for."""
    done: dict[str, Job | Exception] = {}

    def run_or_remember(stages: Sequence[Stage], job: Job) -> Job:
        if stages is not DRY_RUN:
            return run(stages, job)
        key = repr(replace(job.options, seed=0))
        if key not in done:
            try:
                done[key] = run(stages, job)
            except Exception as error:
                done[key] = error
        found = done[key]
        if isinstance(found, Exception):
            raise found
        job.model, job.evidence = found.model, found.evidence
        return job

    return run_or_remember


@pytest.mark.slow
@pytest.mark.parametrize("name", ["down", "other dtypes", "normalised"])
def test_everything_that_a_certificate_states_is_checked(
    name: str, conversions: dict[str, Conversion], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = conversions[name]
    assert done.certificate is not None
    found = Certificate.from_json(done.certificate.to_json())
    # What the proof finds does not depend on what is mutated here, so that once is enough.
    monkeypatch.setattr("opsetlift.pipeline.verification.certificate_of", lambda job: found)
    monkeypatch.setattr("opsetlift.pipeline.verification.run", run_once_for_each_request())
    accepted = []
    for path in leaves(certificate_of(done)):
        if NOT_STATEMENTS & set(path):
            continue
        for mutated in mutations(holder_of(certificate_of(done), path)[path[-1]]):
            content = certificate_of(done)
            holder = holder_of(content, path)
            if holder[path[-1]] == mutated:
                continue
            holder[path[-1]] = mutated
            try:
                checked(content, done.model)
            except ValueError:
                continue
            accepted.append((path, mutated))
    assert accepted == []


def test_no_more_cases_may_be_stated_than_are_found(conversions: dict[str, Conversion]) -> None:
    content = certificate_of(conversions["down"])
    conversion_in(content)["sites"][0]["cases"] += 1
    with pytest.raises(CertificateRefused, match="the certificate states cases ="):
        checked(content, conversions["down"].model)


def _swap_inputs(node: Any) -> None:
    node.input[0], node.input[1] = node.input[1], node.input[0]


def _node(done: ModelProto, operator: str) -> Any:
    nodes = [*done.graph.node]
    for node in nodes:
        for attribute in node.attribute:
            nodes += attribute.g.node
    nodes += [node for function in done.functions for node in function.node]
    return next(node for node in nodes if node.op_type == operator)


def _replace_weights(done: ModelProto) -> None:
    weights = next(tensor for tensor in done.graph.initializer if tensor.name == "w")
    weights.CopyFrom(numpy_helper.from_array(numpy.full((3, 3), 9, numpy.float16), "w"))


def _replace_a_constant_of_a_rule(done: ModelProto) -> None:
    """By one within the bound of that rule."""
    _node(done, "HardSigmoid").attribute[0].f *= 1.00001


def _add_a_trigger(done: ModelProto) -> None:
    """The output is another one for a single input that no test input has."""
    done.graph.initializer.append(numpy_helper.from_array(numpy.float16(0.1234), "secret"))
    index = next(index for index, node in enumerate(done.graph.node) if node.op_type == "ReduceMin")
    done.graph.node[index].output[0] = "y_usual"
    more = [
        helper.make_node("Equal", ["y_usual", "secret"], ["is_secret"]),
        helper.make_node("Where", ["is_secret", "secret", "y_usual"], ["y"]),
    ]
    for offset, one in enumerate(more, 1):
        done.graph.node.insert(index + offset, one)


WRONG_MODELS: dict[str, Callable[[ModelProto], object]] = {
    "replaced weights": _replace_weights,
    "another constant of a rule": _replace_a_constant_of_a_rule,
    "another attribute": lambda done: _node(done, "ReduceMin").attribute[0].ints.__setitem__(0, 0),
    "swapped inputs": lambda done: _swap_inputs(_node(done, "Sub")),
    "another operator": lambda done: setattr(_node(done, "ReduceMin"), "op_type", "ReduceMax"),
    "another body": lambda done: setattr(_node(done, "LeakyRelu").attribute[0], "f", 0.25),
    "a function that does something else": lambda done: setattr(_node(done, "Neg"), "op_type", "Abs"),
    "a trigger": _add_a_trigger,
    "another output": lambda done: setattr(done.graph.output[1].type.tensor_type.shape.dim[1], "dim_value", 4),
    "lost metadata": lambda done: [node.ClearField("metadata_props") for node in done.graph.node],
    "another IR version": lambda done: setattr(done, "ir_version", done.ir_version + 1),
    "another opset": lambda done: setattr(done.opset_import[0], "version", 12),
}


def _claim(content: dict[str, Any], path: str, index: int, start: int, stop: int, applied: Any = None) -> None:
    """Claim a site, with all that follows moved to where it is then."""
    sites = conversion_in(content)["trace"]["scopes"].setdefault(path, {"sites": []})["sites"]
    kept = [site for site in sites if site["index"] != index]
    old = next((site for site in sites if site["index"] == index), None)
    shift = stop - start - ((old["stop"] - old["start"]) if old else 1)
    for site in kept:
        if site["index"] > index:
            site["start"] += shift
            site["stop"] += shift
    kept.append({"index": index, "start": start, "stop": stop, "applied": applied or (old or {})["applied"]})
    conversion_in(content)["trace"]["scopes"][path]["sites"] = sorted(kept, key=lambda site: site["index"])


def _as_it_is(content: dict[str, Any], wrong: ModelProto) -> None:
    """No more than the hash is changed."""


def _any_bound(content: dict[str, Any], wrong: ModelProto) -> None:
    for site in conversion_in(content)["sites"]:
        site["ulps"] = 10**12
    for scope in conversion_in(content)["trace"]["scopes"].values():
        for site in scope["sites"]:
            for one in site["applied"]:
                one["ulps"] = 10**12


def _every_node_by_a_rule_of_its_own(content: dict[str, Any], wrong: ModelProto) -> None:
    transition = {"domain": "", "operator": "MatMul", "older": 9, "newer": 13, "upward": False}
    applied = [{"transition": transition, "rule": "by hand", "ulps": 10**12}]
    for index in range(3):
        _claim(content, "graph", index, index, index + 1, applied)


def _a_rule_of_another_operator(content: dict[str, Any], wrong: ModelProto) -> None:
    hard_swish = next(
        one
        for site in conversion_in(content)["trace"]["scopes"]["graph"]["sites"]
        for one in site["applied"]
        if one["ulps"]
    )
    for scope in conversion_in(content)["trace"]["scopes"].values():
        for site in scope["sites"]:
            site["applied"] = [hard_swish] * 1000


def _everything_was_moved(content: dict[str, Any], wrong: ModelProto) -> None:
    trace = conversion_in(content)["trace"]
    trace["moved_notes"] = ["metadata_props", "value_info", "quantization_annotation"]
    scope = trace["scopes"]["graph"]
    scope["added_initializers"] = [tensor.name for tensor in wrong.graph.initializer]
    scope["dropped_initializers"] = ["w"]


CLAIMS = (_as_it_is, _any_bound, _every_node_by_a_rule_of_its_own, _a_rule_of_another_operator, _everything_was_moved)


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__.strip("_"))
@pytest.mark.parametrize("attack", WRONG_MODELS)
def test_a_wrong_model_is_not_verified_whatever_its_certificate_states(
    attack: str, claim: Callable[[dict[str, Any], ModelProto], None], conversions: dict[str, Conversion]
) -> None:
    done = conversions["down"]
    wrong = copied(done.model)
    WRONG_MODELS[attack](wrong)
    assert wrong != done.model
    content = certificate_of(done)
    content["target_sha256"] = model_sha256(wrong)
    claim(content, wrong)
    with pytest.raises(CertificateRefused):
        checked(content, wrong)


def test_rules_that_the_rule_book_does_not_have_are_refused(conversions: dict[str, Conversion]) -> None:
    content = certificate_of(conversions["down"])
    conversion_in(content)["trace"]["scopes"]["graph"]["sites"][0]["applied"][0]["rule"] = "weights are replaced"
    with pytest.raises(
        CertificateRefused, match=r"states nodes .* by weights are replaced .*, but the installed rules make"
    ):
        checked(content, conversions["down"].model)


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"to": {"ai.onnx": 10**9}}, "has no opset"),
        ({"to": {"com.example": 2}}, "there are no rules"),
        ({"ir": 10**9}, "there is no"),
        ({"runtime": "nothing==1"}, "there is no"),
        ({"runtime": "/etc/passwd.toml"}, "names a file"),
        ({"dtypes": {"float16": "float33"}}, "there is no dtype"),
        ({"dtype_interface": "change"}, "no change of dtypes"),
        ({"fix_shapes": {"K": [3]}}, "has no input 'K'"),
        ({"passes": ["fold-constants", "mine"]}, "needs passes that are not installed here: 'mine'"),
        ({"size_limit": 3}, "size limit for passes, but no passes"),
    ],
)
def test_a_request_that_nobody_can_make_is_refused(
    request_: dict[str, Any], sentence: str, conversions: dict[str, Conversion]
) -> None:
    content = certificate_of(conversions["down"])
    content["request"].update(request_)
    with pytest.raises(ValueError, match=sentence):
        checked(content, conversions["down"].model)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        '{"schema_version": 99}',
        "no json",
        '{"schema_version": 3, "schema_version": 3}',
        '{"schema_version": NaN}',
    ],
)
def test_what_is_no_certificate_is_not_read(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"no schema_version|schema version|Expecting value|is there twice|not a JSON number"
    ):
        Certificate.from_json(text)


def test_the_hash_of_a_model_does_not_depend_on_where_its_weights_lie(tmp_path: Path) -> None:
    weights = numpy.arange(600, dtype=numpy.float32)
    inside = model("g (float[600] x) => (float[600] y) { y = Mul (x, w) }", 13)
    inside.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    typed = model("g (float[600] x) => (float[600] y) { y = Mul (x, w) }", 13)
    typed.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [600], weights))
    outside = externalise(copied(inside), tmp_path)
    assert model_sha256(inside) == model_sha256(typed)
    assert model_sha256(outside, Contents(str(tmp_path))) == model_sha256(inside)
    assert model_sha256(outside) == ""
    inside.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights[::-1].copy(), "w"))
    assert model_sha256(outside, Contents(str(tmp_path))) != model_sha256(inside)


def test_replaced_external_weights_are_found(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    inside = model("g (float[600] x) => (float[1] y) { m = Mul (x, w) y = ReduceMin <axes = [0]> (m) }", 13)
    inside.graph.initializer.append(numpy_helper.from_array(numpy.arange(600, dtype=numpy.float32), "w"))
    source = externalise(inside, before)
    done = convert(source, to=18, base_dir=str(before))
    save_model(done.model, after / "out.onnx", source_dir=before)
    assert done.certificate is not None
    read = Certificate.from_json(done.certificate.to_json())
    written = load_model(after / "out.onnx")
    assert verify(read, source, written, base_dir=str(before), converted_dir=str(after)).is_proven
    data = next(file for file in after.iterdir() if file.name != "out.onnx")
    data.write_bytes(bytes(data.stat().st_size))
    with pytest.raises(ValueError, match="another converted model"):
        verify(read, source, written, base_dir=str(before), converted_dir=str(after))
    read.target_sha256 = model_sha256(written, Contents(str(after)))
    with pytest.raises(CertificateRefused, match="initializer 'w' differs"):
        verify(read, source, written, base_dir=str(before), converted_dir=str(after))
