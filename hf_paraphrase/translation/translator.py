"""Sentences into n-best lists with an open model: batches in threads, failures explained."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from contextlib import closing

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..data.batch_function import Progress, no_progress
from ..errors import InputError, ModelError, UsageError
from ..models.stepwise_decoder import StepwiseDecoder
from ..text.normalization import is_blank
from ..threads import in_threads, one_thread
from .beam_search import Hypothesis, search_batches, translate, translate_batch
from .bitext import normalized_sources
from .fast_search import fast_search_applies, is_rnn_search, unusual_settings
from .lexical_table import CandidateVocabulary, LexicalTable, unit_fingerprint
from .loading import encode_sources, source_limit
from .search_settings import BeamSearchConfig

_SENTENCES_PER_BATCH = 64
"""Most sentences that a processor searches for at once; with more a narrow beam would be one batch for one thread."""
_MOST_THREADS = 8
"""More threads than this wait for Python's lock more than they compute; more processes help then."""
_MOST_PLAIN_THREADS = 2
"""The same for a search by `generate` itself, of which a batch may need more than a gibibyte."""


class Translator:
    """Translates sentences into n-best lists, with a model that is open, in fp32.

    The candidate vocabularies of the options are chosen from the file of a lexical table.
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
        self.vocabulary = None
        if lexical_table is not None:
            self.vocabulary = _candidate_vocabulary(lexical_table, model, tokenizer, options)
        self.search_model = copy.deepcopy(model).to(torch.bfloat16) if options.bf16 else model
        is_fast, is_on_cpu = fast_search_applies(model), model.device.type == "cpu"
        self.steps = StepwiseDecoder.for_search(self.search_model) if is_fast else None
        # On a processor each thread of PyTorch works on a batch of its own.
        most = _MOST_THREADS if is_fast else _MOST_PLAIN_THREADS
        self.threads = min(most, torch.get_num_threads()) if is_on_cpu else 1

    def translate(self, sources: Sequence[str], *, progress: Progress = no_progress) -> list[str]:
        """Translate sources, normalized where the model needs it, into one text each; see :func:`.translate`."""
        return translate(
            self.search_model,
            self.tokenizer,
            sources,
            options=self.options,
            decoder_for=self._decoder_for,
            progress=progress,
        )

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
            sources: The sentences; for a blank one there is no search.
            language: Their language, for the normalisation of RNNsearch.
            references: Their references, whose tokens are candidates too; None for none.
            progress: Called with the number of sentences done since the last call.

        Returns:
            For every sentence its translations, distinct texts that end within the limit, best first; or the reason
            why there are none.
        """
        sources = normalized_sources(self.model, sources, language)
        input_ids = encode_sources(self.model, self.tokenizer, sources)
        longest = min(self.options.max_source_tokens, source_limit(self.model, self.tokenizer) or math.inf)
        outcomes: list[list[Hypothesis] | str] = [
            f"source of {len(ids)} units, more than {longest}" if ids else "empty source" for ids in input_ids
        ]
        todo = [index for index, ids in enumerate(input_ids) if 0 < len(ids) <= longest]
        progress(len(sources) - len(todo))
        # With a wide beam a batch has enough rows; with a narrow beam one batch would leave threads without work.
        most = {"sentences": _SENTENCES_PER_BATCH} if self.model.device.type == "cpu" else {}
        lengths = [len(input_ids[index]) for index in todo]
        parts = search_batches(self.search_model, lengths, self.options.num_beams, **most)
        batches = [[todo[place] for place in part] for part in parts]

        reference_ids: list[Sequence[int]] | None = None
        if references and self.vocabulary is not None:
            reference_ids = self.tokenizer(text_target=list(references), add_special_tokens=False)["input_ids"]

        def search(indices: list[int]) -> list[list[Hypothesis] | str]:
            return self.search_batch(
                [input_ids[index] for index in indices],
                None if reference_ids is None else [reference_ids[index] for index in indices],
            )

        with one_thread(), closing(in_threads(search, batches, self.threads)) as searched:
            for indices, found in zip(batches, searched, strict=True):
                for index, outcome in zip(indices, found, strict=True):
                    outcomes[index] = outcome
                progress(len(indices))
        return outcomes

    def search_batch(
        self, input_ids: list[list[int]], references: list[Sequence[int]] | None
    ) -> list[list[Hypothesis] | str]:
        """Search for a batch; where there is not enough memory for it, sentence by sentence."""
        try:
            steps = self._decoder_for(input_ids, references)
            nbest_lists = translate_batch(
                self.search_model, self.tokenizer, input_ids, self.options, scorer=self.model, steps=steps
            )
        except (MemoryError, RuntimeError) as error:
            # That of a processor is a plain RuntimeError.
            is_memory = isinstance(error, MemoryError | torch.OutOfMemoryError)
            if not is_memory and "can't allocate memory" not in str(error):
                raise
        else:
            if not all(math.isfinite(item.log_prob) for nbest in nbest_lists for item in nbest):
                path, remedy = self.model.name_or_path or None, "try it with evaluate-nmt, or --precision fp32"
                raise ModelError("the model's probabilities are not finite", path=path, remedy=remedy)
            return [_usable(nbest) for nbest in nbest_lists]
        # Here the memory that the error refers to is free again.
        if len(input_ids) == 1:
            return ["the search ran out of memory"]
        alone = [None] * len(input_ids) if references is None else [[own] for own in references]
        return [self.search_batch([ids], own)[0] for ids, own in zip(input_ids, alone, strict=True)]


def _usable(nbest: Sequence[Hypothesis]) -> list[Hypothesis] | str:
    """Return the translations that have an end and a text, each text once; or why there are none."""
    # A translation cut at the length limit has no end token: its score cannot be compared.
    ended = [item for item in nbest if item.finished]
    # Several segmentations may spell the same text: the best one is kept.
    first: dict[str, Hypothesis] = {}
    for item in ended:
        if not is_blank(item.text):
            first.setdefault(item.text, item)
    if not ended:
        return "no translation ends within the length limit"
    return list(first.values()) or "the model's translation is empty"


def _candidate_vocabulary(
    path: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, options: BeamSearchConfig
) -> CandidateVocabulary:
    """Open a lexical table, which must be about the subwords of the model."""
    if not is_rnn_search(model):
        raise UsageError("--lexical-table is for RNNsearch models", path=path, remedy="leave it out")
    if unusual := unusual_settings(model):
        problem = f"--lexical-table does not go with {', '.join(unusual)} of the model's generation_config.json"
        raise UsageError(problem, path=path, remedy="leave out one of them")
    table, config = LexicalTable.load(path), model.config
    sizes = len(table.offsets) - 1, len(table.target_counts)
    same_sizes = sizes == (config.source_vocab_size, config.vocab_size)
    if not same_sizes or table.units not in {None, unit_fingerprint(tokenizer)}:
        what = f"the lexical table has the subwords of another model than {model.name_or_path}"
        raise InputError(what, path=path, remedy="make one for this model with the verb lexical-table")
    return CandidateVocabulary(
        table,
        frequent=options.candidates_frequent or 0,
        per_unit=options.candidates_per_unit or 0,
        always=tokenizer.all_special_ids,
    )
