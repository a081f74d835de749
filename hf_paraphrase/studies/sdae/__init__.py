"""Sentence encoders trained on plain text as sequential denoising autoencoders (paper 004; Hill et al. 2016).

`sentences` reads and tokenises the text, `noise` drops and swaps words, `batches` puts both together, and `trainer`
trains. The verb is `train-sdae`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_exports

if TYPE_CHECKING:
    from .trainer import SdaeTrainer, SdaeTrainingArguments

__getattr__, __dir__, __all__ = lazy_exports(__name__)
