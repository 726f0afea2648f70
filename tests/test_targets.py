"""Targets: the files that describe runtimes, how one is found, and what a conversion for one does."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from opsetlift import ConversionRefused, UnreachableTarget, Why, convert, reach, verify
from opsetlift.cli import main
from opsetlift.specification import history
from opsetlift.specification.history import AI_ONNX, CONVERTED_DOMAINS, Definition
from opsetlift.targets import Target, TargetFileError, UnknownTarget, catalogue, find_target, has_kernel
from opsetlift.targets.form_keys import KEYS
from opsetlift.targets.forms import Form
from opsetlift.targets.reading import read_runtime
from testing.small_models import minimum_model, model_of

FILES = sorted(file.name for file in files("opsetlift.targets").iterdir() if file.name.endswith(".toml"))
TARGETS = [target for runtime in catalogue().values() for target in runtime.targets]

SMALL = """
title = "Small"
[sources]
docs = "example.com"
[[release]]
versions = ["1.0", "1.2"]
opset = { min = 9, max = 11, source = "docs" }
ir = { max = 5, source = "docs" }
functions = { are_taken = false, source = "docs" }
[release.operators_lacking]
names = ["Sin"]
source = "docs"
[release.dtypes_refused]
names = ["double"]
source = "docs"
"""


class Stated:
    """What a form states, by its keys; nothing for others."""

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self._keys = keys

    def __getattr__(self, name: str) -> Any:
        return self._keys.get(name, KEYS[name].kind())


def _definitions(form: Form) -> list[Definition | None]:
    found = history.history(form.domain, form.operator)
    return [*found.definitions.values()] if found else [history.definition(form.domain, form.operator, 1)]


class TestFiles:
    @pytest.mark.parametrize("name", FILES)
    def test_are_read(self, name: str) -> None:
        runtime = catalogue()[name.removesuffix(".toml")]
        assert runtime.versions

    @pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.spelling)
    def test_have_a_source_for_every_fact(self, target: Target) -> None:
        assert len(target.opsets) == len({"opset", "ml_opset"} & target.sources.keys())
        assert (target.ir_versions.last is None) or "ir" in target.sources
        assert not target.dtypes_refused or "dtypes_refused" in target.sources
        assert not target.operators_lacking or "operators_lacking" in target.sources
        assert not target.constant_inputs or "constant_inputs" in target.sources
        assert target.takes_open_dimensions or "open_dimensions" in target.sources
        assert target.takes_false_shapes or "false_shapes" in target.sources
        assert target.takes_captured_initializers or "captured_initializers" in target.sources
        assert target.takes_unnamed_dimensions or "unnamed_dimensions" in target.sources
        assert target.takes_inputs_as_outputs or "inputs_as_outputs" in target.sources
        assert target.takes_repeated_outputs or "repeated_outputs" in target.sources
        assert target.takes_initializers_as_outputs or "initializers_as_outputs" in target.sources
        assert target.takes_outputs_beside_others or "outputs_beside_others" in target.sources
        assert not target.outputs_lost_where_read or "outputs_lost_where_read" in target.sources
        assert target.takes_empty_values or "empty_values" in target.sources
        assert target.takes_empty_outputs or "empty_outputs" in target.sources
        assert not target.kernels or "kernels" in target.sources
        assert all(one.source for one in (*target.quirks, *target.forms))
        assert target.sources or target.quirks

    @pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.spelling)
    def test_name_operators_and_opsets_that_exist(self, target: Target) -> None:
        known = {operator for _, operator in history.histories()}
        assert {name for name in target.operators_lacking if "." not in name} <= known
        for operator, formal in target.constant_inputs:
            definitions = history.histories()[AI_ONNX, operator].definitions.values()
            assert any(formal in {one.name for one in definition.schema.inputs} for definition in definitions)
        for form in target.forms:
            stated = Stated(form.keys)
            definitions = [definition for definition in _definitions(form) if definition is not None]
            if form.domain not in CONVERTED_DOMAINS:
                # Names are of a schema, which onnx has not: inputs are named by their places.
                assert not any([stated.dtypes, stated.attributes])
                named = [
                    stated.ranks,
                    stated.has_inputs,
                    stated.lacks_inputs,
                    stated.single_axes,
                    stated.batched_inputs,
                ]
                pairs = [stated.other_lengths, stated.other_shapes, stated.fewer_axes]
                assert all(one.isdecimal() for names in (*named, *pairs) for one in names)
                assert all(one.isdecimal() for names in pairs for one in names.values())
                continue
            attributes = {name for definition in definitions for name in definition.schema.attributes}
            inputs = {one.name for definition in definitions for one in definition.schema.inputs}
            variables = {name for definition in definitions for name in definition.types_by_variable}
            assert attributes >= {*stated.given, *stated.absent, *stated.attributes, *stated.other_than}
            assert attributes >= {*stated.at_least, *stated.at_least.values()}
            assert inputs | attributes >= {*stated.negative}
            assert inputs >= stated.ranks.keys()
            assert variables >= stated.dtypes.keys()
        for domain, opsets in target.opsets.items():
            assert opsets.first <= (opsets.last or opsets.first) <= history.latest_opset(domain)
        assert (target.ir_versions.last or 3) <= onnx.IR_VERSION

    @pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.spelling)
    def test_name_in_quirks_only_versions_that_are_listed(self, target: Target) -> None:
        listed = set(catalogue()[target.name].versions)
        assert all(listed.issuperset(one.versions) for one in (*target.quirks, *target.forms))

    @pytest.mark.parametrize(
        ("before", "after", "words"),
        [
            ('title = "Small"', "", "no title"),
            ("[sources]", "[sauces]", "sauces"),
            ('source = "docs" }', 'source = "hearsay" }', "hearsay"),
            ("min = 9", "min = 12", "not a range"),
            ("min = 9", 'min = "9"', "must be integers"),
            ('versions = ["1.0", "1.2"]', "versions = []", "versions"),
            ('versions = ["1.0", "1.2"]', 'versions = ["1.0", "1.0"]', "twice"),
            ('"double"', '"doubles"', "doubles"),
            ("are_taken", "taken", "taken"),
            ('names = ["Sin"]', 'names = ["Sin", 3]', "list of names"),
            ("[release.operators_lacking]", "[release.constant_inputs]", "is not an input"),
            ("[[release]]", "[[release", "TOML"),
        ],
    )
    def test_that_are_wrong_are_rejected_in_one_sentence(self, before: str, after: str, words: str) -> None:
        assert before in SMALL
        with pytest.raises(TargetFileError, match=words):
            read_runtime("small", SMALL.replace(before, after))

    @pytest.mark.parametrize(
        ("before", "after", "words"),
        [
            ('"docs"', '"hearsay"', "hearsay"),
            ("com.microsoft", "ai.onnx.ml", "a domain beside ONNX's own"),
            ('"1.2"', '"soon"', "neither a release nor"),
            ('["Gelu", "QGemm of int8"]', '"Gelu"', "list of names"),
            ("since", "until", "until"),
        ],
    )
    def test_operators_of_other_domains_are_named_by_their_first_release(
        self, before: str, after: str, words: str
    ) -> None:
        table = """
[contributed]
domain = "com.microsoft"
source = "docs"
[contributed.since]
"1.2" = ["Gelu", "QGemm of int8"]
never = ["Snpe"]
"""
        runtime = read_runtime("small", SMALL + table)
        added = {f"com.microsoft.{name}" for name in ("Gelu", "QGemm of int8", "Snpe")}
        lacking = [one.operators_lacking for version in ("1.0", "1.2") if (one := runtime.find(version)) is not None]
        assert [added & one for one in lacking] == [added, {"com.microsoft.Snpe"}]
        assert before in table
        with pytest.raises(TargetFileError, match=words):
            read_runtime("small", SMALL + table.replace(before, after))

    def test_a_form_of_several_operators_stands_for_one_of_each(self) -> None:
        form = '\n[[form]]\noperators = ["Sin", "Cos"]\ntext = "computes no angles"\nsource = "docs"\n'
        target = read_runtime("small", SMALL + form).find("1.0")
        assert target is not None
        assert [(one.operator, one.text) for one in target.forms][-2:] == [
            ("Sin", "computes no angles"),
            ("Cos", "computes no angles"),
        ]

    @pytest.mark.parametrize("operators", ['"Sin"', '["Sin", 3]', '["Sin"]\noperator = "Cos"'])
    def test_the_operators_of_a_form_are_a_list_of_names(self, operators: str) -> None:
        form = f'\n[[form]]\noperators = {operators}\ntext = "computes no angles"\nsource = "docs"\n'
        with pytest.raises(TargetFileError, match="operators, which are a list of names"):
            read_runtime("small", SMALL + form)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ('is_shared = "yes"', "is_shared is true or false"),
            ("is_shared = 1", "is_shared is true or false"),
            ("outputs = true", "outputs is a whole number"),
            ('given = "axes"', "given is a list of names or numbers"),
            ("given = [[1]]", "given is a list of names or numbers"),
            ("chain = 3", "chain is a list"),
            ("versions = 3", "versions is a list"),
            ('lengths = "axes"', "lengths is a table"),
            ("ranks = 3", "ranks is a table"),
            ("ranks = { X = 3 }", "ranks gives a list for each name"),
            ('dtypes = { T = "float" }', "dtypes gives a list for each name"),
            ('dtypes = { T = ["flot"] }', "'flot' is not a dtype"),
            ("takes_defaults_for_constants = true", "unknown key"),
        ],
    )
    def test_what_a_form_says_is_of_its_kind(self, line: str, words: str) -> None:
        form = f'\n[[form]]\noperator = "Sin"\ntext = "computes no angles"\nsource = "docs"\n{line}\n'
        with pytest.raises(TargetFileError, match=words):
            read_runtime("small", SMALL + form)

    @pytest.mark.parametrize(
        ("fact", "words"),
        [
            (
                'open_dimensions = { are_taken = "false", source = "docs" }',
                "open_dimensions: are_taken is true or false",
            ),
            ('functions = { are_taken = 0, source = "docs" }', "functions: are_taken is true or false"),
            ('default_inputs = { are_constants = "no", source = "docs" }', "are_constants is true or false"),
            ('ml_opset = { min = true, source = "docs" }', "must be integers"),
            ('operators_lacking = { names = ["Lopp"], source = "docs" }', "there is no operator 'Lopp'.* 'Loop'?"),
            (
                'operators_lacking = { names = ["ai.onnx.ml.Scale"], source = "docs" }',
                "no operator 'Scale'.* 'Scaler'?",
            ),
            ('constant_inputs = { names = ["TopK.k"], source = "docs" }', "TopK has no input 'k'"),
            ('constant_inputs = { names = ["Topk.K"], source = "docs" }', "there is no operator 'Topk'"),
            ('outputs_lost_where_read = { names = ["add"], source = "docs" }', "there is no operator 'add'"),
            ('misread_producers = { names = ["x"], operators = ["Pool"], source = "docs" }', "no operator 'Pool'"),
            ('shared_constants = { alone = ["MatMul.X"], source = "docs" }', "MatMul has no input 'X'"),
            ('shared_constants = { as_values = ["Add after Mat"], source = "docs" }', "there is no operator 'Mat'"),
        ],
    )
    def test_a_fact_that_would_never_hold_is_rejected(self, fact: str, words: str) -> None:
        release = f'\n[[release]]\nversions = ["2.0"]\n{fact}\n'
        with pytest.raises(TargetFileError, match=words):
            read_runtime("small", SMALL + release)

    @pytest.mark.parametrize(
        ("lines", "words"),
        [
            ('operator = "averagepool"', "there is no operator 'averagepool'; did you mean 'AveragePool'?"),
            ('operator = "AveragePool"\nversions = ["1"]', "no release of the file has the version '1'"),
            ('operator = "AveragePool"\nattributes = { ceil = 1 }', "AveragePool has nothing of the name 'ceil'"),
            ('operator = "AveragePool"\ngiven = ["axes"]', "AveragePool has nothing of the name 'axes'"),
            ('operator = "AveragePool"\nafter = ["com.microsoft.QGemm", "Cov"]', "AveragePool has nothing of .* 'Cov'"),
            ('operator = "AveragePool"\nchain = ["Add|Sup"]', "AveragePool has nothing of the name 'Sup'"),
            ('operator = "QGemm"', "there is no operator 'QGemm'"),
            ('operator = "Scaler"\ndomain = "ai.onnx.ml"\nabsent = ["scales"]', "Scaler has nothing .* 'scale'?"),
        ],
    )
    def test_a_form_that_no_node_has_is_rejected(self, lines: str, words: str) -> None:
        form = f'\n[[form]]\n{lines}\ntext = "computes no angles"\nsource = "docs"\n'
        with pytest.raises(TargetFileError, match=words):
            read_runtime("small", SMALL + form)

    @pytest.mark.parametrize(
        ("table", "words"),
        [
            ('[kernels.operators]\nAdd-7 = ["T: flot"]', "'flot' is not a dtype"),
            ('versions = ["3.0"]\n[kernels.operators]\nAdd-7 = ["T: float"]', "the version '3.0'"),
        ],
    )
    def test_kernels_that_nothing_would_ask_for_are_rejected(self, table: str, words: str) -> None:
        with pytest.raises(TargetFileError, match=words):
            read_runtime("small", f'{SMALL}\n[kernels]\nsource = "docs"\n{table}\n')

    def test_a_quirk_of_no_release_is_rejected(self) -> None:
        quirk = '\n[[quirk]]\ntext = "Odd."\nversions = ["3.0"]\nsource = "docs"\n'
        with pytest.raises(TargetFileError, match=r"no release of the file has the version '3\.0'"):
            read_runtime("small", SMALL + quirk)

    @pytest.mark.parametrize("most", ['"many"', "-1", "true", "0.5"])
    def test_how_many_channels_is_a_whole_number(self, most: str) -> None:
        release = f'\n[[release]]\nversions = ["2.0"]\ninputs_as_channels = {{ most = {most}, source = "docs" }}\n'
        with pytest.raises(TargetFileError, match="inputs_as_channels: most is a whole number"):
            read_runtime("small", SMALL + release)

    @pytest.mark.parametrize("endings", ['"quantized"', '[""]', "[1]"])
    def test_how_names_end_is_a_list_of_texts(self, endings: str) -> None:
        release = f'\n[[release]]\nversions = ["2.0"]\nmisread_names = {{ endings = {endings}, source = "docs" }}\n'
        with pytest.raises(TargetFileError, match="misread_names: endings is a list of texts"):
            read_runtime("small", SMALL + release)


class TestTensorRT:
    """What the lists of operators in the branches of github.com/onnx/onnx-tensorrt say."""

    @pytest.mark.parametrize(
        ("version", "opset", "taken", "lacking"),
        [
            ("5.1", 9, ["Conv", "Slice"], ["And", "Where", "NonZero"]),
            ("7.1", 11, ["Where"], ["Det", "BitShift"]),
            ("8.0", 13, ["Conv", "Loop"], ["Einsum", "GatherND", "Round", "ScatterElements", "ScatterND", "Sign"]),
            ("8.2", 13, ["Einsum", "GatherND", "Round", "Sign"], ["IsInf", "NonZero"]),
            ("8.4", 17, ["Einsum"], ["STFT", "DFT"]),
            ("8.6", 17, ["LayerNormalization", "IsInf", "Trilu"], ["Unique", "STFT"]),
            ("10.1", 20, ["LayerNormalization", "Gelu"], ["StringNormalizer"]),
        ],
    )
    def test_has_the_operators_that_its_list_names(
        self, version: str, opset: int, taken: list[str], lacking: list[str]
    ) -> None:
        target = find_target(f"tensorrt=={version}")
        assert target.opsets[AI_ONNX].last == opset
        assert target.operators_lacking.isdisjoint(taken)
        assert target.operators_lacking >= set(lacking)

    def test_takes_the_dtypes_that_its_list_names(self) -> None:
        assert not has_kernel("", "Abs", 13, {"T": "int8"}, find_target("tensorrt==8.6"))
        assert has_kernel("", "Abs", 13, {"T": "int64"}, find_target("tensorrt==8.6"))
        assert has_kernel("", "Abs", 13, {"T": "int8"}, find_target("tensorrt==11.0")), "of which nothing is known"

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("(float[1,1,8] x) => (float[1,1,N] y) { y = MaxPool <kernel_shape = [2]> (x) }", "two or three axes"),
            ("(float[3] x, int64[1] k) => (float[N] v, int64[N] i) { v, i = TopK (x, k) }", "constant 'K'"),
            (
                "(float[1,1,4,4] x) => (float[a,b,c,d] y, int64[a,b,c,d] i) "
                "{ y, i = MaxPool <kernel_shape = [2, 2]> (x) }",
                "no MaxPool that gives indices",
            ),
        ],
    )
    def test_refuses_what_its_list_restricts(self, text: str, words: str) -> None:
        source = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> g {text}')
        with pytest.raises(ConversionRefused, match=words):
            convert(source, to=13, target="tensorrt==8.5", prove=False)


class TestFinding:
    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ("onnxruntime==1.4", "onnxruntime==1.4"),
            ("ort==1.4", "onnxruntime==1.4"),
            ("ort-1.4", "onnxruntime==1.4"),
            ("onnxruntime-web==1.17", "onnxruntime==1.17"),
            ("onnxruntime-node-1.23", "onnxruntime==1.23"),
            ("trt==8.6", "tensorrt==8.6"),
            ("OV==2022.3", "openvino==2022.3"),
            ("cv==4.5", "opencv==4.5"),
            ("onnxruntime==1.4.0", "onnxruntime==1.4"),
            ("OnnxRuntime-1.4", "onnxruntime==1.4"),
            ("onnx-1.7", "onnx==1.7"),
            ("tensorrt==8", "tensorrt==8.0"),
            ("rknn-toolkit", "rknn-toolkit==1.7"),
        ],
    )
    def test_takes_the_spellings_that_people_use(self, wanted: str, found: str) -> None:
        assert find_target(wanted).spelling == found
        assert "not listed" not in find_target(wanted).note

    def test_without_a_version_means_the_newest(self) -> None:
        assert find_target("opencv").version == catalogue()["opencv"].versions[-1]

    def test_a_version_that_is_not_listed_is_taken_for_the_one_before(self) -> None:
        found = find_target("openvino==2023.1")
        assert found.version == "2022.3"
        assert "2023.1 is not listed" in found.note
        assert "2022.3, another major version," in found.note
        assert not found.is_measured
        within = find_target("tensorrt==10.3")
        assert within.version == "10.1"
        assert "major" not in within.note

    @pytest.mark.parametrize(
        ("wanted", "words"),
        [
            ("onxruntime==1.4", "did you mean onnxruntime"),
            ("tensorflow", "did you mean tensorrt"),
            ("openvino==2019.1", "there is no data for OpenVINO 2019.1"),
            ("winml==9", "there is no data for Windows ML 9"),
            ("openvino==new", "not a version"),
            ("onnxruntime==", "names no version"),
            ("onnxruntime== ", "names no version"),
        ],
    )
    def test_says_what_is_near(self, wanted: str, words: str) -> None:
        with pytest.raises(UnknownTarget, match=words):
            find_target(wanted)

    def test_takes_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "small.toml").write_text(SMALL)
        assert find_target(str(tmp_path / "small.toml")).spelling == "small==1.2"
        assert find_target(f"{tmp_path / 'small.toml'}==1.0").spelling == "small==1.0"

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(TargetFileError, match=rf"^target none: {tmp_path}/none.toml: no such file$"):
            find_target(str(tmp_path / "none.toml"))

    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            (b"title = '\xff'", "this is not text in UTF-8"),
            (b"title = " + b"1" * 5000, "not valid TOML"),
            (b"title = " + b"[" * 5000, "not valid TOML"),
            (b"title = 'x'\n[kernels]\nfile = 'gone'\nsource = 'x'", "kernels: .*/gone: no such file"),
        ],
    )
    def test_a_file_that_is_none_names_its_path_once(self, content: bytes, sentence: str, tmp_path: Path) -> None:
        (tmp_path / "odd.toml").write_bytes(content)
        with pytest.raises(TargetFileError, match=sentence) as caught:
            find_target(str(tmp_path / "odd.toml"))
        assert str(caught.value).count(str(tmp_path)) <= 1

    @pytest.mark.slow
    def test_takes_entry_points(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "small.toml").write_text(SMALL)
        (tmp_path / "plugin_of_a_test.py").write_text(f"PATH = {str(tmp_path / 'small.toml')!r}")
        installed = tmp_path / "plugin_of_a_test-1.0.dist-info"
        installed.mkdir()
        (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-of-a-test\nVersion: 1.0\n")
        (installed / "entry_points.txt").write_text("[opsetlift.targets]\nsmall = plugin_of_a_test:PATH\n")
        monkeypatch.syspath_prepend(tmp_path)
        catalogue.cache_clear()
        try:
            assert find_target("small==1").spelling == "small==1.0"
        finally:
            catalogue.cache_clear()


class TestOnnxReleases:
    @pytest.mark.parametrize("row", [row for row in helper.VERSION_TABLE if row[2] >= 7], ids=lambda row: row[0])
    def test_take_what_the_release_defined(self, row: tuple[str, int, int, int]) -> None:
        target = find_target(f"onnx=={row[0]}")
        assert target.ir_versions.last == row[1]
        assert target.opsets[AI_ONNX].last == row[2]


@pytest.fixture
def small(tmp_path: Path) -> str:
    (tmp_path / "small.toml").write_text(SMALL)
    return str(tmp_path / "small.toml")


class TestConversion:
    def test_goes_to_the_nearest_opset_and_an_ir_version_that_are_taken(self) -> None:
        conversion = convert(minimum_model(opset=18), target="onnxruntime==1.4")
        assert [entry.version for entry in conversion.model.opset_import] == [12]
        assert conversion.model.ir_version == 7
        assert conversion.report.target == "onnxruntime==1.4"

    def test_goes_up_where_the_model_is_too_old(self) -> None:
        conversion = convert(minimum_model(opset=8), target="tensorrt==11")
        assert [entry.version for entry in conversion.model.opset_import] == [9]

    def test_leaves_alone_what_is_taken_as_it_is(self) -> None:
        source = minimum_model(opset=11)
        conversion = convert(source, target="onnxruntime==1.4")
        assert conversion.model.graph == source.graph
        assert conversion.model.opset_import[0].version == 11

    def test_takes_an_opset_within_what_the_runtime_takes(self) -> None:
        assert convert(minimum_model(), to=9, target="onnxruntime==1.4").model.opset_import[0].version == 9
        with pytest.raises(UnreachableTarget, match="takes opset 7 to 12"):
            convert(minimum_model(), to=13, target="onnxruntime==1.4")
        with pytest.raises(UnreachableTarget, match="takes IR version 3 to 7"):
            convert(minimum_model(), ir=8, target="onnxruntime==1.4")

    def test_keeps_metadata_though_the_runtime_is_older_than_it(self) -> None:
        source = minimum_model(opset=21)
        source.graph.node[0].metadata_props.add(key="layer", value="7")
        source.graph.node[0].op_type = "Relu"
        del source.graph.node[0].attribute[:]
        conversion = convert(source, target="onnxruntime==1.4")
        assert conversion.model.ir_version == 7
        assert conversion.model.graph.node[0].metadata_props[0].value == "7"

    def test_inlines_functions_for_runtimes_without_them(self, small: str) -> None:
        source = onnx.parser.parse_model(
            """
            <ir_version: 8, opset_import: ["": 11, "local": 1]>
            g (float[3] x) => (float[3] y) { y = local.f (x) }
            <domain: "local", opset_import: ["": 11]>
            f (a) => (o) { o = Cos (a) }
            """
        )
        conversion = convert(source, target=small)
        assert not conversion.model.functions
        assert conversion.model.ir_version == 5

    @pytest.mark.parametrize("older", ["onnxruntime==1.1", "tensorrt==8.4", "opencv==5.0", "openvino==2026.4"])
    def test_inlines_functions_for_runtimes_that_take_any_ir_version_and_have_none(self, older: str) -> None:
        source = onnx.parser.parse_model(
            """
            <ir_version: 8, opset_import: ["": 11, "local": 1]>
            g (float[3] x) => (float[3] y) { y = local.f (x) }
            <domain: "local", opset_import: ["": 11]>
            f (a) => (o) { o = Cos (a) }
            """
        )
        conversion = convert(source, target=older)
        assert not conversion.model.functions
        assert [node.op_type for node in conversion.model.graph.node] == ["Cos"]
        assert conversion.model.ir_version == 6
        assert reach(source, targets=[older]).targets[0].ir_version == 6

    def test_refuses_operators_that_the_runtime_lacks(self, small: str) -> None:
        source = model_of([helper.make_node("Sin", ["x"], ["y"], name="wave")], opset=11)
        with pytest.raises(ConversionRefused) as caught:
            convert(source, target=small)
        (refusal,) = caught.value.refusals
        assert (refusal.why, refusal.operator, refusal.node) == (Why.TARGET, "Sin", "wave")

    def test_refuses_dtypes_where_they_come_in(self, small: str) -> None:
        nodes = [
            helper.make_node("Cast", ["x"], ["wide"], name="widen", to=TensorProto.DOUBLE),
            helper.make_node("Neg", ["wide"], ["still_wide"]),
            helper.make_node("Cast", ["still_wide"], ["y"], to=TensorProto.FLOAT),
        ]
        with pytest.raises(ConversionRefused) as caught:
            convert(model_of(nodes, opset=11), target=small)
        (refusal,) = caught.value.refusals
        assert (refusal.why, refusal.node) == (Why.TARGET, "widen")
        assert "--dtype double=float changes it" in refusal.sentence

    def test_takes_dtypes_that_are_changed_for_it(self, small: str) -> None:
        text = '<ir_version: 5, opset_import: ["": 11]> g (double[2] x) => (double[2] y) { y = Neg (x) }'
        source = onnx.parser.parse_model(text)
        with pytest.raises(ConversionRefused, match="--dtype double=float --dtype-interface change"):
            convert(source, target=small)
        with pytest.raises(ConversionRefused, match="'x' is double"):
            convert(source, target=small, dtypes={"double": "float"})
        conversion = convert(source, target=small, dtypes={"double": "float"}, dtype_interface="change")
        assert conversion.certificate is not None
        assert conversion.certificate.is_proven

    def test_refuses_inputs_that_have_to_be_constant_with_their_node(self) -> None:
        text = """
            <ir_version: 7, opset_import: ["": 13]>
            g (float[6] x, int64[1] k, int64[1] n) => (float[K] y, float[L] z, float[2] c)
            <int64[1] two = {2}>
            {
                m = Add (n, two)
                y, i = TopK (x, k)
                z, j = TopK (x, m)
                c, l = TopK (x, two)
            }
        """
        with pytest.raises(ConversionRefused) as caught:
            convert(onnx.parser.parse_model(text), to=13, target="tensorrt==8.4")
        assert [(refusal.why, refusal.node) for refusal in caught.value.refusals] == [
            (Why.TARGET, "y"),
            (Why.TARGET, "z"),
        ]
        assert "needs a constant 'K'" in caught.value.refusals[0].sentence

    def test_takes_weights_for_constants(self) -> None:
        weights = numpy_helper.from_array(numpy.zeros((64, 64, 3, 3), numpy.float32), "w")
        nodes = [helper.make_node("Unsqueeze", ["x", "at"], ["i"]), helper.make_node("Conv", ["i", "w"], ["y"])]
        axes = numpy_helper.from_array(numpy.array([0, 1]), "at")
        (answer,) = reach(model_of(nodes, initializers=[weights, axes]), targets=["tensorrt==8.4"]).targets
        assert answer.is_reachable, answer.blockers

    def test_refuses_open_sizes_where_the_runtime_takes_none(self, tmp_path: Path) -> None:
        text = SMALL.replace("functions =", 'open_dimensions = { are_taken = false, source = "docs" }\nfunctions =')
        (tmp_path / "fixed.toml").write_text(text)
        target = str(tmp_path / "fixed.toml")
        open_model = '<ir_version: 5, opset_import: ["": 11]> g (float[N,3] x) => (float[N,3] y) { y = Neg (x) }'
        with pytest.raises(ConversionRefused, match=r"has the shape \[N, 3\].*--fix-shapes N=1 sets them"):
            convert(onnx.parser.parse_model(open_model), target=target)
        convert(onnx.parser.parse_model(open_model), target=target, fix_shapes={"N": 1})
        convert(onnx.parser.parse_model(open_model.replace("N,", "2,")), target=target)

    def test_folds_what_is_computed_from_constants_where_the_runtime_does_not(self, tmp_path: Path) -> None:
        text = SMALL.replace("functions =", 'computed_constants = { are_taken = false, source = "docs" }\nfunctions =')
        (tmp_path / "plain.toml").write_text(text)
        source = onnx.parser.parse_model(
            '<ir_version: 5, opset_import: ["": 11]> g (float[2,3] x) => (float[6] y) '
            "<int64[1] two = {2}, int64[1] three = {3}> { s = Mul (two, three) y = Reshape (x, s) }"
        )
        folded = convert(source, target=str(tmp_path / "plain.toml"))
        assert [node.op_type for node in folded.model.graph.node] == ["Reshape"]
        assert folded.certificate is not None
        assert folded.certificate.is_proven
        assert "fold" in [stage.stage for stage in folded.certificate.stages]
        verify(folded.certificate, source, folded.model, runtime=find_target(str(tmp_path / "plain.toml")))

    def test_searches_the_opsets_of_a_runtime_that_refuses_the_nearest(self, tmp_path: Path) -> None:
        form = '[[form]]\noperator = "Flatten"\nopsets = { min = 11 }\ntext = "has no newer Flatten"\nsource = "docs"\n'
        (tmp_path / "old.toml").write_text(f"{SMALL}\n{form}")
        source = onnx.parser.parse_model(
            '<ir_version: 5, opset_import: ["": 11]> g (float[2,3] x) => (float[2,3] y) { y = Flatten (x) }'
        )
        target = find_target(str(tmp_path / "old.toml"))
        found = convert(source, target=target).model
        assert found.opset_import[0].version < 11
        (answer,) = reach(source, targets=[target]).targets
        assert answer.opsets == {"ai.onnx": found.opset_import[0].version}
        with pytest.raises(ConversionRefused, match="has no newer Flatten"):
            convert(source, to=11, target=target)

    def test_a_form_names_ranks_that_all_hold(self, tmp_path: Path) -> None:
        form = (
            '[[form]]\noperator = "PRelu"\nranks = { X = [2], slope = [1] }\ntext = "takes no rows"\nsource = "docs"\n'
        )
        (tmp_path / "rows.toml").write_text(f"{SMALL}\n{form}")
        text = (
            '<ir_version: 5, opset_import: ["": 11]> g (float[2,3] x, float%s s) => (float[2,3] y) { y = PRelu (x, s) }'
        )
        convert(onnx.parser.parse_model(text % "[2,3]"), target=str(tmp_path / "rows.toml"))
        with pytest.raises(ConversionRefused, match="takes no rows"):
            convert(onnx.parser.parse_model(text % "[3]"), target=str(tmp_path / "rows.toml"))


@pytest.mark.parametrize("version", ["2021.4", "2022.3"])
def test_openvino_is_given_no_batch_statistics_that_it_cannot_compute(version: str) -> None:
    target = find_target(f"openvino=={version}")
    assert target.is_measured
    assert any(form.operator == "BatchNormalization" for form in target.forms)


class TestCommandLine:
    def test_converts_for_a_runtime(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        onnx.save(minimum_model(opset=13), tmp_path / "in.onnx")
        arguments = [str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx"), "--for", "opencv==5.0"]
        assert main(["convert", *arguments]) == 0
        assert onnx.load(tmp_path / "out.onnx").opset_import[0].version <= 24
        assert "no tensors of rank 0 or 1" in capsys.readouterr().out

    def test_an_unknown_runtime_is_one_sentence(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        onnx.save(minimum_model(), tmp_path / "in.onnx")
        arguments = [str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx"), "--for", "onxruntime"]
        assert main(["convert", *arguments]) == 1
        assert "did you mean onnxruntime" in capsys.readouterr().err

    def test_lists_all_targets(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["targets"]) == 0
        listed = capsys.readouterr().out
        assert all(target.spelling in listed for target in TARGETS)

    @pytest.mark.parametrize("target", ["opencv==5.0", "openvino==2021.4", "mnn==3.6"])
    def test_a_page_says_everything_once(self, target: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["targets", target]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(set(lines))
        assert any(" more) [" in line for line in lines) or target == "mnn==3.6"

    def test_shows_one_target_with_its_sources(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["targets", "tensorrt==8.6"]) == 0
        shown = capsys.readouterr().out
        assert "QLinearConv" in shown
        assert "onnx-tensorrt" in shown
        assert "was not measured" in shown


def test_onnxruntime_web_gives_no_outputs_of_64_bits_until_111() -> None:
    """They are garbage there, and right in the packages of the same version for Python and Node.js."""
    text = """<ir_version: 6, opset_import: ["": 11]> g (float[3,4] x) => (int64[3] y) {
        y = ArgMax <axis = 1, keepdims = 0> (x) }"""
    model = onnx.parser.parse_model(text)
    with pytest.raises(ConversionRefused, match="--dtype int64=int32"):
        convert(model, target="onnxruntime-web==1.10")
    (found,) = reach(model, targets=["onnxruntime-web==1.11"]).targets
    assert not found.is_reachable
    for target in ("onnxruntime==1.10", "onnxruntime-node==1.10", "ort==1.10", "onnxruntime-web==1.12"):
        convert(model, target=target)
    changed = convert(model, target="onnxruntime-web==1.10", dtypes={"int64": "int32"}, dtype_interface="change")
    assert changed.model.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.INT32


def test_what_one_name_of_a_runtime_refuses_counts_under_no_other() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 7, opset_import: ["": 13]> g (float[N] x) => (int64[1] y) { y = Shape (x) }'
    )
    answers = {one.where: one.is_reachable for one in reach(model).targets}
    assert answers["onnxruntime==1.8"]
    assert answers["onnxruntime==1.11"]
