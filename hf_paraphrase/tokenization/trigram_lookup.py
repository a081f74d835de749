"""Character trigrams to ids for a whole block of texts at once, in array operations.

The characters of all texts are in one row, and the ids of all windows are taken from one table. The ids are exactly
those of `tokenizers`: only a tokenizer that :mod:`.character_trigram` builds is taken, a text that is not plain ASCII
is normalised by the same normalisers, and one that holds the text of a special token is given to `tokenizers` whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..data.arrow_arrays import int64_array, places_in, set_of
from .character_trigram import TrigramRules, character_windows, text_normalizer, trigram_rules
from .token_ids import TokenIds
from .word_level import UNKNOWN_ID

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TABLE_SIZE = 1 << 24
"""Entries of a table of all combinations of three characters at most; beyond that ids are found by hashing."""
_CODE_POINTS = 0x110000


class TrigramLookup:
    """Computes the ids that a character-trigram tokenizer gives, for many texts at once."""

    def __init__(self, tokenizer: Tokenizer, rules: TrigramRules) -> None:
        self.tokenizer = tokenizer
        self.rules = rules
        self._special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._normalize = text_normalizer(lower_case=rules.lower_case)
        trigrams = rules.trigrams
        points = np.frombuffer("".join(trigrams).encode("utf-32-le"), np.uint32).reshape(-1, 3)
        characters, numbers = np.unique(points, return_inverse=True)
        # 0 stands for every character that is in no trigram.
        self._number = np.zeros(_CODE_POINTS, np.int32)
        self._number[characters] = np.arange(1, len(characters) + 1)
        self._base = len(characters) + 1
        keys = self._keys(numbers.reshape(-1, 3).T.astype(np.int64) + 1)
        ids = np.fromiter(trigrams.values(), np.int64, len(trigrams))
        self._table: NDArray[np.int32] | None = None
        if self._base**3 <= _TABLE_SIZE:
            self._table = np.full(self._base**3, -1, np.int32)
            self._table[keys] = ids
        else:
            # Large vocabularies alone need Arrow, whose import takes longer than many a text.
            self._set = set_of(int64_array(keys))
            # The last place is that of a key which was not found.
            self._ids = np.append(ids, -1)

    @classmethod
    def for_tokenizer(cls, tokenizer: Tokenizer) -> TrigramLookup | None:
        """Makes the lookup of a tokenizer, or gives None where `tokenizers` must do the work."""
        rules = trigram_rules(tokenizer)
        return None if rules is None else cls(tokenizer, rules)

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        """Computes the ids of some texts in some sixty bytes a character, so pass texts in blocks."""
        row = "\n".join(texts)
        present = [text for text in self._special if text in row]
        if not present:
            return self._of_windows(texts)
        special = [any(text in item for text in present) for item in texts]
        plain = self._of_windows(list(compress(texts, [not is_special for is_special in special])))
        slow = list(compress(texts, special))
        encodings = self.tokenizer.encode_batch_fast(slow, add_special_tokens=False)
        others = TokenIds.of_lists([encoding.ids for encoding in encodings])
        return plain.merged(others, np.array(special, np.bool_))

    def _of_windows(self, texts: Sequence[str]) -> TokenIds:
        windows = character_windows(texts, self._normalize, lower_case=self.rules.lower_case)
        numbers = self._number[windows.points].astype(np.int64)
        centres = windows.centres
        keys = self._keys((numbers[centres - 1], numbers[centres], numbers[centres + 1]))
        if self._table is not None:
            ids = self._table[keys].astype(np.int64)
        else:
            ids = self._ids[places_in(int64_array(keys), self._set)]
        unknown = ids < 0
        if not self.rules.skip_unknown:
            ids[unknown] = UNKNOWN_ID
            return TokenIds(ids, windows.offsets)
        kept = np.concatenate([np.zeros(1, np.int64), (~unknown).cumsum()])
        return TokenIds(ids[~unknown], kept[windows.offsets])

    def _keys(self, numbers: Sequence[NDArray[np.int64]] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Makes one number (windows,) of the numbers of three characters (3, windows)."""
        first, second, third = numbers
        keys: NDArray[np.int64] = (first * self._base + second) * self._base + third
        return keys
