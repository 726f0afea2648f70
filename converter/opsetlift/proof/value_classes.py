"""Which values two models of the same inputs have in common, told by what computes them.

Each value of the original belongs to a class: values that the same operator computes from the same classes are the
same, and so are constants of the same content. A value of the result that has the name of one of the original is taken
to be of its class. That is an obligation, which is met at once where both are computed by the same operator from the
same classes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from functools import cached_property, partial

from onnx import AttributeProto, ModelProto, SparseTensorProto, TensorProto

from opsetlift.evaluator import may_read_only_shapes, run_node, sparse_tensor_value, tensor_value
from opsetlift.model.arrays import Array
from opsetlift.model.def_use import DefUse, Operator
from opsetlift.model.files import ModelFileError
from opsetlift.model.scopes import function_key, imported_opsets
from opsetlift.proof.signature import array_key, digest
from opsetlift.specification.history import canonical_domain, definition

Class = tuple[Hashable, ...]
"""What a value is: an input by its name, a constant by its content, or the output of a node of the original."""

BEFORE_ALL = -1
"""The rank of inputs: the original has them before it computes anything."""


def input_class(name: str) -> Class:
    """The class of an input of the model."""
    return "input", name


def constant_class(value: Array) -> Class:
    """The class of constants of this content."""
    return "constant", *array_key(value)


def is_constant(one: Class) -> bool:
    """Whether values of a class are the same in every run."""
    return one[0] == "constant"


def is_computed(one: Class) -> bool:
    """Whether a class is that of an output of a node of the original."""
    return one[0] == "value"


class ClassedModel:
    """The graph of a model, and the classes of its values as far as they are known; at first inputs and initializers.

    Args:
        model: The model.
        base_dir: The folder of its external data.
        opaque: The outputs of nodes that cannot be executed. Such a node is the same as another one only where all is,
            the names of its outputs included.
    """

    def __init__(self, model: ModelProto, base_dir: str, opaque: Set[str] = frozenset()) -> None:
        self.model = model
        self.base_dir = base_dir
        self.index = DefUse(model.graph)
        self.nodes = model.graph.node[:]
        self.opsets = imported_opsets(model.opset_import)
        self.classes: dict[str, Class] = {}
        for name, tensor in self.index.initializers.items():
            self.classes[name] = constant_class(self._content(tensor))
        self.classes.update((name, input_class(name)) for name in self.index.inputs)
        self.folded: Mapping[str, Array] = {}
        """What is computed from constants alone and stands for a constant."""
        self._opaque = opaque
        self._functions = {function_key(one) for one in model.functions}
        self._heads: dict[Class, Class] = {}

    def _content(self, tensor: TensorProto | SparseTensorProto) -> Array:
        folder = self.base_dir or None
        try:
            if isinstance(tensor, SparseTensorProto):
                return sparse_tensor_value(tensor, folder)
            return tensor_value(tensor, folder)
        except ValueError as error:
            raise ModelFileError(f"an initializer cannot be read: {error}") from error

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.index.inputs_by_node)

    def varying(self) -> set[str]:
        """The inputs, and all that is computed from them."""
        index = self.index
        found = set(index.inputs)
        for position, names in enumerate(index.outputs_by_node):
            if not found.isdisjoint(index.reads(position)) or self.is_opaque(position):
                found.update(names)
        found.discard("")
        return found

    @cached_property
    def on_sizes(self) -> Set[int]:
        """The nodes that compute with sizes of values and constants alone, by position."""
        index = self.index
        known = {"", *index.initializers} - set(index.inputs)
        found: set[int] = set()
        for position, names in enumerate(index.outputs_by_node):
            domain, operator, _ = index.operators_by_node[position]
            reads_shapes = may_read_only_shapes(canonical_domain(domain), operator)
            if self.is_opaque(position):
                continue
            if position not in index.subgraphs_by_node and (reads_shapes or known.issuperset(index.reads(position))):
                found.add(position)
                known.update(names)
        return found

    def is_opaque(self, position: int) -> bool:
        """Whether a node cannot be executed."""
        return (
            position >= 0 and bool(self._opaque) and not self._opaque.isdisjoint(self.index.outputs_by_node[position])
        )

    def constant(self, position: int) -> Class | None:
        """The class of what a Constant node holds; None of other nodes."""
        if not self._is(position, "Constant"):
            return None
        attributes = self.index.attributes_by_node[position]
        if len(attributes) == 1 and attributes[0].name == "value":
            return constant_class(self._content(attributes[0].t))
        held = run_node(self.nodes[position], [], self.opsets, strict=False)[0]
        return constant_class(held)

    def is_computed(self, name: str) -> bool:
        """Whether a node computes a value that does not just hold it."""
        position = self.index.positions.get(name)
        return position is not None and not self._is(position, "Constant")

    def source_of_identity(self, position: int) -> str:
        """What an Identity passes on; "" of other nodes."""
        return self.index.inputs_by_node[position][0] if self._is(position, "Identity") else ""

    def _is(self, position: int, operator: str) -> bool:
        domain, name, overload = self.index.operators_by_node[position]
        return name == operator and not canonical_domain(domain) and ("", name, overload) not in self._functions

    def key(self, position: int) -> Class:
        """The operator of a node, its attributes, and the classes of what it reads: all of these decide its outputs."""
        index, classes = self.index, self.classes
        inputs = index.inputs_by_node[position]
        read = [classes[name] if name else None for name in inputs]
        while read and read[-1] is None:
            read.pop()
        captured: Sequence[str] = ()
        if position in index.subgraphs_by_node:
            captured = sorted({*index.reads(position)} - {*inputs})
        head = self._head(index.operators_by_node[position], index.attributes_by_node[position])
        if self.is_opaque(position):
            head = *head, tuple(index.outputs_by_node[position])
        return head, tuple(read), tuple((name, classes[name]) for name in captured)

    def _head(self, operator: Operator, attributes: Sequence[AttributeProto]) -> Class:
        given = {one.name: one.SerializeToString(deterministic=True) for one in attributes}
        spelt = (operator, *sorted(given.items()))
        if spelt not in self._heads:
            domain, name, overload = canonical_domain(operator[0]), *operator[1:]
            is_call = (domain, name, overload) in self._functions
            found = None if is_call else definition(domain, name, self.opsets.get(domain, 0))
            for default in found.schema.attributes.values() if found is not None else ():
                if default.default_value.name:
                    given.setdefault(default.name, default.default_value.SerializeToString(deterministic=True))
            shown = ((attribute, digest(content)) for attribute, content in sorted(given.items()))
            self._heads[spelt] = domain, name, overload, *shown
        return self._heads[spelt]


class SharedValues:
    """The classes of two models, and which obligations are left.

    Args:
        original: The model before; its values get their classes here.
        result: The model after, likewise.
        folded: Values that the original computes from constants alone, with what they are.
    """

    def __init__(self, original: ClassedModel, result: ClassedModel, folded: Mapping[str, Array]) -> None:
        self.same = 0
        """How many nodes of the result are the same as in the original, and read the same."""
        self.obligations: list[list[str]] = []
        """Values of the result that are still to be proven, by the node that computes them."""
        self.names: dict[Class, str] = {}
        """A name of each class in the original."""
        self.ranks: dict[Class, int] = {}
        """Where in the original a value of the class is computed first."""
        self._first: dict[Class, int] = {}
        self._constants: dict[Class, Class] = {}
        """What outputs of nodes of the original are that stand for constants."""
        original.folded = folded
        self._class_original(original)
        self._class_result(original, result)

    def _class_original(self, original: ClassedModel) -> None:
        for name, one in original.classes.items():
            self._note(one, name, BEFORE_ALL)
        for position in range(original.size):
            for name, one in self._outputs(original, position, partial(self._place_of, position)):
                if name in original.folded and is_computed(one):
                    self._constants[one] = constant_class(original.folded[name])
                    one = self._constants[one]
                original.classes[name] = one
                self._note(original.classes[name], name, position)

    def _place_of(self, position: int, key: Class) -> int:
        return self._first.setdefault(key, position)

    def _note(self, one: Class, name: str, rank: int) -> None:
        self.names.setdefault(one, name)
        self.ranks.setdefault(one, rank)

    def _class_result(self, original: ClassedModel, result: ClassedModel) -> None:
        for names in result.index.outputs_by_node:
            for name in filter(None, names):
                expected = original.classes.get(name)
                if expected is not None and (is_computed(expected) or name in original.folded):
                    result.classes[name] = expected
        for position in range(result.size):
            unproven = []
            for name, one in self._outputs(result, position, self._first.get):
                if is_computed(one) and one not in self.ranks:
                    one = ("new", name)  # an output that the original does not ask of that node
                if is_constant(one) or name not in result.classes:
                    result.classes[name] = one
                elif result.classes[name] != one:
                    unproven.append(name)
            if unproven:
                self.obligations.append(unproven)
            else:
                self.same += 1
        pending = {name for names in self.obligations for name in names}
        for info in original.model.graph.output:
            if info.name not in pending and original.classes[info.name] != result.classes[info.name]:
                self.obligations.append([info.name])

    def _outputs(
        self, side: ClassedModel, position: int, first: Callable[[Class], int | None]
    ) -> Iterator[tuple[str, Class]]:
        """The outputs of a node, each with its class as follows from what computes it; `first` is where that is."""
        names = side.index.outputs_by_node[position]
        constant, source = side.constant(position), side.source_of_identity(position)
        if constant is not None or source:
            yield names[0], constant or side.classes[source]
            return
        found = first(side.key(position))
        for place, name in enumerate(names):
            if name:
                one = ("new", name) if found is None else ("value", found, place)
                yield name, self._constants.get(one, one)
