"""Brings a walked model into the form of an IR version that was asked for, or that a runtime takes."""

from __future__ import annotations

from onnx import ModelProto

from opsetlift.conversion.captured_initializers import read_captured_initializers
from opsetlift.conversion.ir_fitting import Fitting, IRFitting
from opsetlift.conversion.own_constants import give_own_constants
from opsetlift.conversion.own_outputs import keep_outputs_apart
from opsetlift.conversion.unread_inputs import read_all_inputs
from opsetlift.conversion.walked import Walked
from opsetlift.model.ir_version import natural_ir_version
from opsetlift.model.notes import take_notes
from opsetlift.model.scopes import imported_opsets, subgraphs_within
from opsetlift.specification.history import AI_ONNX, canonical_domain
from opsetlift.targets import Target


def fit(source: ModelProto, walked: Walked, ir: int | None, runtime: Target | None) -> Fitting:
    """Bring `walked` into the form of an IR version, in place; its trace goes on to relate it to `source`.

    Args:
        source: The model before the walk.
        walked: The model at its opsets.
        ir: The IR version that was asked for.
        runtime: The runtime that the result is for.

    Raises:
        ConversionRefused: With everything that the IR version cannot hold.
    """
    done = _fitted_to_ir_version(source, walked, ir, runtime)
    shared = runtime.shared_constants if runtime is not None else None
    if runtime is not None and shared is not None and (copied := give_own_constants(source, walked, shared)):
        done.notes.append(
            f"copied {len(copied)} {'constant' if len(copied) == 1 else 'constants'} that several nodes read, "
            f"as {runtime.called} loses these after some of them"
        )
    if runtime is not None and not runtime.takes_captured_initializers:
        read = read_captured_initializers(source, walked)
        done.notes += [f"a Shape reads {name!r}, which {runtime.called} does not find otherwise" for name in read]
    if runtime is not None and (kept := _outputs_kept_apart(source, walked, runtime)):
        done.notes.append(
            f"kept {', '.join(map(repr, kept))} apart from other outputs or readers of their nodes, as "
            f"{runtime.called} would lose them"
        )
    if runtime is not None and not runtime.takes_unread_inputs and (read := read_all_inputs(walked)):
        shown = f"{len(read)} {'input' if len(read) == 1 else 'inputs'}"
        done.notes.append(
            f"let Identity read {shown} that no node read, as {runtime.called} fails where it is given such"
        )
    if runtime is not None and (sentence := _forget_producer(walked, runtime, done)):
        done.notes.append(sentence)
    _forget_unused_import(source, walked.model)
    return done


def _forget_unused_import(source: ModelProto, model: ModelProto) -> None:
    """Remove the import of ai.onnx that the walk added for what might take the place of nodes, where nothing did."""
    if AI_ONNX in imported_opsets(source.opset_import):
        return
    containers = (model.graph, *subgraphs_within(model.graph))
    if all(canonical_domain(node.domain) != AI_ONNX for one in containers for node in one.node):
        kept = [one for one in model.opset_import if canonical_domain(one.domain) != AI_ONNX]
        del model.opset_import[:]
        model.opset_import.extend(kept)


def _outputs_kept_apart(source: ModelProto, walked: Walked, runtime: Target) -> list[str]:
    if runtime.takes_outputs_beside_others and not runtime.outputs_lost_where_read:
        return []
    return keep_outputs_apart(source, walked, runtime)


def _forget_producer(walked: Walked, runtime: Target, done: Fitting) -> str:
    """Remove the name of the producer, where the runtime computes something else for it; "" where it stays."""
    model, name = walked.model, walked.model.producer_name
    misread = runtime.misread_producers.get(name, frozenset())
    containers = (model.graph, *subgraphs_within(model.graph), *model.functions)
    found = sorted({node.op_type for one in containers for node in one.node} & misread)
    if not found:
        return ""
    fields = {"producer_name", "producer_version"}
    done.moved_notes += take_notes(model, fields)
    walked.trace.moved_notes |= fields
    return f"removed the producer name {name!r}, as {runtime.called} computes {', '.join(found)} otherwise for it"


def _fitted_to_ir_version(source: ModelProto, walked: Walked, ir: int | None, runtime: Target | None) -> Fitting:
    model = walked.model
    wanted = model.ir_version if runtime is None else runtime.ir_version_for(model.ir_version)
    has_functions = runtime is None or runtime.has_functions
    if ir is not None:
        wanted = ir
    elif wanted == model.ir_version and (has_functions or not model.functions):
        return Fitting()
    fitting = IRFitting(source, model, walked.trace, walked.names, walked.applied_of)
    done = fitting.fit(wanted, keep_metadata=ir is None, keep_functions=has_functions)
    if ir is None and runtime is not None:
        # Without its functions the model may need less.
        model.ir_version = runtime.ir_version_for(natural_ir_version(model))
    return done
