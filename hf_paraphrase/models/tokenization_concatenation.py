"""A tokenizer that concatenates the tokens of several tokenizers; saved with them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizer

from .joined_tokenizers import PARTS_FILE, JoinedTokenizers, read_parts, write_parts


class ConcatenationTokenizer(PreTrainedTokenizer):
    """Concatenates the tokens of several tokenizers for `ConcatenationModel`.

    The parts occupy consecutive ranges of ids. Names of tokens in later parts begin with the index of the part, as in
    `[1]the`.

    Args:
        tokenizers_file: The file of the saved parts, `tokenizers.json`.
        parts: The tokenizers, instead of the file: fast tokenizers, or tokenizers of the `tokenizers` library.
        pad_token: The padding token, one of the first part.
        unk_token: The unknown token of the first part, if it has one.
        **kwargs: Options of every tokenizer.
    """

    vocab_files_names: ClassVar[dict[str, str]] = {"tokenizers_file": PARTS_FILE}
    model_input_names: ClassVar[list[str]] = ["input_ids", "attention_mask"]
    padding_side = "right"
    _auto_class = "AutoTokenizer"

    def __init__(
        self,
        tokenizers_file: str | os.PathLike[str] | None = None,
        parts: Sequence[Any] | None = None,
        pad_token: Any = "[PAD]",  # noqa: S107
        unk_token: Any = "[UNK]",  # noqa: S107
        **kwargs: Any,
    ) -> None:
        if (tokenizers_file is None) == (parts is None):
            raise ValueError("give either the file with the tokenizers or the tokenizers themselves")
        backends = [getattr(part, "backend_tokenizer", part) for part in parts or ()]
        # Copies, so that later changes of the given tokenizers have no effect here.
        backends = [Tokenizer.from_str(part.to_str()) for part in backends]
        self._joined = JoinedTokenizers(backends if tokenizers_file is None else read_parts(tokenizers_file))
        self._joined.no_padding()
        self._joined.no_truncation()
        self._ids = self._joined.get_vocab()
        # A dictionary, because a damaged file may have a token with an id in the billions.
        self._names = {token_id: name for name, token_id in self._ids.items()}
        if len(self._ids) < sum(len(part.get_vocab()) for part in self._joined.parts):
            raise ValueError("two tokens of the parts have the same name")
        if str(pad_token) not in self._ids:
            raise ValueError(f"the first tokenizer has no padding token {pad_token}")
        super().__init__(pad_token=pad_token, unk_token=unk_token if str(unk_token) in self._ids else None, **kwargs)

    @property
    def backend_tokenizer(self) -> JoinedTokenizers:
        """The joined tokenizers, under the name that fast tokenizers use."""
        return self._joined

    @property
    def part_sizes(self) -> list[int]:
        """The number of ids of each part, `vocab_sizes` of the model's configuration."""
        return list(self._joined.sizes)

    @property
    def vocab_size(self) -> int:
        """The number of ids."""
        return sum(self._joined.sizes)

    def get_vocab(self) -> dict[str, int]:
        """Return the ids of all tokens by name."""
        return {**self._ids, **self._added_tokens_encoder}

    def tokenize(self, text: str, **kwargs: Any) -> list[str]:
        """Return the names of the tokens of a text."""
        (encoding,) = self._joined.encode_batch_fast([text], add_special_tokens=False)
        return [self._convert_id_to_token(token_id) for token_id in encoding.ids]

    def _convert_token_to_id(self, token: str) -> int | None:
        return self._ids.get(token, self.unk_token_id)

    def _convert_id_to_token(self, index: int) -> str:
        return self._names.get(index, "")

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Add no special token, because it would count in every mean."""
        return token_ids_0 if token_ids_1 is None else token_ids_0 + token_ids_1

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write all parts to one file and return its path."""
        path = Path(save_directory) / (f"{filename_prefix}-{PARTS_FILE}" if filename_prefix else PARTS_FILE)
        write_parts(path, self._joined.parts)
        return (str(path),)


if __name__.startswith("hf_paraphrase."):  # not in a copy that travels with a model
    importlib.import_module(f"{__package__}.registry").register_tokenizer("concatenation")
