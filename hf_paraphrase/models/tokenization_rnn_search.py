"""A tokenizer with one vocabulary for the source and another for the target, in one folder that travels with them."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, ClassVar

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast
from transformers.tokenization_utils_base import BatchEncoding

_SOURCE_FILE = "source_tokenizer.json"


class RnnSearchTokenizer(PreTrainedTokenizerFast):
    """Cuts source text by one tokenizer and target text by another; for models with separate vocabularies.

    `tokenizer(texts)` gives source units and `tokenizer(text_target=texts)` target units. Everything else, above all
    decoding and the vocabulary, is that of the target. Special tokens have the same ids on both sides.

    Args:
        source_tokenizer_file: The file with the source side, `source_tokenizer.json`.
        source_tokenizer_object: The source side itself, instead of the file.
        **kwargs: As for every fast tokenizer, for the target side.
    """

    vocab_files_names: ClassVar[dict[str, str]] = {
        "tokenizer_file": "tokenizer.json",
        "source_tokenizer_file": _SOURCE_FILE,
    }
    model_input_names: ClassVar[list[str]] = ["input_ids", "attention_mask"]
    _auto_class = "AutoTokenizer"

    def __init__(
        self,
        *args: Any,
        source_tokenizer_file: str | os.PathLike[str] | None = None,
        source_tokenizer_object: Tokenizer | None = None,
        **kwargs: Any,
    ) -> None:
        if (source_tokenizer_file is None) == (source_tokenizer_object is None):
            raise ValueError("give either the file with the source tokenizer or the source tokenizer itself")
        if source_tokenizer_object is not None:
            source = Tokenizer.from_str(source_tokenizer_object.to_str())
        else:
            source = Tokenizer.from_file(str(source_tokenizer_file))
        super().__init__(*args, **kwargs)
        self._source_tokenizer = source
        self._is_at_target = False
        for token, number in zip(self.all_special_tokens, self.all_special_ids, strict=True):
            if source.token_to_id(token) != number:
                raise ValueError(
                    f"{token} is {number} on the target side but {source.token_to_id(token)} on the other"
                )

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **kwargs: Any) -> dict[str, Any]:
        """Leaves the files as they are; they hold whole tokenizers."""
        return kwargs

    @property
    def source_tokenizer(self) -> Tokenizer:
        """The tokenizer of the source side."""
        return self._source_tokenizer

    @property
    def source_vocab_size(self) -> int:
        """The number of source units, `source_vocab_size` of the model's configuration."""
        return int(self._source_tokenizer.get_vocab_size(with_added_tokens=True))

    def _switch_to_input_mode(self) -> None:
        self._is_at_target = False

    def _switch_to_target_mode(self) -> None:
        self._is_at_target = True

    def _encode_plus(self, *args: Any, **kwargs: Any) -> BatchEncoding:
        if self._is_at_target:
            try:
                return super()._encode_plus(*args, **kwargs)
            finally:
                # The base class forgets this where the call fails.
                self._switch_to_input_mode()
        # A shallow copy, so that threads which read sources leave each other alone.
        source_side = object.__new__(type(self))
        source_side.__dict__.update(self.__dict__, _tokenizer=self._source_tokenizer)
        return super(RnnSearchTokenizer, source_side)._encode_plus(*args, **kwargs)

    def _save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        file_names: tuple[str, ...],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
    ) -> tuple[str, ...]:
        names = super()._save_pretrained(save_directory, file_names, legacy_format, filename_prefix)
        path = Path(save_directory) / (f"{filename_prefix}-{_SOURCE_FILE}" if filename_prefix else _SOURCE_FILE)
        # As the target side, which is saved without the padding and truncation of the last call.
        source = Tokenizer.from_str(self._source_tokenizer.to_str())
        source.no_padding()
        source.no_truncation()
        source.save(str(path))
        return (*names, str(path))


if __name__.startswith("hf_paraphrase."):  # not in a copy that travels with a model
    importlib.import_module(f"{__package__}.registry").register_tokenizer("rnn_search")
