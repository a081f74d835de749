from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_char import TokenizerChar
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from hf_paraphrase.text.ngrams import TokenSpans
from hf_paraphrase.text.words import (
    character_kinds,
    combining_marks,
    count_words,
    split_words,
    tokenize,
    unspaced_letters,
    word_spans,
)

LETTERS = {chr(code) for low, high in unspaced_letters() for code in range(low, high + 1)}
MARKS = {chr(code) for low, high in combining_marks() for code in range(low, high + 1)}
SPACED = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="".join(LETTERS)), max_size=15)
UNSPACED = st.text("你好世がカｶﾞﾟกี่ขកម្မာབོꦗꦴ々〇 aé\u0301,。'n٣9๑_\u2019", max_size=15)


def count_slowly(text: str) -> int:
    characters, letters = list(text), [place for place, char in enumerate(text) if char in LETTERS]
    for place in letters:
        characters[place] = " "
        for step in (1, -1):
            other = place + step
            while 0 <= other < len(text) and (
                unicodedata.category(text[other])[0] in "PS" or (step == 1 and text[other] in MARKS)
            ):
                characters[other] = " "
                other += step
    return len("".join(characters).split()) + len(letters)


@given(st.lists(SPACED | UNSPACED, max_size=8))
@example(["你好，世界。 Hello, world!", "", "我有 iPhone。"])
@settings(deadline=None)
def test_words_are_counted_as_python_splits_them_and_each_letter_of_a_script_without_spaces(texts):
    counts = count_words(pa.array([*texts, None], pa.string())).tolist()
    assert counts == [*map(count_slowly, texts), 0]
    for text, count in zip(texts, counts, strict=False):
        assert count == len(text.split()) or LETTERS & set(text)


def test_the_scripts_without_spaces_are_those_of_the_unicode_names():
    scripts = {"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "JAVANESE", "BOPOMOFO"}
    others = {"LATIN", "GREEK", "CYRILLIC", "ARABIC", "HEBREW", "DEVANAGARI", "HANGUL", "GEORGIAN", "ETHIOPIC"}
    for char in filter(str.isalpha, map(chr, range(0x33000))):
        script = unicodedata.name(char, "?").split()[0].split("-")[0]
        # The compatibility forms of Hangul and the circled letters have other names.
        if script in scripts | others and char not in MARKS:
            assert (char in LETTERS) == (script in scripts), unicodedata.name(char)
    assert set("々〇ｶー") < LETTERS and not LETTERS & set("9๑٣_Ａ１") and len(character_kinds()) == 0x110000


@given(st.text("我们喜欢猫和狗在中国北京上海很好的", min_size=1, max_size=20))
def test_chinese_is_split_as_sacrebleu_splits_it(text):
    words = tokenize(text)
    assert words == split_words(text) == TokenizerZh()(text).split() == TokenizerChar()(text).split()
    assert [text[start:end] for start, end in word_spans(text)] == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ありがとう、iPhone！", ["あ", "り", "が", "と", "う", "、", "iphone", "！"]),
        ("ที่นี่ดี ๑๒", ["ที่", "นี่", "ดี", "๑๒"]),
        ("ལོ་གསར", ["ལོ", "་", "ག", "ས", "ར"]),
        ("cafe\u0301 वह करता 9a_b।", ["cafe\u0301", "वह", "करता", "9a_b", "।"]),
        ("\U00011107\U00011134 a", ["\U00011107\U00011134", "a"]),
        ("it's手机, don't你", ["it", "'s", "手", "机", ",", "do", "n't", "你"]),
        ("你\u0301b \u0301a", ["你\u0301", "b", "\u0301a"]),
    ],
)
def test_letters_keep_their_marks_and_end_words_of_other_scripts(text, words):
    assert tokenize(text) == words


TEXT = st.text(
    st.sampled_from("abAB1 _'’ntsdrel-.,\n\t\u0301\u0130ßΣéı中\u093f\U00011134\u200b\u00a0\U0001f600\ud800\x00"),
    max_size=14,
) | st.text(max_size=10)


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXT | UNSPACED, max_size=6))
@example(["don't 'tis rock'n'roll ''", "a'", "'b", "a''b", "e\u0301'a", "x'r", "n"])
@example(["a", "it's we'll I'd’ve n't nn’t can'ts 'sn't n't's", "b"])
@example(["'"])
@example(["n't"])
@example(["do n't", "Don’t它's", "你\u0301b"])
def test_spans_are_the_tokens_of_the_regular_expression(texts):
    lowered = [text.lower() for text in texts]
    spans, joined = TokenSpans(lowered), "\n".join(lowered).replace("\u2019", "'")
    tokens = [joined[start : start + size] for start, size in zip(spans.starts, spans.sizes, strict=True)]
    found = [tokens[first : first + count] for first, count in zip(spans.first, spans.counts, strict=True)]
    assert found == [tokenize(text) for text in lowered]
    assert spans.sizes.tolist() == [len(token) for tokens in found for token in tokens]
    numbers = dict(zip(tokens, spans.numbers.tolist(), strict=True))
    assert len(set(numbers.values())) == len(numbers)
    assert [numbers[token] for token in tokens] == spans.numbers.tolist()
