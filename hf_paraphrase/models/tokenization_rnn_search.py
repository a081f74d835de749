"""A tokenizer with separate vocabularies for source and target; saved with them."""

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
    """Tokenizes sources and targets with separate vocabularies.

    `tokenizer(texts)` returns source subwords and `tokenizer(text_target=texts)` target subwords. Decoding and the
    vocabulary belong to the target. Special tokens have the same ids in both vocabularies.

    Args:
        source_tokenizer_file: The file of the source tokenizer, `source_tokenizer.json`.
        source_tokenizer_object: The source tokenizer, instead of its file.
        **kwargs: Options of the target tokenizer, a fast tokenizer.
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
        source = source_tokenizer_object or Tokenizer.from_file(str(source_tokenizer_file))
        source = Tokenizer.from_str(source.to_str())
        super().__init__(*args, **kwargs)
        self._source_tokenizer = source
        self._is_at_target = False
        for token, token_id in zip(self.all_special_tokens, self.all_special_ids, strict=True):
            if source.token_to_id(token) != token_id:
                raise ValueError(
                    f"{token} has the id {token_id} for the target, but {source.token_to_id(token)} for the source"
                )

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **kwargs: Any) -> dict[str, Any]:
        """Return the files unchanged; they hold whole tokenizers."""
        return kwargs

    @property
    def source_tokenizer(self) -> Tokenizer:
        """The tokenizer of the source."""
        return self._source_tokenizer

    @property
    def source_vocab_size(self) -> int:
        """The number of source subwords, `source_vocab_size` of the model's configuration."""
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
                # The base class does not switch back after an error.
                self._switch_to_input_mode()
        # A shallow copy, so that threads do not share the switch.
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
        # Without the padding and truncation of the last call, as the target tokenizer.
        source = Tokenizer.from_str(self._source_tokenizer.to_str())
        source.no_padding()
        source.no_truncation()
        source.save(str(path))
        return (*names, str(path))


if __name__.startswith("hf_paraphrase."):  # not in a copy that travels with a model
    importlib.import_module(f"{__package__}.registry").register_tokenizer("rnn_search")
