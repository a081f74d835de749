"""Pieces of words to ids for a whole block of texts at once: each different word of it is segmented once.

A text is segmented word by word, and most words of a text have occurred in it before. The runs of characters between
ASCII white space are found and numbered by Arrow, and only the different ones are given to `tokenizers`; what was
segmented in earlier blocks is remembered. A run of letters and ASCII characters, as most are when they are normalised,
is split by a regular expression of Python, which agrees there with that of `tokenizers`, and goes to its model
directly.

That is done only where it gives exactly the ids of `tokenizers`: for the kinds that
:mod:`~hf_paraphrase.tokenization.encoder_pieces` and :mod:`~hf_paraphrase.tokenization.morfessor_tokenizer` build,
recognised by the JSON of their parts. Their normalisation and splitting do not look across ASCII white space (see
:mod:`.word_lookup`), every word is segmented by itself, and where a word is marked with the space before it, every one
is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .encoder_pieces import SPACE, piece_splitting
from .morfessor_words import word_splitting
from .tokenizer_parts import adds_no_tokens, cuts_out_added_tokens, settings_of_part
from .word_lookup import NORMALIZERS, TokenIds

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_NOT_LETTERS = {code: None for code in range(0x21, 0x7F) if not chr(code).isalpha()}
_REMEMBERED = 1 << 18
"""Different runs that are remembered at most, some 50 MB."""


class PieceLookup:
    """Computes the ids that a tokenizer over pieces of words gives, for many texts at once.

    Made by :meth:`for_tokenizer`. Several threads may use it at a time: what it remembers is the same for all.

    Args:
        tokenizer: The tokenizer itself, which segments each different run once.
        mark: What its splitting puts before a word.
    """

    def __init__(self, tokenizer: Tokenizer, mark: str) -> None:
        self.tokenizer = tokenizer
        self.mark = mark
        self._added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._pieces = re.compile(rf"(?:[^\W_]|{mark})+|[^\w{mark}]|_" if mark else r"[^\W_]+|[^\w]|_").findall
        self._known: dict[str, list[int]] = {}

    @classmethod
    def for_tokenizer(cls, tokenizer: Tokenizer) -> PieceLookup | None:
        """Makes the lookup of a tokenizer, or gives None where `tokenizers` must do the work.

        Args:
            tokenizer: The backend of a fast tokenizer; padding and truncation set on it are passed over.
        """
        from tokenizers.models import BPE, Unigram

        if not isinstance(tokenizer.model, (BPE, Unigram)) or getattr(tokenizer.model, "dropout", None):
            return None
        if not (adds_no_tokens(tokenizer) and cuts_out_added_tokens(tokenizer)):
            return None
        normalizer, splitting = settings_of_part(tokenizer.normalizer), settings_of_part(tokenizer.pre_tokenizer)
        if normalizer not in NORMALIZERS:
            return None
        kinds = {SPACE: piece_splitting(), "": word_splitting()}
        mark = next((mark for mark, part in kinds.items() if settings_of_part(part) == splitting), None)
        return None if mark is None else cls(tokenizer, mark)

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        """Computes the ids of some texts, without padding or truncation.

        Args:
            texts: The texts; pass them in blocks.

        Raises:
            TypeError: If one of them is not a string, or holds half a surrogate pair, which is no Unicode text.
        """
        try:
            strings = pa.array(texts, pa.large_string())
        except UnicodeEncodeError as error:
            raise TypeError(f"a text is not valid Unicode: {error}") from error
        if strings.null_count:
            raise TypeError("every text must be a string, not None")
        runs = pc.ascii_split_whitespace(strings)
        # White space at the ends leaves empty runs, which have no ids.
        values = runs.flatten().dictionary_encode()
        different = TokenIds.of_lists(self._segmented(values.dictionary.to_pylist()))
        kinds = values.indices.to_numpy().astype(np.int64)
        ends = np.concatenate([np.zeros(1, np.int64), different.lengths[kinds].cumsum()])
        counts = pc.list_value_length(runs).to_numpy().astype(np.int64)
        borders: NDArray[np.int64] = np.concatenate([np.zeros(1, np.int64), counts.cumsum()])
        return TokenIds(different.of_texts(kinds), ends[borders])

    def _segmented(self, runs: Sequence[str]) -> list[list[int]]:
        """Returns the ids of each run."""
        known = self._known
        found = [known.get(run) for run in runs]
        new = [run for run, ids in zip(runs, found, strict=True) if ids is None]
        if new:
            fresh = dict(zip(new, self._segment(new), strict=True))
            found = [fresh[run] if ids is None else ids for run, ids in zip(runs, found, strict=True)]
            if len(known) + len(fresh) > _REMEMBERED:
                self._known = {} if len(fresh) > _REMEMBERED else fresh
            else:
                known.update(fresh)
        return [ids or [] for ids in found]

    def _segment(self, runs: Sequence[str]) -> list[list[int]]:
        """Segments each of some runs."""
        # No line feed is in a run, none comes out of the normalisation, and it looks across none.
        words = self.tokenizer.normalizer.normalize_str("\n".join(runs)).split("\n")
        tokenize, pieces, mark, added = self.tokenizer.model.tokenize, self._pieces, self.mark, self._added
        found: list[list[int] | None] = []
        for run, word in zip(runs, words, strict=True):
            simple = word.isalpha() or not (rest := word.translate(_NOT_LETTERS)) or rest.isalpha()
            # Added tokens are cut out of the text as it was.
            if not simple or any(token in run for token in added):
                found.append(None)
            else:
                found.append([token.id for piece in pieces(mark + word) for token in tokenize(piece)] if word else [])
        others = [run for run, ids in zip(runs, found, strict=True) if ids is None]
        encodings = iter(self.tokenizer.encode_batch_fast(others, add_special_tokens=False))
        return [next(encodings).ids if ids is None else ids for ids in found]
