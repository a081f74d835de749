"""What the parts of a tokenizer of the `tokenizers` library say about it.

A text is cut before every space that does not itself stand behind a space, so that a run is some spaces and what
follows them up to the next one: `The cat  sat` has the runs `The`, ` cat` and `  sat`. The ids of a text are those of
its runs, one behind the other, if no added token crosses a cut, the normaliser changes each run by itself, the
pre-tokenizer splits at every cut, and the model gives a piece the same ids whenever it sees it. Only parts that are
listed here count as such, with settings that are known here; :mod:`.run_lookup` checks run by run what depends on the
text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPACE_MARK = "▁"
"""What `Metaspace` writes for a space."""

_FIELDS = {
    # Normalisers that change a character, or a letter and its marks, whatever stands around it.
    **{name: set[str]() for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")},
    "BertNormalizer": {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"},
    "Precompiled": {"precompiled_charsmap"},
    "Strip": {"strip_left", "strip_right"},
    "Replace": {"pattern", "content"},
    # Pre-tokenizers that split at white space.
    **{name: set[str]() for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")},
    "Metaspace": {"replacement", "prepend_scheme", "split"},
    "ByteLevel": {"add_prefix_space", "trim_offsets", "use_regex"},
    "Split": {"pattern", "behavior", "invert"},
}
"""The settings of the parts that are known."""
_REPLACED = (r"\p{Nd}", r"\s+", r"\s", " {2,}", " +")
"""Regular expressions that match one character, or white space only."""
_WORDS = r"[^\W_]+|[^\w\s]|_"
"""The words of :mod:`.morfessor`."""


def settings_of_part(part: Any) -> Any:
    """Reads the settings of a part of a tokenizer; None where there is no such part."""
    return None if part is None else json.loads(part.__getstate__())


def tokens_around(tokenizer: Tokenizer) -> tuple[list[int], list[int]] | None:
    """Lists the ids of the special tokens that are put before and behind a single text.

    Returns:
        Those before, and those behind; None if something else is done to a text, or may be.
    """
    tokenizer.no_padding()
    tokenizer.no_truncation()
    plain = tokenizer.encode("a", add_special_tokens=False).ids
    ids = tokenizer.encode("a").ids
    start = next((start for start in range(len(ids)) if ids[start:][: len(plain)] == plain), 0)
    before, behind = ids[:start], ids[start + len(plain) :]
    for text in ("a", "a b c", ""):
        alone = tokenizer.encode(text, add_special_tokens=False)
        # A text that is there twice begins again.
        if alone.offsets != sorted(alone.offsets) or tokenizer.encode(text).ids != [*before, *alone.ids, *behind]:
            return None
    return before, behind


def runs_are_separable(tokenizer: Tokenizer) -> bool:
    """Returns whether the ids of a text are those of its runs, except for what :mod:`.run_lookup` checks itself."""
    return (
        _is_the_same_every_time(tokenizer.model)
        and splits_runs(settings_of_part(tokenizer.pre_tokenizer))
        and keeps_runs_apart(settings_of_part(tokenizer.normalizer))
        and _added_tokens_are_within_runs(tokenizer)
    )


def keeps_runs_apart(normalizer: Any) -> bool:
    """Returns whether normalising a text normalises what is before and behind a space, where that stays a space."""
    return all(map(_keeps_runs_apart, _steps(normalizer)))


def splits_runs(pre_tokenizer: Any) -> bool:
    """Returns whether a text is split where a space follows a visible character, and each side of that as if alone."""
    if pre_tokenizer is None:
        return False
    kind = pre_tokenizer["type"]
    if kind == "Sequence":
        # Whatever comes after the first part sees its pieces one by one.
        parts = pre_tokenizer.get("pretokenizers")
        return bool(parts) and splits_runs(parts[0])
    if not _is_known(pre_tokenizer):
        return False
    if kind == "Metaspace":
        return bool(pre_tokenizer["replacement"] == SPACE_MARK and pre_tokenizer["split"])
    if kind == "ByteLevel":
        return bool(pre_tokenizer["use_regex"])
    if kind == "Split":
        is_words = pre_tokenizer["pattern"].get("Regex") == _WORDS
        return bool(is_words and pre_tokenizer["behavior"] == "Removed" and pre_tokenizer["invert"])
    return kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")


def _keeps_runs_apart(step: Any) -> bool:
    if not _is_known(step):
        return False
    if step["type"] == "Strip":
        # The white space at the end of a run is not at the end of the text, so a run must have none there.
        return not step["strip_left"]
    if step["type"] == "Replace":
        text = step["pattern"].get("String")
        return step["pattern"].get("Regex") in _REPLACED if text is None else bool(text) and " " not in text
    return True


def _steps(normalizer: Any) -> Iterator[Any]:
    """Lists the settings of the steps of a normaliser, those in a sequence one by one."""
    if normalizer is None:
        return
    if normalizer["type"] == "Sequence":
        for part in normalizer["normalizers"]:
            yield from _steps(part)
    else:
        yield normalizer


def _is_known(part: Any) -> bool:
    return {"type", *_FIELDS.get(part["type"], {"?"})} == set(part)


def _is_the_same_every_time(model: Any) -> bool:
    """Returns whether a model gives a piece the same ids whenever it sees it: it may be set to draw them."""
    kind = type(model).__name__
    if kind == "Unigram":
        return not getattr(model, "alpha", None) and not getattr(model, "nbest_size", None)
    return kind in ("WordLevel", "WordPiece") or (kind == "BPE" and not model.dropout)


def _added_tokens_are_within_runs(tokenizer: Tokenizer) -> bool:
    across = re.compile(r"[^ ] ").search
    normalizer = tokenizer.normalizer
    for token in tokenizer.get_added_tokens_decoder().values():
        if not token.content or across(token.content):
            return False
        if token.normalized and normalizer is not None and across(normalizer.normalize_str(token.content)):
            return False
    return True
