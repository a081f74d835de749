r"""Whether the ids of a text are those of its runs, one behind the other: decided from the parts of a tokenizer.

A text is cut before every space that does not itself stand behind a space, so that a run is some spaces and what
follows them up to the next one: `The cat  sat` has the runs `The`, ` cat` and `  sat`. The place between two runs is a
seam. A tokenizer of the `tokenizers` library finds added tokens in the text, normalises what is between them, splits
that, and gives each piece to its model. So the ids of a text are those of its runs if

* no added token can cross a seam (:func:`are_within_runs`) and, which :mod:`.run_lookup` sees to, none is there;
* normalising a text normalises its runs (:func:`keeps_runs_apart`), and leaves at every seam a visible character
  before and a space behind, which :mod:`.run_lookup` sees to run by run;
* what is normalised is split at every such seam, and what comes out on one side of it does not depend on the other
  (:func:`splits_at_seams`);
* the model gives a piece the same ids whenever it sees it (:func:`is_the_same_every_time`).

Only parts that are listed here count as such, with settings that are known here: whatever a later version of the
library adds is not known to be safe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .tokenizer_parts import settings_of_part

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPACE_MARK = "▁"
"""What `Metaspace` writes for a space."""

# They change a character or a cluster of a letter and its marks, whatever stands around it. A space begins such a
# cluster, and no normalisation form joins it with a letter or reorders marks over it.
_NORMALIZERS = {
    "NFC": {"type"},
    "NFD": {"type"},
    "NFKC": {"type"},
    "NFKD": {"type"},
    "Lowercase": {"type"},
    "StripAccents": {"type"},
    "Nmt": {"type"},
    "BertNormalizer": {"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"},
    "Precompiled": {"type", "precompiled_charsmap"},
}
_DIGIT = r"\p{Nd}"
_REPLACED = (_DIGIT, r"\s+", r"\s", " {2,}", " +")
"""Regular expressions that match one character, or white space only."""

_ANYWHERE = {
    "BertPreTokenizer": {"type"},
    "Whitespace": {"type"},
    "WhitespaceSplit": {"type"},
}
"""What splits at white space and leaves it out."""
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_BEHIND_LETTERS = r" ?[^\s\p{L}\p{N}]+"
_WHITE_SPACE = r"\s+(?!\S)|\s+"
_CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
)
_WORDS = {
    # Our own tokenizers of words, with contractions and without, and of morphs.
    r"n't(?!\w)|'(?:s|re|ve|ll|d|m)(?!\w)|\w+?(?=n't(?!\w))|\w+|[^\w\s]",
    r"\w+|[^\w\s]",
    r"\w+|[^\w\s]+",
    r"[^\W_]+|[^\w\s]|_",
    # GPT-2; GPT-4 and Llama 3; Qwen 2; GPT-4o.
    rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+|{_BEHIND_LETTERS}|{_WHITE_SPACE}",
    *(
        rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}|{_BEHIND_LETTERS}[\r\n]*|\s*[\r\n]+|{_WHITE_SPACE}"
        for digits in (r"\p{N}{1,3}", r"\p{N}")
    ),
    rf"{_CASED[0]}{_CONTRACTIONS}?|{_CASED[1]}{_CONTRACTIONS}?|\p{{N}}{{1,3}}|{_BEHIND_LETTERS}[\r\n/]*|"
    rf"\s*[\r\n]+|{_WHITE_SPACE}",
}
"""Regular expressions of which no match holds a space behind anything but white space, nor looks beyond a seam: what
looks ahead finds the space there, or the end of a run, which are alike to it."""
_SPACES = {" ", " +", r"\s", r"\s+"}
"""Regular expressions that match white space, a space among it."""


def runs_are_separable(tokenizer: Tokenizer) -> bool:
    """Returns whether the ids of a text are those of its runs, except for what :mod:`.run_lookup` checks itself."""
    return (
        is_the_same_every_time(tokenizer.model)
        and splits_at_seams(settings_of_part(tokenizer.pre_tokenizer))
        and keeps_runs_apart(settings_of_part(tokenizer.normalizer))
        and are_within_runs(tokenizer)
    )


def is_the_same_every_time(model: Any) -> bool:
    """Returns whether a model gives a piece the same ids whenever it sees it: it may be set to draw them."""
    from tokenizers.models import BPE, Unigram, WordLevel, WordPiece

    if isinstance(model, BPE):
        return not model.dropout
    if isinstance(model, Unigram):
        return not getattr(model, "alpha", None) and not getattr(model, "nbest_size", None)
    return isinstance(model, (WordLevel, WordPiece))


def keeps_runs_apart(normalizer: Any) -> bool:
    """Returns whether normalising a text normalises what is before and behind a space, where that stays a space."""
    return all(map(_keeps_runs_apart, _steps(normalizer)))


def _keeps_runs_apart(step: Any) -> bool:
    kind = step["type"]
    if kind == "Strip":
        # The white space at the end of a run is not at the end of the text, so a run must have none there.
        return _has(step, "strip_left", "strip_right") and not step["strip_left"]
    if kind == "Replace":
        if not _has(step, "pattern", "content"):
            return False
        pattern = step["pattern"]
        text = pattern.get("String")
        return pattern.get("Regex") in _REPLACED if text is None else bool(text) and " " not in text
    return set(step) == _NORMALIZERS.get(kind)


def keeps_ascii_visible(normalizer: Any) -> bool:
    """Returns whether a normaliser leaves a visible ASCII character at the end of an ASCII text such a one.

    And spaces at its beginning spaces. It must be one that :func:`keeps_runs_apart`.
    """
    return all(map(_keeps_ascii_visible, _steps(normalizer)))


def _keeps_ascii_visible(step: Any) -> bool:
    if step["type"] == "Replace":
        text = step["pattern"].get("String")
        if text is None:
            return bool(step["content"] == ("0" if step["pattern"]["Regex"] == _DIGIT else " "))
        return not text.isascii()
    return bool(step["type"] != "Precompiled")


def _steps(normalizer: Any) -> Iterator[Any]:
    """Lists the settings of the steps of a normaliser, those in a sequence one by one."""
    if normalizer is None:
        return
    if normalizer["type"] == "Sequence" and _has(normalizer, "normalizers"):
        for part in normalizer["normalizers"]:
            yield from _steps(part)
    else:
        yield normalizer


def splits_at_seams(pre_tokenizer: Any) -> bool:
    """Returns whether a text is split where a space follows a visible character, and each side of that as if alone."""
    if pre_tokenizer is None:
        return False
    if pre_tokenizer["type"] != "Sequence":
        return _splits(pre_tokenizer)
    if not _has(pre_tokenizer, "pretokenizers"):
        return False
    for part in pre_tokenizer["pretokenizers"]:
        if splits_at_seams(part):
            # Whatever comes after it sees the pieces one by one.
            return True
        if not _splits_between_classes(part):
            return False
    return False


def are_within_runs(tokenizer: Tokenizer) -> bool:
    """Returns whether every added token is within a run wherever it occurs, be it in the text or when normalised."""
    across = re.compile(r"[^ ] ").search
    normalizer = tokenizer.normalizer
    for token in tokenizer.get_added_tokens_decoder().values():
        if not token.content or across(token.content):
            return False
        if token.normalized and normalizer is not None and across(normalizer.normalize_str(token.content)):
            return False
    return True


def _splits(part: Any) -> bool:
    kind = part["type"]
    if kind in _ANYWHERE:
        return set(part) == _ANYWHERE[kind]
    splitter = _SPLITTERS.get(kind)
    return splitter is not None and splitter(part)


def _metaspace(part: Any) -> bool:
    has_known_fields = _has(part, "replacement", "prepend_scheme", "split")
    return has_known_fields and part["replacement"] == SPACE_MARK and part["split"] is True


def _byte_level(part: Any) -> bool:
    return _has(part, "add_prefix_space", "trim_offsets", "use_regex") and part["use_regex"] is True


def _at_a_character(part: Any) -> bool:
    return _has(part, "delimiter") and part["delimiter"] == " "


def _split(part: Any) -> bool:
    if not _has(part, "pattern", "behavior", "invert"):
        return False
    behavior, invert = part["behavior"], part["invert"]
    regex = part["pattern"].get("Regex")
    if regex in _WORDS:
        return behavior == "Isolated" or (behavior == "Removed" and invert is True)
    spaces = regex in _SPACES or part["pattern"].get("String") == " "
    return spaces and invert is False and behavior in ("Removed", "Isolated", "MergedWithNext")


_SPLITTERS: dict[str, Callable[[Any], bool]] = {
    "Metaspace": _metaspace,
    "ByteLevel": _byte_level,
    "CharDelimiterSplit": _at_a_character,
    "Split": _split,
}


def _splits_between_classes(part: Any) -> bool:
    """Returns whether a place is a border or none by the classes of the two characters beside it alone."""
    kind = part["type"]
    return (
        (kind == "Punctuation" and _has(part, "behavior"))
        or (kind == "Digits" and _has(part, "individual_digits"))
        or (kind == "CharDelimiterSplit" and _has(part, "delimiter"))
    )


def _has(part: Any, *names: str) -> bool:
    return set(part) == {"type", *names}
