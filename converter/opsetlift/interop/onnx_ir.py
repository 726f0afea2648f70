"""A pass of onnx_ir, to run where onnxscript's `ConvertVersionPass` runs.

Needs `onnx_ir`, which comes with onnxscript.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import onnx_ir

from opsetlift.pipeline.convert import convert
from opsetlift.pipeline.given import ir_model, opened
from opsetlift.proof import Certificate

if TYPE_CHECKING:
    from opsetlift.pipeline.report import Report
    from opsetlift.targets import Target


class ConvertVersion(onnx_ir.passes.InPlacePass):
    """Converts a model to other opsets, an IR version or a runtime, and proves that it computes the same.

    Args:
        target_version: The opset of ai.onnx, or opsets by domain.
        target: The runtime that the result is for, as in `opsetlift.convert`.
        ir: The IR version.
        prove: Prove that the result computes the same.
        require_proof: Raise ProofMissing where something is not proven.

    The model is replaced where it is, or left as it was: `ConversionRefused` and the other errors of
    `opsetlift.convert` come out of the pass itself; a pass manager reports them as its own error, with them as cause.
    """

    def __init__(
        self,
        target_version: int | Mapping[str, int] | None = None,
        *,
        target: str | Target | None = None,
        ir: int | None = None,
        prove: bool = True,
        require_proof: bool = False,
    ) -> None:
        super().__init__()
        self.target_version = target_version
        self.target = target
        self.ir = ir
        self.prove = prove
        self.require_proof = require_proof
        self.report: Report | None = None
        """What the last run did."""
        self.certificate: Certificate | None = None
        """The proof of the last run."""

    def call(self, model: onnx_ir.Model) -> onnx_ir.passes.PassResult:
        """Convert a model in place."""
        given = opened(model)
        found = convert(
            given.model,
            to=self.target_version,
            target=self.target,
            ir=self.ir,
            prove=self.prove,
            require_proof=self.require_proof,
            base_dir=given.base_dir,
        )
        self.report, self.certificate = found.report, found.certificate
        if found.model == given.model:
            return onnx_ir.passes.PassResult(model, False)
        made = ir_model(found.model, given.base_dir)
        model.graph = made.graph
        model.ir_version = made.ir_version
        model.device_configurations = made.device_configurations
        for own, new in ((model.functions, made.functions), (model.metadata_props, made.metadata_props)):
            own.clear()
            own.update(new)  # type: ignore[arg-type]
        return onnx_ir.passes.PassResult(model, True)
