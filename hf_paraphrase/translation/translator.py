"""Translates sentences into n-best lists with an open model: batches in threads, and the reasons of failures."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from contextlib import closing

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..data.batch_function import Progress, no_progress
from ..encoders.backends.padded_batches import evaluation_mode
from ..errors import InputError, ModelError, UsageError
from ..models.stepwise_decoder import StepwiseDecoder
from ..text.normalization import is_blank
from ..threads import in_threads, one_thread
from ..tokenization.fast_tokenize import list_of_texts
from .beam_search import Hypothesis, search_batches, translate_batch
from .bitext import normalized_sources
from .fast_search import fast_search_applies, is_rnn_search, unusual_settings
from .lexical_table import CandidateVocabulary, LexicalTable, tokenizer_fingerprint
from .loading import encode_sources, source_limit
from .search_settings import MAX_LENGTH_RATIO, BeamSearchConfig

_MAX_SENTENCES = 64
"""Sentences per batch on a CPU. A narrow beam would put more into one batch and leave threads idle."""
_MAX_THREADS = 8
"""More threads wait for Python's lock more than they compute. More processes help then."""
_MAX_PLAIN_THREADS = 2
"""The same for a search by `generate`, in which a batch may need more than a gibibyte."""


class Translator:
    """Translates sentences into n-best lists, with an open model in fp32.

    `lexical_table` is the file of a lexical table for the candidate vocabularies of the options.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        options: BeamSearchConfig,
        lexical_table: str | None = None,
    ) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.options = options
        self.vocabulary: CandidateVocabulary | None = None
        if lexical_table is not None:
            self.vocabulary = _candidate_vocabulary(lexical_table, model, tokenizer, options)
        self.search_model = copy.deepcopy(model).to(torch.bfloat16) if options.bf16 else model
        is_fast, self.is_on_cpu = fast_search_applies(model), model.device.type == "cpu"
        self.steps = StepwiseDecoder.for_search(self.search_model) if is_fast else None
        # On a CPU each thread of PyTorch searches its own batch.
        max_threads = _MAX_THREADS if is_fast else _MAX_PLAIN_THREADS
        self.threads = min(max_threads, torch.get_num_threads()) if self.is_on_cpu else 1

    def translate(self, sources: Sequence[str], *, progress: Progress = no_progress) -> list[str]:
        """Translate normalized sources into one text each; long sources are truncated, blank ones stay empty."""
        input_ids = encode_sources(self.model, self.tokenizer, sources, truncation=True)
        translations = [""] * len(sources)
        # Batches leave out texts without tokens.
        for rows in search_batches(self.search_model, list(map(len, input_ids)), self.options.num_beams):
            batch = [input_ids[row] for row in rows]
            steps = self._decoder_for(batch)
            nbest_lists = translate_batch(self.search_model, self.tokenizer, batch, self.options, steps=steps)
            for row, nbest in zip(rows, nbest_lists, strict=True):
                translations[row] = nbest[0].text
            progress(len(rows))
        return translations

    def _decoder_for(
        self, input_ids: list[list[int]], references: Sequence[Sequence[int]] | None = None
    ) -> StepwiseDecoder | None:
        """Return the decoder of RNNsearch with the candidates of a batch; None for other models."""
        if self.steps is None or self.vocabulary is None:
            return self.steps
        own = map(self.vocabulary.for_sentence, input_ids, references or [()] * len(input_ids))
        candidates, excluded = self.vocabulary.for_batch(list(own))
        return self.steps.restricted(torch.from_numpy(candidates), torch.from_numpy(excluded))

    def nbest_lists(
        self,
        sources: Sequence[str],
        language: str | None = None,
        *,
        references: Sequence[str] | None = None,
        progress: Progress = no_progress,
    ) -> list[list[Hypothesis] | str]:
        """Translate sentences.

        Args:
            sources: The sentences. Blank sentences are not translated.
            language: Their language, for the normalization of RNNsearch.
            references: Their references, whose tokens become candidates; None for none.
            progress: Called with the number of sentences done since the last call.

        Returns:
            For every sentence its translations, best first, as distinct texts that end within the length limit; or the
            reason why there are none.
        """
        sources = normalized_sources(self.model, list_of_texts(sources), language)
        input_ids = encode_sources(self.model, self.tokenizer, sources)
        limit = min(self.options.max_source_tokens, source_limit(self.model, self.tokenizer) or math.inf)
        outcomes: list[list[Hypothesis] | str] = [
            f"source of {len(ids)} subwords, more than {limit}" if ids else "empty source" for ids in input_ids
        ]
        rows = [row for row, ids in enumerate(input_ids) if 0 < len(ids) <= limit]
        progress(len(sources) - len(rows))
        lengths = [len(input_ids[row]) for row in rows]
        size = _MAX_SENTENCES if self.is_on_cpu else None
        parts = search_batches(self.search_model, lengths, self.options.num_beams, max_sentences=size)
        batches = [[rows[index] for index in part] for part in parts]
        reference_ids: list[Sequence[int]] | None = None
        if references and self.vocabulary is not None:
            reference_ids = self.tokenizer(text_target=list(references), add_special_tokens=False)["input_ids"]

        def search(batch: list[int]) -> list[list[Hypothesis] | str]:
            own = None if reference_ids is None else [reference_ids[row] for row in batch]
            return self.search_batch([input_ids[row] for row in batch], own)

        with one_thread(), closing(in_threads(search, batches, self.threads)) as searched:
            for batch, outcomes_of_batch in zip(batches, searched, strict=True):
                for row, outcome in zip(batch, outcomes_of_batch, strict=True):
                    outcomes[row] = outcome
                progress(len(batch))
        return outcomes

    def search_batch(
        self, input_ids: list[list[int]], references: list[Sequence[int]] | None
    ) -> list[list[Hypothesis] | str]:
        """Search for a batch; if memory runs out, sentence by sentence."""
        try:
            steps = self._decoder_for(input_ids, references)
            nbest_lists = translate_batch(
                self.search_model, self.tokenizer, input_ids, self.options, scorer=self.model, steps=steps
            )
        except (MemoryError, RuntimeError) as error:
            # On a CPU PyTorch raises a plain RuntimeError.
            is_memory = isinstance(error, MemoryError | torch.OutOfMemoryError)
            if not is_memory and "can't allocate memory" not in str(error):
                raise
        else:
            if not all(math.isfinite(hypothesis.log_prob) for nbest in nbest_lists for hypothesis in nbest):
                path, remedy = self.model.name_or_path or None, "try it with evaluate-nmt, or --precision fp32"
                raise ModelError("the model's probabilities are not finite", path=path, remedy=remedy)
            return [choose_usable(nbest) for nbest in nbest_lists]
        # Only here the memory that the error refers to is free again.
        if len(input_ids) == 1:
            return ["the search ran out of memory"]
        alone = [None] * len(input_ids) if references is None else [[own] for own in references]
        return [self.search_batch([ids], own)[0] for ids, own in zip(input_ids, alone, strict=True)]


def translate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: str | Sequence[str],
    *,
    num_beams: int = 5,
    length_penalty: float = 1.0,
    max_length_ratio: float = MAX_LENGTH_RATIO,
    progress: Progress = no_progress,
) -> list[str]:
    """Translate one text or several into a list of translations; the translation of a blank text is empty.

    Args:
        model: The model, which is set to evaluation mode for the call.
        tokenizer: Its tokenizer.
        texts: The sources. A text that is longer than the model reads is truncated.
        num_beams: The beam width; like the next two a setting of :class:`.BeamSearchConfig`.
        length_penalty: The exponent of the length in ranking.
        max_length_ratio: The maximum length of a translation.
        progress: Called with the number of sentences done since the last call.
    """
    texts = list_of_texts(texts)
    options = BeamSearchConfig(num_beams, 1, length_penalty=length_penalty, max_length_ratio=max_length_ratio)
    with evaluation_mode(model):
        return Translator(model, tokenizer, options).translate(texts, progress=progress)


def choose_usable(nbest: Sequence[Hypothesis]) -> list[Hypothesis] | str:
    """Return the finished translations that are not blank, each text once; or the reason why there are none."""
    # A translation without an end token has a score that cannot be compared.
    finished = [hypothesis for hypothesis in nbest if hypothesis.finished]
    if not finished:
        return "no translation ends within the length limit"
    # Several segmentations may spell the same text: the best is used.
    by_text: dict[str, Hypothesis] = {}
    for hypothesis in finished:
        by_text.setdefault(hypothesis.text, hypothesis)
    return [own for text, own in by_text.items() if not is_blank(text)] or "the model's translation is empty"


def _candidate_vocabulary(
    path: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, options: BeamSearchConfig
) -> CandidateVocabulary:
    """Open a lexical table, and check that it was made with the tokenizer of the model."""
    if not is_rnn_search(model):
        raise UsageError("--lexical-table is for RNNsearch models", path=path, remedy="leave it out")
    if unusual := unusual_settings(model):
        problem = f"--lexical-table does not go with {', '.join(unusual)} of the model's generation_config.json"
        raise UsageError(problem, path=path, remedy="leave out one of them")
    table, config = LexicalTable.load(path), model.config
    sizes = len(table.offsets) - 1, len(table.target_counts)
    same_sizes = sizes == (config.source_vocab_size, config.vocab_size)
    if not same_sizes or table.units not in {None, tokenizer_fingerprint(tokenizer)}:
        problem = f"the lexical table has the subwords of another model than {model.name_or_path}"
        raise InputError(problem, path=path, remedy="make one for this model with the command lexical-table")
    return CandidateVocabulary(
        table,
        frequent=options.candidates_frequent or 0,
        per_unit=options.candidates_per_unit or 0,
        always=tokenizer.all_special_ids,
    )
