"""A 3-gram language model for the measure `perplexity`: modified Kneser-Ney estimation, ARPA files, fast queries.

Sentences go in and an ARPA file comes out (`estimation`, where to start, over `counts` and `kneser_ney`); an ARPA
file, of whichever maker, goes in and log-probabilities of sentences come out (`ngram_model`).
"""

from __future__ import annotations
