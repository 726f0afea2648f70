"""What rules make of a model on its way to given opsets, an IR version and a runtime, and the trace of that.

The same model, destination and rule book give the same result, so that whoever checks a certificate can derive its
trace again.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import ModelProto

from opsetlift.conversion.ir_fitting import Fitting, IRFitting
from opsetlift.conversion.walked import Walked, walked_copy
from opsetlift.facts import ModelFacts
from opsetlift.model.ir_version import natural_ir_version
from opsetlift.rulebook.book import RuleBook
from opsetlift.targets import Target


def derive(
    source: ModelProto,
    opsets: Mapping[str, int],
    rule_book: RuleBook,
    *,
    ir: int | None = None,
    runtime: Target | None = None,
    exact: bool = False,
    base_dir: str = "",
    facts: ModelFacts | None = None,
) -> tuple[Walked, Fitting]:
    """A copy of `source` at its opsets, and in the form of an IR version that was asked for or that `runtime` takes.

    Args:
        source: What is converted; it stays as it is.
        opsets: The opsets to go to, by domain.
        rule_book: Whose rules are applied.
        ir: The IR version that was asked for.
        runtime: What it does not accept as it is written is written otherwise.
        exact: Whether rules that round are refused.
        base_dir: The folder of the external data.
        facts: Those of `source`, where some are known already.

    Raises:
        ConversionRefused: With everything that stands in the way.
    """
    walked = walked_copy(source, opsets, rule_book, exact=exact, base_dir=base_dir, facts=facts, runtime=runtime)
    return walked, _fit(source, walked, ir, runtime)


def _fit(source: ModelProto, walked: Walked, ir: int | None, runtime: Target | None) -> Fitting:
    """Bring the model to the IR version that was asked for, or to one that the runtime takes."""
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
