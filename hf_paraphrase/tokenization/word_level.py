"""Builds word-level tokenizers: one token per word, and one common token for unknown words.

Text is normalized (NFKC, curly apostrophes straightened, optional lower case), split at white space, and every
punctuation mark is a separate token. Optionally English contractions are split as in the Penn Treebank (`do n't`,
`it 's`), like the words of GloVe and PARAGRAM vectors, or the whole text is (:data:`TREEBANK_WORDS`). No special
tokens are added to a sentence, because they would count in every mean.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..artefacts.files import write_json
from ..errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer, normalizers
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

PAD_TOKEN = "[PAD]"  # noqa: S105
UNKNOWN_TOKEN = "[UNK]"  # noqa: S105
PAD_ID = 0
UNKNOWN_ID = 1

DIGITS = ("keep", "zero", "remove")
"""Treatments of digits before text is split (Grégoire and Langlais 2017, section 3.4): keep, replace by 0, remove."""
_DIGITS = {"zero": "0", "remove": ""}
_WORDS = r"\w+|[^\w\s]"
ABBREVIATIONS = (
    r"mr|mrs|ms|dr|prof|st|jr|sr|rev|gen|col|lt|capt|sgt|gov|sen|rep|ph\.d|inc|corp|co|ltd|bros|dept|assn|vs|etc|approx"
    r"|vol|ave|blvd|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec|ala|ariz|calif|colo|conn|fla|kan|mich|minn|okla|pa"
    r"|tenn|tex|va|wis"
)
"""Words with a period, as a pattern, without words such as `no.` and `ill.` that often end sentences."""

_ALONE = r"""[;@#$%&?!\[\](){}<>"“”„«»–—€£¥]"""
_SEPARATOR = r"[:,](?!\d)"
_PERIOD = r"""(?<!\.)\.(?=[\])}>"']*\z)"""
_DOUBLE = r"\.\.\.|--|''|``"
_BORDER = rf"""(?=\z|{_ALONE}|{_SEPARATOR}|{_DOUBLE}|\.[\])}}>"']*\z)"""
_QUOTE = rf"'{_BORDER}"
_CLITIC = rf"(?<=[^'\s])(?:(?i:n't|'(?:ll|re|ve|s|m|d))(?:{_BORDER}|(?={_QUOTE}))|{_QUOTE})"
_ABBREVIATED = (
    rf"(?<![\w'.-])(?:(?i:{ABBREVIATIONS})|(?:\p{{L}}\.)+\p{{L}}|(?![iI]\.)\p{{L}})\."
    rf"""(?=[\])}}>"']*\z|{_SEPARATOR}|{_ALONE})"""
)
_JOINED = (
    r"(?<!\w)(?i:can(?=not(?!\w))|d(?='ye(?!\w))|gim(?=me(?!\w))|gon(?=na(?!\w))|got(?=ta(?!\w))|lem(?=me(?!\w))"
    r"|more(?='n(?!\w))|wan(?=na\z))|\A(?i:'t(?=(?:is|was)(?!\w)))"
)
"""The first parts of words that are split in two (`can` of `cannot`)."""
TREEBANK_WORDS = (
    rf"{_DOUBLE}|{_ALONE}|{_SEPARATOR}|{_ABBREVIATED}|{_JOINED}|{_CLITIC}|{_PERIOD}"
    rf"|(?:(?!{_ALONE}|{_SEPARATOR}|{_DOUBLE}|{_PERIOD}|{_CLITIC}).)+"
)
"""A pattern of Oniguruma that matches each Penn Treebank word in a piece without white space.

`well-known`, `1.5`, `3,000`, `and/or` and `U.S.` are one word each; punctuation, brackets, quotes, `$`, `%`, `--` and
`...` are separate words; `don't` is `do n't`, `it's` is `it 's`, `cannot` is `can not`. The rules follow MacIntyre's
script `tokenizer.sed` and NLTK's `TreebankWordTokenizer`, with three differences. A period is split off at the end of
every piece, except from acronyms, initials and :data:`ABBREVIATIONS`. Quotes are not changed. Quotes, dashes and
currency signs beyond ASCII are words, too.
"""
_CONTRACTIONS = r"n't(?!\w)|'(?:s|re|ve|ll|d|m)(?!\w)|\w+?(?=n't(?!\w))|"


def sentence_vocabulary(
    sentences: Iterable[str],
    *,
    lower_case: bool = True,
    contractions: bool = True,
    treebank: bool = False,
    digits: str = "keep",
    min_frequency: int = 1,
    max_size: int | None = None,
) -> list[str]:
    """List at most `max_size` words of a text, by descending frequency and then alphabetically.

    Words are split as by :func:`build_word_level_tokenizer`.
    """
    from tokenizers.trainers import WordLevelTrainer

    tokenizer = _backend({}, lower_case=lower_case, contractions=contractions, treebank=treebank, digits=digits)
    trainer = WordLevelTrainer(
        vocab_size=(1 << 62) if max_size is None else max_size, min_frequency=min_frequency, show_progress=False
    )
    tokenizer.train_from_iterator(sentences, trainer)
    vocabulary = tokenizer.get_vocab(with_added_tokens=False)
    return sorted(vocabulary, key=vocabulary.__getitem__)


def build_word_level_tokenizer(
    words: Iterable[str],
    *,
    lower_case: bool = True,
    contractions: bool = True,
    treebank: bool = False,
    digits: str = "keep",
) -> PreTrainedTokenizerFast:
    """Build a tokenizer from a list of words, such as the words of a vector file or :func:`sentence_vocabulary`.

    Id 0 is `[PAD]`, id 1 is `[UNK]`, and the distinct words have ids from 2 in their order.

    Args:
        words: The words.
        lower_case: Whether text is lower-cased.
        contractions: Whether English contractions are split as in the Penn Treebank.
        treebank: Whether all words are split as in the Penn Treebank.
        digits: The treatment of digits of any script, one of :data:`DIGITS`.
    """
    vocabulary = {PAD_TOKEN: PAD_ID, UNKNOWN_TOKEN: UNKNOWN_ID}
    for word in words:
        vocabulary.setdefault(word, len(vocabulary))
    if len(vocabulary) == 2:
        raise InputError("the vocabulary has no words", remedy="give sentences with words, or lower the min_frequency")
    backend = _backend(vocabulary, lower_case=lower_case, contractions=contractions, treebank=treebank, digits=digits)
    return as_fast_tokenizer(backend, pad_token=PAD_TOKEN, unk_token=UNKNOWN_TOKEN)


def basic_normalizer(*, lower_case: bool, digits: str = "keep") -> normalizers.Sequence:
    """Make the normalizer: NFKC, curly apostrophes straightened, optional lower case, digits replaced."""
    from tokenizers import Regex, normalizers

    steps = [normalizers.NFKC(), normalizers.Replace("\u2019", "'")]
    if lower_case:
        steps.append(normalizers.Lowercase())
    if digits != "keep":
        steps.append(normalizers.Replace(Regex(r"\p{Nd}"), _DIGITS[digits]))
    return normalizers.Sequence(steps)


def as_fast_tokenizer(backend: Tokenizer, **special_tokens: str) -> PreTrainedTokenizerFast:
    """Wrap a tokenizer of the `tokenizers` library for sentence encoders, which pad on the right."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        **special_tokens,
        padding_side="right",
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )


def reachable_words(
    words: Iterable[str], *, lower_case: bool = True, contractions: bool = True, treebank: bool = False
) -> list[str]:
    """Return the words that a tokenizer with these settings can produce, e.g. without `London` if it lower-cases."""
    tokenizer = _backend({}, lower_case=lower_case, contractions=contractions, treebank=treebank)

    def is_reachable(word: str) -> bool:
        if word.isascii() and word.isalnum():
            return not lower_case or word == word.lower()
        pieces = [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(word)]
        return pieces == [word] == [tokenizer.normalizer.normalize_str(word)]

    return list(filter(is_reachable, words))


def save_tokenizer(tokenizer: PreTrainedTokenizerBase, folder: str | os.PathLike[str]) -> None:
    """Save a tokenizer for transformers 4 and 5; version 4 does not accept the class name that version 5 writes."""
    tokenizer.save_pretrained(folder)
    if not tokenizer.is_fast:
        return
    path = Path(folder) / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    write_json(path, settings)


def _backend(
    vocabulary: dict[str, int], *, lower_case: bool, contractions: bool, treebank: bool, digits: str = "keep"
) -> Tokenizer:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN_TOKEN))
    tokenizer.normalizer = basic_normalizer(lower_case=lower_case, digits=digits)
    pattern = Regex(TREEBANK_WORDS if treebank else (_CONTRACTIONS if contractions else "") + _WORDS)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(pattern, "isolated")]
    )
    return tokenizer
