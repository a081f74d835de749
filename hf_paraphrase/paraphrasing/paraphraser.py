"""Measures, filters and ranks the candidates of a generator."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa

from ..artefacts.files import read_optional_json
from ..artefacts.hub_models import BUILTIN, model_folder
from ..data.batch_function import BatchFunction, Progress, Report, no_progress
from ..data.schema import SENTENCES
from ..errors import UsageError, choice_of
from ..filtering.measuring import Measures, add_measures
from ..text.ngrams import word_ngrams
from ..text.normalization import normalize_words
from ..tokenization.fast_tokenize import list_of_texts
from ..translation.back_translation import is_loop
from ..translation.bitext import are_different
from ..translation.search_settings import BeamSearchConfig
from ..vectors.similarity import check_counts
from .generators import (
    DEFAULT_PROMPT,
    GENERATORS,
    LLM,
    ROUND_TRIP,
    ApiOptions,
    Candidate,
    Generator,
    SamplingOptions,
    is_other_language,
    is_refusal,
)

Ngrams = Counter[tuple[str, ...]]
_SENTENCES_PER_CALL = 200


@dataclass(frozen=True)
class Paraphraser(BatchFunction):
    """Makes paraphrases of sentences; its models are opened at the first call and stay open.

    Copies of the sentence, loops, near-copies, dissimilar texts and answers that are no paraphrase are left out and
    counted. :func:`rank_diverse` ranks the remaining candidates.

    Args:
        models: For each round trip a model into another language and a model back, or one multilingual model for
            all; for other generators one model.
        num: Maximum number of paraphrases per sentence.
        generator: `round-trip`, `seq2seq` or `llm`.
        options: Settings of the beam search.
        sampling: Sample twice `num` candidates instead of searching for as many as the beam is wide.
        language: Language of the sentences, as a multilingual model spells it.
        pivots: Pivot language of each round trip, for multilingual models.
        task_prefix: Text before every sentence, for a sequence-to-sequence paraphraser.
        prompt: Message to a chat model, with `{sentence}`.
        max_new_tokens: Maximum length of the answer of a chat model.
        api: Endpoint of the chat model that `models` names.
        encoder: Encoder that measures similarity; by default the built-in one for English sentences.
        min_similarity: Minimum cosine of a paraphrase and its sentence.
        min_edit_distance: Minimum edit distance, as a fraction of the characters.
        device: Device of the models; a GPU if there is one by default.
        keep: Columns to copy from the sentences to their paraphrases.

    Example:
        >>> paraphraser = Paraphraser(["Helsinki-NLP/opus-mt-en-fr", "Helsinki-NLP/opus-mt-fr-en"])
        >>> paraphraser(["How old are you?"], num=3)
    """

    models: tuple[str, ...]
    num: int = 5
    generator: str = ROUND_TRIP
    options: BeamSearchConfig = BeamSearchConfig(num_beams=5, num_return_sequences=5)
    sampling: SamplingOptions | None = None
    language: str | None = None
    pivots: tuple[str, ...] = ()
    task_prefix: str | None = None
    prompt: str = DEFAULT_PROMPT
    max_new_tokens: int = 128
    api: ApiOptions | None = None
    encoder: str | None = None
    min_similarity: float = 0.7
    min_edit_distance: float = 0.15
    device: str | None = None
    keep: tuple[str, ...] = ()

    COUNTS: ClassVar[list[str]] = ["sentences", "pairs", "candidates", "copies", "loops", "near_copies", "dissimilar"]
    """The counts of a report: sentences, pairs, distinct candidates, and rejected candidates by reason."""
    NO_PARAPHRASES: ClassVar[list[str]] = ["empty", "unfinished", "refusals", "other_language"]
    """More counts of a report for generators that answer freely."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(num=self.num)

    @cached_property
    def opened(self) -> Generator:
        """The generator with its models."""
        if self.generator not in GENERATORS:
            raise UsageError(f"unknown generator `{self.generator}`", remedy=choice_of(self.generator, GENERATORS))
        if self.generator == ROUND_TRIP:
            from .seq2seq import RoundTrips

            return RoundTrips.open(self.models, self.language, self.pivots, self._open_translator)
        if len(self.models) != 1:
            problem = f"the generator {self.generator} takes one model, not {len(self.models)}"
            raise UsageError(problem, remedy="give one of --models, or --generator round-trip")
        if self.generator != LLM:
            from .seq2seq import Seq2SeqParaphraser

            translator = self._open_translator(self.models[0], self.language, self.language)
            return Seq2SeqParaphraser(translator, self.models[0], self.language)
        shared: dict[str, Any] = {name: getattr(self, name) for name in ("language", "sampling", "max_new_tokens")}
        if self.api is not None:
            from .endpoint import Endpoint

            return Endpoint(self.models[0], self.prompt, self.api, **shared)
        from .chat_model import ChatModel

        shared |= {"num_beams": self.options.num_beams, "device": self.device, "bf16": self.options.bf16}
        return ChatModel(self.models[0], self.prompt, **shared)

    def _open_translator(self, name: str, source_lang: str | None, target_lang: str | None) -> Any:
        from ..translation.loading import load_translation_model
        from ..translation.translator import Translator
        from .seq2seq import SamplingTranslator

        prefix = self.task_prefix
        if self.generator != ROUND_TRIP and prefix is None:
            settings = read_optional_json(model_folder(name, any_type=True) / "config.json")
            prefix = str(settings.get("prefix") or "")
        model, tokenizer = load_translation_model(
            name, device=self.device, source_lang=source_lang, target_lang=target_lang, task_prefix=prefix
        )
        options = dataclasses.replace(self.options, num_return_sequences=self.candidates_asked)
        if self.sampling is None:
            return Translator(model, tokenizer, options)
        return SamplingTranslator(model, tokenizer, options, self.sampling)

    @property
    def candidates_asked(self) -> int:
        """Number of candidates to request per sentence; in a round trip, translations in each direction."""
        is_search = self.sampling is None and self.api is None
        return self.options.num_beams if is_search else 2 * self.num

    @cached_property
    def used_encoder(self) -> str | None:
        """The encoder that measures similarity; None without one for the language."""
        language = self.opened.language
        is_english = language is not None and not are_different(language, "en")
        return self.encoder or (BUILTIN if is_english else None)

    @cached_property
    def _measures(self) -> Measures:
        return Measures(encoder=self.used_encoder, **({} if self.device is None else {"device": self.device}))

    def _measure(self, pairs: Sequence[Mapping[str, Any]]) -> pa.Table:
        names = ["overlap", "bleu", "edit_distance", *([] if self.used_encoder is None else ["similarity"])]
        return add_measures(pa.Table.from_pylist(pairs, schema=self.opened.schema), names, measures=self._measures)

    def check_kept(self) -> None:
        """Refuse columns to keep that have the names of columns of the pairs."""
        own = {*SENTENCES.names, *self._measure([]).column_names} if self.keep else {}
        for name in self.keep:
            if name in own:
                raise UsageError(f"--keep-columns `{name}` is a column of the pairs", remedy="rename it in the input")

    def __call__(self, sentences: Any, num: int | None = None) -> Any:
        """Paraphrase sentences.

        Args:
            sentences: A sentence or several; or, as in a job over rows, a table with the columns `id` and `sentence`.
            num: Maximum number of paraphrases per sentence; by default the number given to the constructor.

        Returns:
            The paraphrases of each sentence, the best first; of a table the table of the pairs.
        """
        num = self.num if num is None else num
        check_counts(num=num)
        if isinstance(sentences, pa.Table | Mapping):
            return super().__call__(sentences)
        texts = list_of_texts(sentences)
        paraphrases: list[list[str]] = [[] for _ in texts]
        for start in range(0, len(texts), _SENTENCES_PER_CALL):
            part = texts[start : start + _SENTENCES_PER_CALL]
            rows = {"id": [str(start + index) for index in range(len(part))], "sentence": part}
            pairs, _ = self.process(pa.table(rows, schema=SENTENCES), num=num)
            for pair in pairs.to_pylist():
                paraphrases[int(pair["id"])].append(pair["sentence2"])
        return paraphrases

    def process(
        self, table: pa.Table, progress: Progress = no_progress, num: int | None = None
    ) -> tuple[pa.Table, Report]:
        """Return the pairs of rows with `id` and `sentence`, with their measures, in the order of rows and ranks.

        The report has the counts named in :attr:`COUNTS` and :attr:`NO_PARAPHRASES`, and as `skipped` the `id` of
        every sentence without a paraphrase and the `reason`.
        """
        num = self.num if num is None else num
        rows = table.select(SENTENCES.names).to_pylist()
        sentences = [row["sentence"] or "" for row in rows]
        outcomes = self.opened.candidates(sentences, self.candidates_asked, progress=progress)
        counts = Counter(dict.fromkeys([*self.COUNTS, *self.NO_PARAPHRASES], 0))
        counts["sentences"] = len(rows)
        pairs: list[dict[str, Any]] = []
        for index, (row, outcome) in enumerate(zip(rows, outcomes, strict=True)):
            for candidate in self._usable(sentences[index], outcome, counts):
                pair = {"index": index, "id": row["id"], "sentence1": row["sentence"], "sentence2": candidate.text}
                pairs.append({**pair, **candidate._asdict()})
        measured = self._measure(pairs)
        kept: list[list[dict[str, Any]]] = [[] for _ in rows]
        for pair, measures in zip(pairs, measured.to_pylist(), strict=True):
            if measures["edit_distance"] < self.min_edit_distance:
                counts["near_copies"] += 1
            elif measures.get("similarity", math.inf) < self.min_similarity:
                counts["dissimilar"] += 1
            else:
                kept[pair["index"]].append({**pair, **measures})
        chosen = [pair for own in kept for pair in rank_diverse(own, num, self.min_similarity)]
        counts["pairs"] = len(chosen)
        skipped = [
            {"id": row["id"], "reason": outcome if isinstance(outcome, str) else "no candidate is left"}
            for row, own, outcome in zip(rows, kept, outcomes, strict=True)
            if not own
        ]
        result = pa.Table.from_pylist(chosen, schema=measured.schema)
        indices = pa.array([pair["index"] for pair in chosen], pa.int64())
        for name in self.keep:
            result = result.append_column(name, table.column(name).take(indices))
        return result, {**counts, "skipped": skipped}

    def _usable(self, sentence: str, outcome: list[Candidate] | str, counts: Counter[str]) -> list[Candidate]:
        """Return the distinct candidates that may be paraphrases, and count rejected ones by reason."""
        distinct: dict[str, Candidate] = {}
        for candidate in [] if isinstance(outcome, str) else outcome:
            text = normalize_words(candidate.text)
            if not text:
                counts["empty"] += 1
            elif not candidate.is_finished:
                counts["unfinished"] += 1
            else:
                distinct.setdefault(text, candidate)
        counts["candidates"] += len(distinct)
        usable = []
        writes_freely = self.opened.writes_freely
        for text, candidate in distinct.items():
            if text == normalize_words(sentence):
                counts["copies"] += 1
            elif writes_freely and is_refusal(candidate.text, sentence):
                counts["refusals"] += 1
            elif is_loop(candidate.text) and not is_loop(sentence):
                counts["loops"] += 1
            elif writes_freely and is_other_language(candidate.text, sentence):
                counts["other_language"] += 1
            else:
                usable.append(candidate)
        return usable


def rank_diverse(pairs: Sequence[Mapping[str, Any]], num: int, min_similarity: float) -> list[dict[str, Any]]:
    """Choose up to `num` pairs of one sentence greedily and number them by `rank`.

    The next pair has the highest product of three factors: its probability per token, its similarity minus the
    minimum, and its minimum distance to the sentence and the paraphrases already chosen. A missing probability or
    similarity counts as a factor of 1.
    """
    left = [(pair, count_ngrams(pair["sentence2"])) for pair in pairs]
    seen = [count_ngrams(pairs[0]["sentence1"])] if pairs else []
    chosen: list[dict[str, Any]] = []

    def value(entry: tuple[Mapping[str, Any], Ngrams]) -> tuple[float, float]:
        pair, ngrams = entry
        # The difference to the minimum penalises errors, which are barely similar and differ most in wording.
        similarity = pair["similarity"] - min_similarity if "similarity" in pair else 1.0
        probability, total = _compute_token_probability(pair)
        return probability * similarity * min(compute_distance(ngrams, other) for other in seen), total

    while left and len(chosen) < num:
        best = max(left, key=value)
        left.remove(best)
        seen.append(best[1])
        chosen.append({**best[0], "rank": len(chosen)})
    return chosen


def _compute_token_probability(pair: Mapping[str, Any]) -> tuple[float, float]:
    """Return the geometric mean of the probabilities of the tokens, and the log-probability."""
    if pair.get("round_trip_log_prob") is not None:
        total, tokens = pair["round_trip_log_prob"], pair["num_tokens"] + pair["num_pivot_tokens"] + 2
    elif pair["log_prob"] is not None:
        total, tokens = pair["log_prob"], pair["num_tokens"] + 1
    else:
        return 1.0, 0.0
    return math.exp(total / tokens), total


def count_ngrams(text: str) -> Ngrams:
    """Count words and pairs of words."""
    words = normalize_words(text).split()
    return Counter(word_ngrams(words, 1)) + Counter(word_ngrams(words, 2))


def compute_distance(one: Ngrams, other: Ngrams) -> float:
    """Return 1 − the Dice coefficient of two counts, from 0 to 1."""
    return 1.0 - 2.0 * (one & other).total() / max(1, one.total() + other.total())
