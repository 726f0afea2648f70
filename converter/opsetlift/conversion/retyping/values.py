"""The values of a scope on their way: in which types each is to be had, and under which names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto
from onnx.defs import OpSchema

from opsetlift.conversion.retyping.changes import (
    FLOATS,
    INTEGERS,
    DoesNotFit,
    beyond,
    changed_type,
    dtype_in,
    retyped_array,
    set_type,
)
from opsetlift.conversion.retyping.constants import Constant, rename_constants
from opsetlift.conversion.retyping.node import Retyper
from opsetlift.facts import ModelFacts, ScopeFacts
from opsetlift.model.arrays import array_of, tensor_of
from opsetlift.model.names import Names
from opsetlift.model.scopes import Container
from opsetlift.specification.dtypes import dtype_of_type, element_type
from opsetlift.specification.history import AI_ONNX, definition
from opsetlift.specification.wider_dtypes import cast_takes
from opsetlift.support.protobuf import text_of
from opsetlift.support.refusal import Refusal, Why


@dataclass
class Retyped:
    """A model with other dtypes, and what became of the old ones."""

    model: ModelProto
    values: int = 0
    """How many values that nodes compute have another dtype."""
    constants: int = 0
    """How many constants have another dtype, or a copy that has."""
    casts: int = 0
    """How many Cast nodes were added."""
    kept: Counter[str] = field(default_factory=Counter)
    """Why values kept their dtype, a sentence each, and at how many nodes."""
    clamped: dict[str, float] = field(default_factory=dict)
    """Constants with floats beyond the range, which became the largest in it, and the smallest magnitude of these."""


class Shared:
    """What all scopes share."""

    def __init__(self, model: ModelProto, facts: ModelFacts, changes: Mapping[str, str]) -> None:
        self.facts = facts
        self.changes = changes
        self.names = Names(model)
        self.retyper = Retyper(changes, model.ir_version)
        self.refusals: list[Refusal] = []
        self.done = Retyped(ModelProto())
        self.done.model.CopyFrom(model)


class ScopeValues:
    """What is known of the values of one scope; `facts` are those of the original."""

    def __init__(self, whole: Shared, facts: ScopeFacts, container: Container, parent: ScopeValues | None) -> None:
        self._whole = whole
        self._changes = whole.changes
        self._facts = facts
        self._container = container
        self._parent = parent
        self._nodes: list[NodeProto | Constant] = []
        self._forms: dict[str, dict[str, str]] = {}
        """Under which name a value is known in which type; of values in whose type nothing changes, nothing."""
        self._own: set[str] = set()
        self._constants: dict[str, Constant] = {}
        self._types: dict[str, str] = {}
        """The types of the values above, by the names that they have now."""
        self._beyond: set[str] = set()
        """Values that may be beyond the range of the new dtype, as the constant was that they were computed from."""
        self._required: dict[str, str] = {}
        """The types that the outputs of a model must have under their own names."""
        self._take_constants()

    def _take_constants(self) -> None:
        if not isinstance(self._container, GraphProto):
            return
        inputs = {info.name for info in self._container.input}
        for tensor in self._container.initializer:
            old = self._facts.type_string(tensor.name)
            if old and tensor.name not in inputs and changed_type(old, self._changes):
                array = array_of(tensor, self._whole.facts.base_dir)
                self._constants[tensor.name] = Constant(tensor.name, old, None, array)
        for sparse in self._container.sparse_initializer:
            self.define(sparse.values.name, self._facts.type_string(sparse.values.name))

    def new_type(self, name: str) -> str | None:
        """What the type of a value becomes; what it was, where nothing in it changes."""
        old = self._facts.type_string(name) if name else None
        return changed_type(old, self._changes) or old

    def _changing(self, name: str) -> str | None:
        """The new type of a value, None where nothing in its type changes."""
        return changed_type(self._facts.type_string(name), self._changes) if name else None

    def define(self, name: str, spelt: str | None, known_as: str = "") -> None:
        """Take note that a value whose type changes, or could, is known under a name in a type."""
        if spelt and self._changing(name):
            self._own.add(name)
            self._forms[name] = {spelt: known_as or name}
            self._types[known_as or name] = spelt

    def _known_forms(self, name: str) -> dict[str, str]:
        own = self._forms.get(name, {})
        return {**(self._parent._known_forms(name) if self._parent and name not in self._own else {}), **own}

    def _is_beyond(self, name: str) -> bool:
        if name in self._beyond:
            return True
        return self._parent is not None and name not in self._own and self._parent._is_beyond(name)

    def _constant(self, name: str) -> Constant | None:
        if name in self._own or name in self._constants:
            return self._constants.get(name)
        return self._parent._constant(name) if self._parent else None

    def _obstacle(self, name: str, new: str) -> str:
        """Why a value cannot be had in its new type; "" where it can."""
        constant = self._constant(name)
        if constant is not None:
            self._retype(constant)
            return constant.misfit
        if self._is_beyond(name) and dtype_in(new) in INTEGERS:
            return f"may be beyond {dtype_in(new)}, because it is computed from a constant that is"
        if dtype_of_type(new) or new in self._known_forms(name):
            return ""
        return f"is {self._facts.type_string(name)}, which Cast does not take"

    def _retype(self, constant: Constant) -> None:
        new = changed_type(constant.old, self._changes)
        if constant.retyped is not None or constant.misfit or new is None:
            return
        if constant.array is None:
            constant.misfit = f"cannot be read ({constant.name!r})"
            return
        try:
            array = retyped_array(constant.array, dtype_in(new), clamps=True)
        except DoesNotFit as error:
            constant.misfit = str(error)
        else:
            constant.retyped = tensor_of(array, self._whole.names.fresh(f"{constant.name}_{dtype_in(new)}"))

    def _in(self, name: str, spelt: str | None) -> str:
        """Under which name a value is known in a type, which a Cast may have to see to."""
        if not name or spelt is None:
            return name
        constant = self._constant(name)
        if constant is not None:
            if spelt == constant.old:
                constant.is_read_as_it_was = True
                return name
            self._retype(constant)
            if constant.retyped is None:
                self._refuse(f"{name!r} {constant.misfit}")
                return name
            constant.is_read_anew = True
            return constant.retyped.name
        forms = self._known_forms(name)
        if spelt in forms:
            return forms[spelt]
        is_unknown = self._facts.type_string(name) is None and dtype_of_type(spelt) in self._changes.values()
        return self._cast(name, next(iter(forms.values()), name), spelt) if forms or is_unknown else name

    def _cast(self, name: str, source: str, spelt: str) -> str:
        whole = self._whole
        dtype = dtype_of_type(spelt)
        opset = self._facts.imports.get(AI_ONNX, 0)
        dtypes = {dtype, dtype_of_type(self._facts.type_string(name) or spelt)}
        cast = definition(AI_ONNX, "Cast", opset)
        if dtype is None or cast is None or not all(one and cast_takes(one, opset) for one in dtypes):
            where = f"opset {opset}" if opset else "a model that does not import ai.onnx"
            self._refuse(f"{name!r} would have to become {spelt}, for which {where} has no Cast")
            return name
        is_output = self._required.get(name) == spelt and name not in self._types
        known_as = name if is_output else whole.names.fresh(f"{name}_{dtype}")
        node = NodeProto(op_type="Cast", name=whole.names.fresh(f"{name}_to_{dtype}"), input=[source])
        node.output.append(known_as)
        if cast.schema.attributes["to"].type == OpSchema.AttrType.STRING:
            node.attribute.add(name="to", type=AttributeProto.STRING, s=dtype.upper().encode())
        else:
            node.attribute.add(name="to", type=AttributeProto.INT, i=element_type(dtype))
        self._nodes.append(node)
        self._forms.setdefault(name, {})[spelt] = known_as
        self._types[known_as] = spelt
        whole.done.casts += 1
        return known_as

    def _refuse(self, sentence: str) -> None:
        self._whole.refusals.append(Refusal(Why.DTYPE_NOT_AVAILABLE, sentence, "", "", self._facts.path, ""))

    def _keep(self, sentence: str) -> None:
        self._whole.done.kept[sentence] += 1

    # The end

    def _finish(self) -> None:
        """Settle the constants: one that is read in its new dtype only keeps its name, the others exist twice."""
        names: dict[str, str] = {}
        for constant in self._constants.values():
            if constant.retyped is None or not constant.is_read_anew:
                continue
            self._whole.done.constants += 1
            self._note_clamped(constant)
            temporary = constant.retyped.name
            new = changed_type(constant.old, self._changes)
            if not constant.is_read_as_it_was:
                names[temporary] = constant.name
                self._types[constant.name] = new or constant.old
            elif self._required.get(constant.name) == new:
                names[temporary], names[constant.name] = constant.name, temporary
        nodes = [node for one in self._nodes for node in (one.nodes() if isinstance(one, Constant) else [one])]
        container = self._container
        if isinstance(container, GraphProto):
            tensors = [one for tensor in container.initializer for one in self._forms_of_initializer(tensor)]
            del container.initializer[:]
            container.initializer.extend(tensors)
        del container.node[:]
        container.node.extend(nodes)
        if names:
            rename_constants(container, names)
        for info in container.value_info:
            if info.name in self._types:
                set_type(info.type, self._types[info.name])

    def _note_clamped(self, constant: Constant) -> None:
        new = dtype_in(changed_type(constant.old, self._changes) or constant.old)
        if constant.array is not None and new in FLOATS and (found := beyond(constant.array, new)).any():
            self._whole.done.clamped[constant.name] = float(abs(constant.array[found].astype("float64")).min())

    def _forms_of_initializer(self, tensor: TensorProto) -> Iterator[TensorProto]:
        constant = self._constants.get(tensor.name)
        if constant is None or not constant.is_read_anew or constant.is_read_as_it_was:
            yield tensor
        if constant is not None and constant.is_read_anew and constant.retyped is not None:
            constant.retyped.doc_string = text_of(tensor.doc_string)
            constant.retyped.metadata_props.extend(tensor.metadata_props)
            yield constant.retyped
