"""Vectors without a model: arrays of embeddings go in; cosines, neighbors, measures and smaller arrays come out.

Start with `similarity` (unit rows, cosines) and `exact_search` (top k, and pairs above a threshold). `ivf_index` and
`faiss_index` search many vectors through lists, `quantization` stores a component in a byte or a bit, `metrics` has
correlations and average precision, `files` reads and writes matrices, and `checks` refuses bad arguments.
"""

from __future__ import annotations
