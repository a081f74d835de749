"""Computations on arrays of embeddings, without a model: cosines, neighbours, measures and quantization.

Start with `similarity` (unit rows, cosines, correlations) and `exact_search` (top k, and pairs above a threshold).
`faiss_index` searches many vectors for neighbours, `ivf_index` finds near-duplicates, and `storage` has quantization
and files.
"""

from __future__ import annotations
