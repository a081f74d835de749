r"""Words to ids for a whole block of texts at once, in array operations.

The `tokenizers` library spends its time on one small string at a time: 100,000 sentences a second, where the mean of
their word vectors takes a twentieth of that. A word-level tokenizer is so simple a function that it can be computed on
the bytes of all texts together: classify the bytes, mark where tokens begin, leave the white space out, and look all
tokens up with one Arrow hash kernel.

That is done only where it gives exactly the ids of `tokenizers`:

* The tokenizer must be one of the four that :mod:`~hf_paraphrase.tokenization.word_level` builds (with or without
  lower-casing and contractions), recognised by the JSON of its parts. Any other is left to `tokenizers`.
* A run of characters between ASCII white space that has a non-ASCII character or the text of a special token is given
  to `tokenizers`, each different run of a block once. This is exact because neither step looks across such a space:
  white space splits tokens, no normalisation form joins it with a neighbour or reorders a mark over it, and the
  special tokens hold none.
* For what is left, pure ASCII, NFKC is the identity, `\w` is a letter, digit or underscore, and the rules for
  contractions look at an apostrophe, one byte before it and three behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .tokenizer_parts import adds_no_tokens, cuts_out_added_tokens, settings_of_part

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_SPACE, _WORD, _MARK = range(3)
_WHITE_SPACE = b" \t\n\v\f\r"
_WORD_BYTES = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
# Bytes of other scripts stay together with what they touch, so that no token begins inside a character.
_CLASSES = bytes(
    _SPACE if code in _WHITE_SPACE else _WORD if code in _WORD_BYTES or code >= 0x80 else _MARK for code in range(256)
)

_NORMALIZER_STEPS: list[Any] = [
    {"type": "NFKC"},
    {"type": "Replace", "pattern": {"String": "\u2019"}, "content": "'"},
]
_LOWERCASE = {"type": "Lowercase"}
NORMALIZERS: list[Any] = [
    {"type": "Sequence", "normalizers": [*_NORMALIZER_STEPS, _LOWERCASE]},
    {"type": "Sequence", "normalizers": _NORMALIZER_STEPS},
]
"""The settings of the normalisers of our tokenizers over words and pieces: with lower-casing and without."""
_WORDS = r"\w+|[^\w\s]"
_CONTRACTIONS = r"n't(?!\w)|'(?:s|re|ve|ll|d|m)(?!\w)|\w+?(?=n't(?!\w))|"


class TokenIds(NamedTuple):
    """The token ids of several texts, laid end to end.

    Attributes:
        ids: int64 (tokens,).
        offsets: int64 (texts + 1,); text i has the ids from `offsets[i]` up to `offsets[i + 1]`.
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def of_lists(cls, lists: Sequence[Sequence[int]]) -> TokenIds:
        """Lays lists of ids end to end."""
        offsets = np.zeros(len(lists) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)), out=offsets[1:])
        return cls(np.fromiter(chain.from_iterable(lists), np.int64, int(offsets[-1])), offsets)

    @classmethod
    def joined(cls, blocks: Iterable[TokenIds]) -> TokenIds:
        """Puts the texts of several blocks behind one another."""
        parts = list(blocks)
        lengths = [np.zeros(1, np.int64), *(part.lengths for part in parts)]
        return cls(
            np.concatenate([np.zeros(0, np.int64), *(part.ids for part in parts)]), np.concatenate(lengths).cumsum()
        )

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each text, int64 (texts,)."""
        return np.diff(self.offsets)

    def interleaved(self, other: TokenIds, offset: int) -> TokenIds:
        """Puts the ids of each text of another block, increased by `offset`, behind those of the same text here."""
        texts = len(self.offsets) - 1
        both = TokenIds.joined([self, TokenIds(other.ids + offset, other.offsets)])
        order = np.arange(2 * texts).reshape(2, texts).T.ravel()
        lengths = self.lengths + other.lengths
        return TokenIds(both.of_texts(order), np.concatenate([np.zeros(1, np.int64), lengths.cumsum()]))

    def of_texts(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Takes the ids (tokens of these texts,) of some texts in the order of `rows` (rows,)."""
        return self.ids[_ranges(self.offsets[rows], self.lengths[rows])]


class WordLookup:
    """Computes the ids that a word-level tokenizer gives, for many texts at once.

    Made by :meth:`for_tokenizer`. It reads nothing but its arguments, so several threads may use it at a time.

    Args:
        tokenizer: The tokenizer itself; what is not plain ASCII is given to it.
        lower_case: Whether it lower-cases.
        contractions: Whether it splits English contractions.
        words: Its vocabulary without added tokens, in the order of the ids, which begin at 0.
        unknown_id: The id of words that are not in it.
        special: The texts of the added tokens.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        lower_case: bool,
        contractions: bool,
        words: Sequence[str],
        unknown_id: int,
        special: Sequence[str],
    ) -> None:
        self.tokenizer = tokenizer
        self.lower_case = lower_case
        self.contractions = contractions
        self.unknown_id = unknown_id
        self.special = [text.encode() for text in special]
        self._options = pc.SetLookupOptions(pa.array(words, pa.large_string()).cast(pa.large_binary()))

    @classmethod
    def for_tokenizer(cls, tokenizer: Tokenizer) -> WordLookup | None:
        """Makes the lookup of a tokenizer, or gives None where `tokenizers` must do the work.

        Args:
            tokenizer: The backend of a fast tokenizer; padding and truncation set on it are passed over.
        """
        rules = _rules(tokenizer)
        if rules is None:
            return None
        vocabulary = tokenizer.get_vocab(with_added_tokens=False)
        words = sorted(vocabulary, key=vocabulary.__getitem__)
        unknown = vocabulary.get(tokenizer.model.unk_token)
        if unknown is None or list(map(vocabulary.__getitem__, words)) != list(range(len(words))):
            return None
        lower_case, contractions = rules
        return cls(
            tokenizer,
            lower_case=lower_case,
            contractions=contractions,
            words=words,
            unknown_id=unknown,
            special=[token.content for token in tokenizer.get_added_tokens_decoder().values()],
        )

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        """Computes the ids of some texts, without padding or truncation.

        It takes some thirty bytes of memory for each byte of text, so pass texts in blocks.

        Args:
            texts: The texts.

        Raises:
            TypeError: If one of them is not a string, or holds half a surrogate pair, which is no Unicode text.
        """
        try:
            strings = pa.array(texts, pa.large_string())
        except UnicodeEncodeError as error:
            raise TypeError(f"a text is not valid Unicode: {error}") from error
        if strings.null_count:
            raise TypeError("every text must be a string, not None")
        _, offset_buffer, data = strings.buffers()
        offsets = np.frombuffer(offset_buffer, np.int64, len(strings) + 1) if len(strings) else np.zeros(1, np.int64)
        raw = data.to_pybytes()[: int(offsets[-1])] if data is not None else b""
        kinds = np.frombuffer(raw.translate(_CLASSES), np.uint8)
        codes = np.frombuffer(raw.lower() if self.lower_case else raw, np.uint8)
        visible = kinds != _SPACE
        begins = self._beginnings(codes, kinds, visible, offsets)
        starts = np.flatnonzero(begins)
        # Without white space every token ends where the next begins, which is the layout of an Arrow array.
        places = np.flatnonzero(visible)
        ends = np.append(np.flatnonzero(begins[places]), len(places))
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(codes[places])]
        tokens = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(starts), buffers)
        ids = pc.index_in(tokens, options=self._options).fill_null(self.unknown_id).to_numpy().astype(np.int64)
        exceptions = self._exceptions(raw)
        if len(exceptions):
            ids, starts = self._replace(ids, starts, raw, visible, offsets, exceptions)
        return TokenIds(ids, np.searchsorted(starts, offsets))

    def _beginnings(
        self,
        codes: NDArray[np.uint8],
        kinds: NDArray[np.uint8],
        visible: NDArray[np.bool_],
        offsets: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Marks the bytes (bytes,) at which a token begins, by the rules for ASCII."""
        word = kinds == _WORD
        begins = visible.copy()
        begins[1:] &= ~(word[1:] & word[:-1])
        first = offsets[:-1][offsets[:-1] < len(codes)]
        begins[first] = visible[first]
        if not self.contractions:
            return begins
        marks = np.flatnonzero(codes == ord("'"))
        if not len(marks):
            return begins
        text = np.searchsorted(offsets, marks, side="right")
        first, end = offsets[text - 1], offsets[text]

        def byte(distance: int) -> NDArray[np.uint8]:
            places = marks + distance
            inside = (places >= first) & (places < end)
            return np.where(inside, codes[np.where(inside, places, 0)], ord(" ")).astype(np.uint8)

        is_word = np.frombuffer(_CLASSES, np.uint8) == _WORD
        before, second, third, fourth = byte(-1), byte(1), byte(2), byte(3)
        not_behind = (before == ord("n")) & (second == ord("t")) & ~is_word[third]
        single = np.isin(second, np.frombuffer(b"sdm", np.uint8)) & ~is_word[third]
        pair = np.isin(second * np.uint16(256) + third, np.frombuffer(b"revell", ">u2")) & ~is_word[fourth]
        begins[marks[not_behind] - 1] = True
        begins[marks[not_behind]] = False
        begins[marks[not_behind | single | pair] + 1] = False
        return begins

    def _exceptions(self, raw: bytes) -> NDArray[np.int64]:
        """Lists places (exceptions,) of bytes whose surroundings `tokenizers` must see."""
        found = []
        if not raw.isascii():
            found.append(np.flatnonzero(np.frombuffer(raw, np.uint8) >= 0x80))
        for text in self.special:
            places = []
            place = raw.find(text)
            while place >= 0:
                places.append(place)
                place = raw.find(text, place + 1)
            if places:
                found.append(np.array(places, np.int64))
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def _replace(
        self,
        ids: NDArray[np.int64],
        starts: NDArray[np.int64],
        raw: bytes,
        visible: NDArray[np.bool_],
        offsets: NDArray[np.int64],
        exceptions: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Gives the ids of `tokenizers` to the runs between white space in which the exceptions lie.

        Returns:
            The ids (tokens,) of all tokens, and for each the place of its first byte, or of its run's first byte.
        """
        borders = np.zeros(len(raw) + 1, np.bool_)
        borders[offsets] = True
        run_starts = visible.copy()
        run_starts[1:] &= ~visible[:-1] | borders[1:-1]
        run_ends = visible.copy()
        run_ends[:-1] &= ~visible[1:] | borders[1:-1]
        first = np.flatnonzero(run_starts)
        rows = np.unique(np.searchsorted(first, exceptions, side="right") - 1)
        first = first[rows]
        lengths = np.flatnonzero(run_ends)[rows] + 1 - first
        bytes_inside = _ranges(first, lengths)
        ends = np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
        inside_text = np.frombuffer(raw, np.uint8)[bytes_inside]
        runs = pa.LargeStringArray.from_buffers(len(rows), pa.py_buffer(ends), pa.py_buffer(inside_text))
        runs = runs.dictionary_encode()
        encodings = self.tokenizer.encode_batch_fast(runs.dictionary.to_pylist(), add_special_tokens=False)
        different = TokenIds.of_lists([encoding.ids for encoding in encodings])
        kind = runs.indices.to_numpy().astype(np.int64)
        inside = np.zeros(len(raw), np.bool_)
        inside[bytes_inside] = True
        plain = ~inside[starts]
        places = np.concatenate([starts[plain], np.repeat(first, different.lengths[kind])])
        order = np.argsort(places, kind="stable")
        return np.concatenate([ids[plain], different.of_texts(kind)])[order], places[order]


def state_of(tokenizer: Tokenizer) -> tuple[Any, ...]:
    """Summarises what a lookup depends on, cheaply, so that one can tell whether it has grown old."""
    added = sorted(tokenizer.get_added_tokens_decoder().items())
    parts = [
        settings_of_part(part) for part in (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.post_processor)
    ]
    return tokenizer.get_vocab_size(with_added_tokens=False), repr(tokenizer.model), repr(added), repr(parts)


def _rules(tokenizer: Tokenizer) -> tuple[bool, bool] | None:
    """Tells whether a tokenizer lower-cases and whether it splits contractions; None if it does anything else."""
    from tokenizers.models import WordLevel

    if not isinstance(tokenizer.model, WordLevel):
        return None
    if not (adds_no_tokens(tokenizer) and cuts_out_added_tokens(tokenizer)):
        return None
    parts = settings_of_part(tokenizer.normalizer), settings_of_part(tokenizer.pre_tokenizer)
    for lower_case, normalizer in zip((True, False), NORMALIZERS, strict=True):
        for contractions in (True, False):
            pattern = {"Regex": (_CONTRACTIONS if contractions else "") + _WORDS}
            split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
            splitters = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, split]}
            if parts == (normalizer, splitters):
                return lower_case, contractions
    return None


def _ranges(first: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Lists the whole numbers first[i], …, first[i] + lengths[i] - 1 for every i, one range behind the other."""
    ends = lengths.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(first - (ends - lengths), lengths)
