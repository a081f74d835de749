"""Tells the units of one translation model from those of another, even where they are as many."""

from __future__ import annotations

import hashlib
import json

from transformers import PreTrainedTokenizerFast


def unit_fingerprint(tokenizer: PreTrainedTokenizerFast) -> str:
    """Computes the SHA-256 of the units of a tokenizer with their numbers, on both sides.

    How texts are cut into them is left out: its written form changes with the versions of the `tokenizers` library.
    """
    backends = [tokenizer.backend_tokenizer, getattr(tokenizer, "source_tokenizer", None)]
    units = [sorted(backend.get_vocab().items()) for backend in backends if backend is not None]
    return hashlib.sha256(json.dumps(units).encode()).hexdigest()
