"""What the result declares of values, and the original does not: it has to be so.

Rules may declare types where the definitions at the target infer none: in `value_info`, and of the inputs and outputs
of subgraphs that they write. Checkers and runtimes take these at their word. Of a value that the original has, too,
nothing may be declared but what is known of it there. What is declared of others is compared with what the nodes of
their site compute, wherever the original's own declarations hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from onnx import FunctionProto, ModelProto, TypeProto, ValueInfoProto

from opsetlift.evaluator import Checked
from opsetlift.proof.scopes import ScopePair
from opsetlift.proof.shapes import dims_of, follows_from
from opsetlift.proof.sites import Facts, Site
from opsetlift.proof.trial import Trial
from opsetlift.specification.dtypes import dtype_name, tensor_type_proto


class Declarations:
    """What is declared in the models of a site, to be compared with what they compute.

    Args:
        anew: What the result declares and the original does not.
        inputs: What both declare of inputs.
    """

    def __init__(self, anew: Sequence[ValueInfoProto], inputs: Sequence[ValueInfoProto]) -> None:
        self._compared = {info.SerializeToString(deterministic=True) for info in (*anew, *inputs)} if anew else set()
        self._has_sizes = any(isinstance(size, int) for info in anew for size in dims_of(info.type) or ())
        self.were_compared = not anew
        """Whether all that is to be compared has been."""

    def take_note(self, trial: Trial, *, own_sizes: bool) -> None:
        """Take note of what a trial compared."""
        self.were_compared |= trial.declarations_held and (own_sizes or not self._has_sizes)

    def checked(self, *, own_sizes: bool, as_declared: bool = False) -> tuple[Checked | None, Checked | None]:
        """What to compare on both sides: what the original declares, and of the result what it declares besides.

        Args:
            own_sizes: Whether inputs are of the sizes that the model gives them. If not, sizes are no part of what is
                compared, only dtypes, ranks and symbols.
            as_declared: Whether the original's declarations are compared in any case.
        """
        compared = self._compared

        def in_original(info: ValueInfoProto) -> TypeProto:
            return info.type if own_sizes else _without_sizes(info.type)

        def in_result(info: ValueInfoProto) -> TypeProto | None:
            is_compared = info.SerializeToString(deterministic=True) in compared
            return in_original(info) if is_compared else None

        if not compared:
            return in_original if as_declared else None, None
        return in_original, in_result


def declare_all(site: Site, before: ModelProto, after: ModelProto) -> Declarations:
    """Let the models of a site say what is declared in it.

    Args:
        site: The site.
        before: The model of its original nodes.
        after: The model of what stands in their place.

    Returns:
        What to compare: nothing where the result declares nothing that the original does not.
    """
    declared = site.declared_anew
    if not declared:
        return Declarations((), ())
    inputs = [ValueInfoProto(name=name, type=kind) for name, kind in site.types.items() if kind is not None]
    outputs = [ValueInfoProto(name=name, type=kind) for name, kind in site.output_types.items()]
    before.graph.value_info.extend((*inputs, *outputs))
    after.graph.value_info.extend((*inputs, *declared))
    return Declarations(declared, inputs)


def _without_sizes(kind: TypeProto) -> TypeProto:
    bare = TypeProto()
    bare.CopyFrom(kind)
    inner = bare
    while inner.WhichOneof("value") in ("sequence_type", "optional_type"):
        inner = getattr(inner, str(inner.WhichOneof("value"))).elem_type
    for dim in inner.tensor_type.shape.dim if inner.HasField("tensor_type") else ():
        dim.ClearField("dim_value")
    return bare


def declaration_differences(pairs: Iterable[ScopePair], facts: Facts) -> list[str]:
    """What the result declares of values that no site computes, and does not follow from the original.

    Args:
        pairs: The scopes of both models.
        facts: What is known of the original's values.

    Returns:
        A sentence each.
    """
    return [sentence for pair in pairs if not pair.in_site for sentence in _differences(pair, facts)]


def _differences(pair: ScopePair, facts: Facts) -> Iterator[str]:
    if not pair.declared_anew:
        return
    in_sites = {name for one in pair.aligned if one.site is not None for node in one.after for name in node.output}
    of_initializers = _types_of_added_initializers(pair)
    for name, info in pair.declared_anew.items():
        if name in in_sites or not pair.result_index.defines(name):
            continue
        known = of_initializers.get(name) or (facts.type_of(pair.path, name) if pair.index.defines(name) else None)
        if not follows_from(info.type, known) and not follows_from(info.type, facts.type_told(pair.path, name)):
            yield f"{pair.path}: value_info declares a type of {name!r} that does not follow from the original"


def _types_of_added_initializers(pair: ScopePair) -> dict[str, TypeProto]:
    added = pair.trace.added_initializers
    if isinstance(pair.result, FunctionProto) or not added:
        return {}
    return {
        tensor.name: tensor_type_proto(dtype_name(tensor.data_type), list(tensor.dims))
        for tensor in pair.result.initializer
        if tensor.name in added
    }
