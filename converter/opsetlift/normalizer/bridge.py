"""The way from a ModelProto to a gs.Graph and back, on which nothing is lost.

graphsurgeon's own importer and exporter leave out doc strings and metadata, TYPE_PROTO and SPARSE_TENSOR attributes,
optional types, default values of inputs, quantization annotations, overloads and more. Here what its graphs have a
place for is put there, and everything else is attached: `to_model(to_graph(model))` is the model, byte for byte.

`to_graph(model, base_dir="")` and `to_model(graph)` are all there is to know.
"""

from opsetlift.normalizer.graphs.exporting import to_model
from opsetlift.normalizer.graphs.importing import to_graph

__all__ = ["to_graph", "to_model"]
