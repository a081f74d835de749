"""The contract of generators: sentences go in, candidates for their paraphrases come out."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from ..data.batch_function import Progress, no_progress
from ..errors import InputError

ROUND_TRIP, SEQ2SEQ, LLM = GENERATORS = ("round-trip", "seq2seq", "llm")
API_KEY_VARIABLE = "OPENAI_API_KEY"
DEFAULT_PROMPT = """Paraphrase the sentence: say the same in other words, in the same language.
Answer with the paraphrase alone.

Sentence: {sentence}"""
SENTENCE = "{sentence}"
"""Placeholder of the sentence in a prompt."""


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
    """How tokens are drawn. The draws of a sentence depend on the sentence and the seed alone.

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
    """An OpenAI-compatible endpoint. The key is read from an environment variable and never stored.

    Attributes:
        base_url: The URL before `/chat/completions`.
        requests_per_minute: Maximum rate; None for no limit.
        answers: Folder for the answers received, which a resumed job reads; None keeps none.
    """

    base_url: str
    key_variable: str = API_KEY_VARIABLE
    requests_per_minute: float | None = None
    answers: str | None = None


class Generator(ABC):
    """Proposes paraphrases.

    Attributes:
        language: Language of the sentences, if it is known.
        writes_freely: Whether answers may be no paraphrases, such as refusals.
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
            num: Maximum number of candidates; in a round trip in each direction.
            progress: Called with the number of sentences done since the last call.

        Returns:
            For each sentence its candidates, the best first, or the reason why it has none.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the description of the generator for the card."""


class SharedProgress:
    """Reports the progress of several phases, each in its own units, as a number of sentences."""

    def __init__(self, progress: Progress, sentences: int, phases: int) -> None:
        self._progress, self._sentences, self._phases = progress, sentences, phases
        self._done, self._reported = 0.0, 0

    def phase(self, units: int) -> Progress:
        """Return the progress function of the next phase, which has `units` steps."""

        def advance(done: int) -> None:
            self._done += self._sentences / self._phases * done / max(1, units)
            whole = min(self._sentences, int(self._done + 1e-6))
            self._progress(whole - self._reported)
            self._reported = whole

        return advance

    def finish(self) -> None:
        """Report all sentences as done."""
        self._progress(self._sentences - self._reported)
        self._reported = self._sentences


def check_prompt(prompt: str, path: str | os.PathLike[str] | None = None) -> str:
    """Return the prompt if it contains `{sentence}`."""
    if SENTENCE not in prompt:
        raise InputError(
            f"the prompt has no {SENTENCE}", path=path, remedy=f"write {SENTENCE} where the sentence goes"
        )
    return prompt
