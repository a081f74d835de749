"""Morfessor Baseline, learnt from text and converted to a fast tokenizer.

Morfessor Baseline (Creutz and Lagus 2002; Virpioja et al. 2013) finds the lexicon of morphs that describes a list of
words, and itself, in the fewest bits. The package `morfessor` trains it. Its Viterbi search without smoothing gives a
morph of count c the cost log(tokens + boundaries) - log(c), with the numbers of morph tokens and of word boundaries in
its training data. A Unigram model with the negative costs as scores segments every word in the same way.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..errors import InputError, UsageError
from ..messages import log
from .word_level import PAD_TOKEN, UNKNOWN_TOKEN, as_fast_tokenizer, basic_normalizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

DAMPENINGS: dict[str, Callable[[int], int]] = {
    "none": lambda count: count,
    "log": lambda count: round(math.log2(count + 1)),
    "ones": lambda count: 1,
}
"""Training counts of a word from its count in the text: `none` learns from tokens, `ones` from types."""
FINISH_THRESHOLD = 0.005
"""Training ends when a round over all words saves fewer nats per word than this, Morfessor's default."""
LONGEST = 30
"""Maximum number of characters of a morph, the `maxlen` of Morfessor's search."""
_LAST_RESORT = -1e5
MORFESSOR_WORDS = r"[^\W_]+|[^\w\s]|_"


@dataclass(frozen=True)
class Morphs:
    """A Morfessor Baseline model for segmentation: the morphs with their counts.

    Attributes:
        boundaries: The number of word tokens.
        words: The number of different words.
        rounds: The number of training rounds over all words.
    """

    counts: dict[str, int]
    boundaries: int
    words: int
    rounds: int = 0

    @property
    def tokens(self) -> int:
        """The number of morph tokens."""
        return sum(self.counts.values())


def word_splitter(*, lower_case: bool) -> Tokenizer:
    """Make a tokenizer without vocabulary that normalizes text and splits it into words and punctuation marks.

    As in Morfessor, a morph is the same token at the beginning of a word and inside a word.
    """
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = basic_normalizer(lower_case=lower_case)
    # Faster than splitting at spaces and then at punctuation, with the same result.
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(MORFESSOR_WORDS), behavior="removed", invert=True)
    return tokenizer


def count_words(sentences: Iterable[str], *, lower_case: bool = True) -> Counter[str]:
    """Count the words of a streamed text, split by :func:`word_splitter`."""
    splitter = word_splitter(lower_case=lower_case)
    normalizer, pre_tokenizer = splitter.normalizer, splitter.pre_tokenizer
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(word for word, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(sentence)))
    return counts


def learn_morphs(
    counts: Mapping[str, int], *, dampening: str = "none", min_frequency: int = 1, seed: int = 0
) -> Morphs:
    """Train Morfessor Baseline by its recursive algorithm on words and their counts.

    Counts are dampened by one of :data:`DAMPENINGS`; words below `min_frequency` are left out. The seed determines the
    order of the words, which is drawn again in every round.
    """
    modify = DAMPENINGS[dampening]
    # Sorted, because the order of training is drawn from this order.
    data = [(modify(counts[word]), word) for word in sorted(counts) if counts[word] >= min_frequency]
    if not data:
        problem = f"no word occurs {min_frequency} times" if counts else "no text to learn morphs from"
        raise InputError(problem, remedy="give sentences that are not empty, or lower the min_frequency")
    log(f"learning morphs from {len(data):,} different words")
    check_installed()
    from morfessor import utils
    from morfessor.baseline import BaselineModel

    model, boundaries = BaselineModel(), sum(count for count, _ in data)
    # Morfessor draws from the global random state and writes dots.
    shown, state = utils.show_progress_bar, random.getstate()
    utils.show_progress_bar = False
    random.seed(seed)
    try:
        cost = model.load_data(data)
        for rounds in itertools.count(1):
            previous = cost
            _, cost = model.train_batch(finish_threshold=FINISH_THRESHOLD, max_epochs=1)
            log(f"round {rounds}: {cost:,.0f} nats")
            # As in `train_batch`, the first round is never the last.
            if rounds > 1 and cost >= previous - FINISH_THRESHOLD * boundaries:
                break
    finally:
        utils.show_progress_bar = shown
        random.setstate(state)
    return Morphs(dict(model.get_constructions()), boundaries, len(data), rounds)


def morfessor_tokenizer(
    morphs: Morphs, alphabet: Iterable[str] = (), *, lower_case: bool = True
) -> PreTrainedTokenizerFast:
    """Convert a Morfessor Baseline model to a fast tokenizer.

    The tokens of a word equal `BaselineModel.viterbi_segment(word, addcount=0)`, except that consecutive characters
    that are neither morphs nor in the alphabet become one `[UNK]`, and that segmentations of equal cost may differ.
    Id 0 is `[PAD]`, id 1 is `[UNK]`. The morphs follow, the most frequent first, and then other characters of the
    alphabet, e.g. of rare words that were left out of training.
    """
    from tokenizers.models import Unigram

    # Training can find longer morphs, but Morfessor's search returns none.
    counts = {morph: count for morph, count in morphs.counts.items() if len(morph) <= LONGEST}
    if not counts:
        raise InputError("the model has no morphs", remedy="train it on more words")
    total = math.log(morphs.tokens + morphs.boundaries)
    vocabulary = [(PAD_TOKEN, 0.0), (UNKNOWN_TOKEN, 0.0)]
    # In the order of Morfessor's operations, so that the costs are equal bit by bit.
    ranked = sorted(counts, key=lambda morph: (-counts[morph], morph))
    vocabulary += [(morph, -(total - math.log(counts[morph]))) for morph in ranked]
    letters = {letter for morph in morphs.counts for letter in morph} | set("".join(alphabet))
    vocabulary += [(letter, _LAST_RESORT) for letter in sorted(letters - counts.keys())]
    backend = word_splitter(lower_case=lower_case)
    backend.model = Unigram(vocabulary, 1, False)
    return as_fast_tokenizer(backend, pad_token=PAD_TOKEN, unk_token=UNKNOWN_TOKEN)


def check_installed() -> None:
    """Check that Morfessor can be imported."""
    if find_spec("morfessor") is None:
        problem = "learning morphs needs the package morfessor"
        raise UsageError(problem, remedy="pip install 'hf-paraphrase[segmentation]'")
