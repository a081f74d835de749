"""A Morfessor Baseline model as a Unigram model of the `tokenizers` library: the same segmentation at its speed.

Morfessor's Viterbi search without smoothing gives a morph of count c the cost log(tokens + boundaries) - log(c), where
tokens and boundaries are those of all morphs and words it was trained on. A Unigram model whose scores are the
negative costs makes the same choice for every word.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import InputError
from .morfessor_words import Morphs, word_splitter
from .word_level import PAD_TOKEN, UNKNOWN_TOKEN, as_fast_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

LONGEST = 30
"""Characters in a morph at most: the `maxlen` of Morfessor's search, which finds no longer one."""

_LAST_RESORT = -1e5


def morfessor_tokenizer(
    morphs: Morphs, alphabet: Iterable[str] = (), *, lower_case: bool = True
) -> PreTrainedTokenizerFast:
    """Carries a Morfessor Baseline model over to a fast tokenizer.

    The tokens of a word are those of `BaselineModel.viterbi_segment(word, addcount=0)`, with these exceptions:

    * Characters that are neither morphs nor in the alphabet are `[UNK]`, and a run of them is one token, where
      Morfessor gives each as a morph of its own.
    * Of several segmentations with equal cost either may win. Both prefer the longer last morph; they can differ where
      rounding makes one of the equal costs the lower in one of them only.
    * Words of more than some 5,000 characters that contain characters which are not morphs.

    Morfessor's limit of 30 characters for a morph is not an exception: longer ones, which only training can find, are
    not in the vocabulary.

    Args:
        morphs: The model.
        alphabet: Characters to know though they are not morphs, e.g. those of rare words that were left out of
            training; those of the morphs are known in any case.
        lower_case: Whether text is lower-cased before it is split; the tokenizer does it by itself.

    Returns:
        A fast tokenizer in which id 0 is `[PAD]`, id 1 is `[UNK]`, and the morphs follow, the most frequent first and
        in alphabetical order among equals, then the rest of the alphabet. It adds no special tokens. Decoding puts a
        space between all morphs.
    """
    from tokenizers.models import Unigram

    known_morphs = sorted(
        (item for item in morphs.counts.items() if len(item[0]) <= LONGEST), key=lambda item: _rank(*item)
    )
    if not known_morphs:
        raise InputError("the model has no morphs", remedy="train it on more words")
    total = math.log(morphs.tokens + morphs.boundaries)
    vocabulary = [(PAD_TOKEN, 0.0), (UNKNOWN_TOKEN, 0.0)]
    # Written as Morfessor computes its costs, so that they are equal to the last bit.
    vocabulary += [(morph, -(total - math.log(count))) for morph, count in known_morphs]
    letters = {letter for morph in morphs.counts for letter in morph} | set("".join(alphabet))
    vocabulary += [(letter, _LAST_RESORT) for letter in sorted(letters - {morph for morph, _ in known_morphs})]
    backend = word_splitter(lower_case=lower_case)
    backend.model = Unigram(vocabulary, 1, False)
    return as_fast_tokenizer(backend, pad_token=PAD_TOKEN, unk_token=UNKNOWN_TOKEN)


def _rank(morph: str, count: int) -> tuple[int, str]:
    return -count, morph
