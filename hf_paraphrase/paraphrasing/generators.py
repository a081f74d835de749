"""The interface of generators, which propose paraphrases of sentences, and the answers of chat models."""

from __future__ import annotations

import os
import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from ..data.batch_function import Progress, no_progress
from ..errors import InputError
from ..text.languages import open_language_identifier
from ..text.normalization import is_blank
from ..threads import in_threads, one_thread

ROUND_TRIP = "round-trip"
SEQ2SEQ = "seq2seq"
LLM = "llm"
GENERATORS: tuple[str, ...] = (ROUND_TRIP, SEQ2SEQ, LLM)
DEFAULT_PROMPT = """Paraphrase the sentence: say the same in other words, in the same language.
Answer with the paraphrase alone.

Sentence: {sentence}"""
SENTENCE = "{sentence}"
"""Placeholder of the sentence in a prompt."""
_REFUSAL = re.compile(
    r"(?:i['’]?m (?:very )?sorry\b|sorry, (?:but )?i\b|i apologi[sz]e\b|as an? (?:\w+ )?(?:ai|language model)\b|"
    r"i(?: am|['’]m) (?:not able|unable|an ai|just an ai)\b|"
    r"(?:unfortunately, )?i (?:cannot|can['’]?t|can not|won['’]?t|will not|do not|don['’]?t) "
    r"(?:help|assist|paraphrase|rewrite|rephrase|provide|fulfil|comply|complete|do that|feel comfortable))",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\W{0,2}(?:(?:new )?sentence|[^:\"“]{0,60}\b(?:paraphras|rephras|reword|rewrit|in other words\b|"
    r"in the same language\b|the original sentence\b|you (?:can|could) say\b)[^:\"“]{0,60})\W{0,2}:\W{0,2}\s+",
    re.IGNORECASE,
)
"""A label of the paraphrase, or words that lead to it, up to the colon."""
_ITEM = re.compile(r"\s*(?:\d{1,2}[.)]|[-*•])\s+")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "「": "」", "`": "`"}
_SURE = 0.8
_FEWEST_WORDS = 4
_REQUESTS_AT_A_TIME = 4


class Candidate(NamedTuple):
    """One proposed paraphrase.

    Attributes:
        log_prob: Σ log p of the tokens of the text and the end token, in nats; None if the model does not give it.
        num_tokens: Number of tokens of the text without the end token.
        source: In a round trip, the translation into the pivot language.
        source_lang: The pivot language.
        round_trip_log_prob: Log-probability of the round trips that lead to the text, in nats.
        num_pivot_tokens: Number of tokens of `source`.
        is_finished: Whether the text ends before the length limit.
    """

    text: str
    log_prob: float | None = None
    num_tokens: int | None = None
    source: str | None = None
    source_lang: str | None = None
    round_trip_log_prob: float | None = None
    num_pivot_tokens: int | None = None
    is_finished: bool = True


_TEXTS = [(name, pa.string()) for name in ("id", "sentence1", "sentence2")]
_SCORES = [("rank", pa.int32()), ("log_prob", pa.float64()), ("num_tokens", pa.int32())]
_PIVOT = [("source", pa.string()), ("source_lang", pa.string())]
_PIVOT_SCORES = [("round_trip_log_prob", pa.float64()), ("num_pivot_tokens", pa.int32())]
PARAPHRASES = pa.schema([*_TEXTS, *_SCORES])
"""Pairs of a sentence and its paraphrase; `log_prob` and `num_tokens` belong to `sentence2` alone."""
ROUND_TRIP_PARAPHRASES = pa.schema([*_TEXTS, *_PIVOT, *_SCORES, *_PIVOT_SCORES])
"""Pairs made by round trips."""


@dataclass(frozen=True)
class SamplingOptions:
    """The settings of sampling. The samples of a sentence depend on the sentence and the seed alone.

    Attributes:
        temperature: Divides the logits.
        top_p: Draw from the fewest tokens whose probabilities sum to at least this.
        top_k: Draw from this many of the most probable tokens; 0 for all.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0


@dataclass(frozen=True)
class ApiOptions:
    """An OpenAI-compatible endpoint. The key is read from the variable OPENAI_API_KEY and never stored.

    Attributes:
        base_url: The URL before `/chat/completions`.
        requests_per_minute: Maximum rate; None for no limit.
        answers: Folder for the answers received, which a resumed job reads; None keeps none.
    """

    base_url: str
    requests_per_minute: float | None = None
    answers: str | None = None


class Generator(ABC):
    """Proposes paraphrases.

    Attributes:
        language: Language of the sentences, if it is known.
        writes_freely: Whether candidates need checks for refusals and other answers that are no paraphrases.
    """

    schema: ClassVar[pa.Schema] = PARAPHRASES
    writes_freely: ClassVar[bool] = False
    language: str | None = None

    @abstractmethod
    def candidates(
        self, sentences: Sequence[str], num: int, *, progress: Progress = no_progress
    ) -> list[list[Candidate] | str]:
        """Propose paraphrases.

        Args:
            sentences: The sentences.
            num: Maximum number of candidates; for a round trip, of translations in each direction.
            progress: Called with the number of sentences done since the last call.

        Returns:
            For each sentence its candidates, the best first, or the reason why it has none.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the description of the generator for the card."""


def check_prompt(prompt: str, path: str | os.PathLike[str] | None = None) -> str:
    """Return the prompt if it contains `{sentence}`."""
    if SENTENCE not in prompt:
        raise InputError(
            f"the prompt has no {SENTENCE}", path=path, remedy=f"write {SENTENCE} where the sentence goes"
        )
    return prompt


class ChatGenerator(Generator):
    """Asks a chat model for paraphrases, one sentence at a time, so that answers do not depend on the batch.

    Args:
        name: Name of the model.
        prompt: The message of the user, with `{sentence}`.
        sampling: The settings of sampling; None for a beam search, or the default of an endpoint.
        max_new_tokens: Maximum length of an answer in tokens.
    """

    writes_freely = True

    def __init__(
        self,
        name: str,
        prompt: str,
        *,
        language: str | None = None,
        sampling: SamplingOptions | None = None,
        max_new_tokens: int = 128,
    ) -> None:
        self.name, self.prompt, self.language = name, check_prompt(prompt), language
        self.sampling, self.max_new_tokens = sampling, max_new_tokens

    @property
    def threads(self) -> int:
        """The number of sentences processed at a time."""
        return _REQUESTS_AT_A_TIME

    @abstractmethod
    def answers(self, sentence: str, num: int) -> list[Candidate] | str:
        """Return at most `num` answers to a sentence that is not blank, or the reason why there are none."""

    def candidates(
        self, sentences: Sequence[str], num: int, *, progress: Progress = no_progress
    ) -> list[list[Candidate] | str]:
        """Extract the paraphrases from the answers to each sentence."""

        def ask(sentence: str) -> list[Candidate] | str:
            answers = "empty source" if is_blank(sentence) else self.answers(sentence, num)
            if isinstance(answers, str):
                return answers
            return [candidate for answer in answers for candidate in extract_paraphrases(answer)]

        outcomes = []
        threads = self.threads
        with one_thread(), closing(in_threads(ask, sentences, threads)) as answered:
            for outcome in answered:
                outcomes.append(outcome)
                progress(1)
        return outcomes

    def messages(self, sentence: str) -> list[dict[str, str]]:
        """Return the conversation that asks for paraphrases of a sentence."""
        return [{"role": "user", "content": self.prompt.replace(SENTENCE, sentence)}]


def extract_paraphrases(answer: Candidate) -> list[Candidate]:
    """Extract the paraphrases of an answer: the items of a list, or the first line.

    Introductions that end in a colon, labels, and surrounding quotation marks are removed. A part of an answer has no
    log-probability.
    """
    lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith(":"):
        del lines[0]
    items = [line for line in lines if _ITEM.match(line)]
    chosen = [_ITEM.sub("", line, count=1) for line in items] if len(items) > 1 else lines[:1]
    texts = [_strip_quotes(_LABEL.sub("", text, count=1) if _LABEL.match(text) else text) for text in chosen]
    whole = answer.text.strip()
    return [
        answer._replace(text=text)
        if text == whole
        else answer._replace(
            text=text, log_prob=None, num_tokens=None, is_finished=answer.is_finished or len(lines) > 1
        )
        for text in texts or [""]
    ]


def _strip_quotes(text: str) -> str:
    text = text.strip()
    end = _QUOTES.get(text[:1])
    inner = text[1:-1]
    return inner.strip() if end and len(text) > 2 and text.endswith(end) and end not in inner else text


def is_refusal(text: str, sentence: str) -> bool:
    """Return whether a text begins like a refusal to answer, and its sentence does not."""
    return _REFUSAL.match(text.strip()) is not None and _REFUSAL.match(sentence.strip()) is None


def is_other_language(text: str, sentence: str) -> bool:
    """Return whether the script or, with high probability, the language of a text differs from its sentence.

    Languages are compared in texts of at least four words, if the package py3langid is installed.
    """
    scripts = _detect_script(text), _detect_script(sentence)
    if None not in scripts and scripts[0] != scripts[1]:
        return True
    if min(len(text.split()), len(sentence.split())) < _FEWEST_WORDS or find_spec("py3langid") is None:
        return False
    classify = open_language_identifier().classify
    (language, probability), (own, own_probability) = map(classify, (text.lower(), sentence.lower()))
    return bool(language != own and min(probability, own_probability) >= _SURE)


def _detect_script(text: str) -> str | None:
    """Return the script of most letters by the first word of their Unicode names; None without letters."""
    names = (unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    counts = Counter("CJK" if name in {"HIRAGANA", "KATAKANA"} else name for name in names)
    return max(counts, key=counts.__getitem__, default=None)
