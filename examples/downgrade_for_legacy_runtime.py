"""Bring a new model down to the highest opset that a legacy runtime takes, or learn what stands in the way.

    python examples/downgrade_for_legacy_runtime.py [MODEL OPSET OUT]

Without arguments it takes the bundled model of opset 18 to opset 11, which onnxruntime 1.2 (IR version 6) was the first
to stop at, and then a model that no runtime of opset 12 can have, to show a refusal.
"""

from __future__ import annotations

import sys
from pathlib import Path

import onnx

import opsetlift
from opsetlift.model.files import save_model

MODELS = Path(__file__).parent / "models"

BFLOAT16_MODEL = """
<ir_version: 8, opset_import: ["" : 18]>
smallest (bfloat16[N, 4] x) => (bfloat16[N, 1] y)
<int64[1] axes = {1}>
{ y = ReduceMin (x, axes) }
"""


def downgrade(model: onnx.ModelProto | Path, opset: int, target: Path) -> bool:
    """Convert and write, or say why not. Whether it could be done."""
    try:
        conversion = opsetlift.convert(model, to=opset)
    except opsetlift.ConversionRefused as refused:
        print(f"no way down to opset {opset}:")
        for refusal in refused.refusals:
            print(f"  {refusal}")
        return False
    save_model(conversion.model, target, source_dir=model.parent if isinstance(model, Path) else None, overwrite=True)
    print(f"wrote {target}: opset {opset}, IR version {conversion.model.ir_version}")
    for rewrite in conversion.report.rewrites:
        print(f"{rewrite.count:4} x {rewrite.transition}: {rewrite.rule} ({rewrite.exactness})")
    assert conversion.certificate is not None
    print(conversion.certificate.summary())
    return True


if __name__ == "__main__":
    if len(sys.argv) == 4:
        sys.exit(0 if downgrade(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])) else 2)
    downgrade(MODELS / "reductions_basic_opset18" / "model.onnx", 11, Path("legacy.onnx"))
    print()
    downgrade(onnx.parser.parse_model(BFLOAT16_MODEL), 12, Path("never_written.onnx"))
