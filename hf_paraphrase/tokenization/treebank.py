r"""The words of the Penn Treebank: what its tokenizer keeps whole, and what it splits, as one regular expression.

`well-known`, `1.5`, `3,000`, `and/or` and `U.S.` are one word each; punctuation, brackets, quotes, `$`, `%`, `--` and
`...` are words of their own; `don't` is `do n't`, `it's` is `it 's`, `cannot` is `can not`. The rules are those of
MacIntyre's script `tokenizer.sed`, as NLTK's `TreebankWordTokenizer` has them, for what stands between two spaces,
with three differences:

* The script takes each text for one sentence and splits a period off at its end alone. Here it is split off at the end
  of what stands between two spaces, so that texts of several sentences come out right, but for that of an acronym
  (`U.S.`), an initial (`J.`) and one of :data:`ABBREVIATIONS`, which stays wherever it is.
* Quotes stay as they are written, `"`, where the script tells opening ones from closing ones.
* Quotes, dashes and currency signs beyond ASCII are words of their own, too.
"""

from __future__ import annotations

ABBREVIATIONS = (
    r"mr|mrs|ms|dr|prof|st|jr|sr|rev|gen|col|lt|capt|sgt|gov|sen|rep|ph\.d|inc|corp|co|ltd|bros|dept|assn|vs|etc|approx"
    r"|vol|ave|blvd|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec|ala|ariz|calif|colo|conn|fla|kan|mich|minn|okla|pa"
    r"|tenn|tex|va|wis"
)
"""Words that keep their period, as a pattern; `no.`, `ill.` and others that end sentences as often are not there."""

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
"""The first parts of words that are two (`can` of `cannot`)."""
TREEBANK_WORDS = (
    rf"{_DOUBLE}|{_ALONE}|{_SEPARATOR}|{_ABBREVIATED}|{_JOINED}|{_CLITIC}|{_PERIOD}"
    rf"|(?:(?!{_ALONE}|{_SEPARATOR}|{_DOUBLE}|{_PERIOD}|{_CLITIC}).)+"
)
"""The words of a piece without white space, each a match, in the notation of Oniguruma."""
