"""Tables of bitext into tables of n-best English paraphrase pairs (paper 000 §3)."""

from __future__ import annotations

import copy
import math
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from threading import Event
from typing import Any, NamedTuple

import pyarrow as pa
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..data.batch_function import Progress, no_progress
from ..data.schema import BACK_TRANSLATED
from ..errors import ModelError
from ..training.threads import in_threads, one_thread
from .beam_search import Hypothesis, search_batches, translate_batch
from .bitext import normalize_punctuation
from .candidates import CandidateVocabulary
from .constraints import SearchConstraints
from .decoder_steps import DecoderMatrices
from .fast_search import fast_search_applies
from .int8_products import int8_is_fast
from .lexical_table import LexicalTable

COLUMNS = ["id", "source", "target", "source_lang"]
"""The columns of a bitext that are read."""
_SENTENCES_PER_BATCH = 64
"""Most sentences that a processor searches for at once; with more a narrow beam would be one batch for one thread."""
MOST_THREADS = 8
"""More threads than this wait for Python's lock more than they compute; more processes help then."""
MOST_PLAIN_THREADS = 2
"""The same for a search by `generate` itself, of which a batch may need more than a gibibyte."""
_ORDINARY_UNITS = 20
"""Units of the source by which a broken model or device is distinguished from sentences that are too much for it."""


@dataclass(frozen=True)
class SearchOptions:
    """Settings of the search; together with the model and the sentences they determine every byte of the result.

    Attributes:
        num_beams: Beam width.
        num_return_sequences: Length of the n-best list.
        length_penalty: Exponent of the length by which a total log-probability is divided to rank it.
        max_source_tokens: Longer sources are skipped, in sub-word units.
        bf16: Whether to search in bfloat16; scores are computed in fp32 either way.
        int8: Whether the decoder multiplies in 8 bits besides, see :mod:`.int8_products`; with `bf16`, one model and
            more than one beam.
        constraints: Length limits and bans.
        candidates_frequent: How many of the most frequent target units may be used; all units if not given.
        candidates_per_unit: How many likely translations of every source unit may be used besides.
        candidates_from_reference: Whether the units of the references may be used besides (as in paper 000; it tells
            the search what it should find).
    """

    num_beams: int = 50
    num_return_sequences: int = 50
    length_penalty: float = 1.0
    max_source_tokens: int = 250
    bf16: bool = False
    int8: bool = False
    constraints: SearchConstraints = SearchConstraints()
    candidates_frequent: int | None = None
    candidates_per_unit: int | None = None
    candidates_from_reference: bool = False


class _Batch(NamedTuple):
    """Sentences that are searched for together: their rows, their units, and the target units that may be used."""

    indices: list[int]
    input_ids: list[list[int]]
    candidates: torch.Tensor | None


class TableTranslator:
    """Translates tables of bitext into tables of back-translated pairs, with a model that is open.

    Args:
        model: The translation model, in fp32.
        tokenizer: Its tokenizer.
        options: The settings of the search.
        table: The lexical table from which candidate vocabularies are chosen, if the options want them.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        options: SearchOptions,
        table: LexicalTable | None = None,
    ) -> None:
        self.model = model.eval()
        fast = fast_search_applies(model)
        if options.int8 and not (fast and options.bf16):
            raise ValueError("int8 is for one RNNsearch model, and bf16 besides")
        self.search_model = copy.deepcopy(model).to(torch.bfloat16) if options.bf16 else model
        self.tokenizer = tokenizer
        self.options = options
        self.threads = threads_for(model.device, fast=fast)
        if options.int8 and not int8_is_fast(model.device.type):
            raise ModelError(
                f"{model.device} has no instructions for products in 8 bits",
                remedy="another --precision, such as auto",
            )
        self.matrices = DecoderMatrices(self.search_model, int8=options.int8) if fast else None
        self.lower_case = bool(getattr(model.config, "lowercase", False))
        self.stop = Event()
        self.translatable: list[int] = []
        self.vocabulary: CandidateVocabulary | None = None
        if table is not None:
            self.vocabulary = CandidateVocabulary(
                table,
                frequent=options.candidates_frequent or 0,
                per_unit=options.candidates_per_unit or 0,
                always=tokenizer.all_special_ids,
            )

    def translate_table(
        self, bitext: pa.Table, progress: Progress = no_progress
    ) -> tuple[pa.Table, list[dict[str, str]]]:
        """Translates some rows of a bitext.

        Args:
            bitext: Rows with `id`, `source`, `target` and `source_lang`.
            progress: Called with the number of sentences done since the last call.

        Returns:
            The pairs in the order of the rows and their ranks, and for every row that has none its `id` and `reason`.

        Raises:
            ModelError: If the search fails for every row, or after a failure for one that was translated before.
        """
        rows = bitext.select(COLUMNS).to_pylist()
        reasons, input_ids = self._tokenize(rows)
        translated: dict[int, list[Hypothesis]] = {}
        todo = [index for index in range(len(rows)) if index not in reasons]
        progress(len(rows) - len(todo))
        lengths = [len(input_ids[index]) for index in todo]
        # Of a wide beam so many rows are in a batch anyway; of a narrow one threads would have none to share.
        sentences = _SENTENCES_PER_BATCH if self.model.device.type == "cpu" else None
        index_batches = search_batches(self.search_model, lengths, self.options.num_beams, sentences=sentences)
        batches = [self._batch([todo[position] for position in batch], rows, input_ids) for batch in index_batches]
        with one_thread(), closing(self._outcomes(batches)) as outcomes:
            for batch, outcome in outcomes:
                nbests = self._one_by_one(batch) if outcome is None else outcome
                for index, nbest in zip(batch.indices, nbests, strict=True):
                    if isinstance(nbest, str):
                        reasons[index] = nbest
                    else:
                        translated[index] = nbest
                        self.translatable = input_ids[index]
                progress(len(batch.indices))
            if failed := [index for index in todo if index in reasons]:
                self._check_search(
                    f"{len(failed)} of {len(rows)} sentences cannot be translated: {reasons[failed[0]]}"
                )
        columns: dict[str, list[Any]] = {name: [] for name in BACK_TRANSLATED.names}
        for index in sorted(translated):
            # What was cut at the length limit has no end, so its score cannot be compared and its text stops anywhere.
            ended = [item for item in translated[index] if item.finished]
            # Several segmentations may spell the same text: the best one stands for it.
            hypotheses = list({item.text: item for item in reversed(ended) if item.text}.values())[::-1]
            hypotheses.sort(key=ended.index)
            if not ended:
                reasons[index] = "no translation ends within the length limit"
            elif not hypotheses:
                reasons[index] = "the model translates it into nothing"
            # Of a model that writes no capitals both sides of a pair have none, or case would distinguish them.
            reference = rows[index]["target"].lower() if self.lower_case else rows[index]["target"]
            for rank, hypothesis in enumerate(hypotheses):
                values = (
                    rows[index]["id"],
                    reference,
                    hypothesis.text,
                    rows[index]["source"],
                    rows[index]["source_lang"],
                    rank,
                    hypothesis.log_prob,
                    hypothesis.num_tokens,
                )
                for name, value in zip(BACK_TRANSLATED.names, values, strict=True):
                    columns[name].append(value)
        skipped = [{"id": rows[index]["id"], "reason": reasons[index]} for index in sorted(reasons)]
        return pa.Table.from_pydict(columns, schema=BACK_TRANSLATED), skipped

    def _tokenize(self, rows: Sequence[dict[str, Any]]) -> tuple[dict[int, str], list[list[int]]]:
        if not rows:
            return {}, []
        sources = normalize_punctuation([row["source"] or "" for row in rows], rows[0]["source_lang"] or "en")
        input_ids = [list(ids) for ids in self.tokenizer(sources)["input_ids"]]
        reasons: dict[int, str] = {}
        for index, (row, ids) in enumerate(zip(rows, input_ids, strict=True)):
            if not (row["target"] or "").strip():
                reasons[index] = "empty reference"
            elif len(ids) <= 1:
                reasons[index] = "empty source"
            elif len(ids) > self.options.max_source_tokens:
                reasons[index] = f"source of {len(ids)} units, more than {self.options.max_source_tokens}"
        return reasons, input_ids

    def _batch(self, indices: list[int], rows: Sequence[dict[str, Any]], input_ids: Sequence[list[int]]) -> _Batch:
        chosen = [input_ids[index] for index in indices]
        if self.vocabulary is None:
            return _Batch(indices, chosen, None)
        units = None
        if self.options.candidates_from_reference:
            units = self.tokenizer(text_target=[rows[index]["target"] for index in indices])["input_ids"]
        return _Batch(indices, chosen, self.vocabulary.for_batch(chosen, units))

    def _outcomes(self, batches: Sequence[_Batch]) -> Generator[tuple[_Batch, list[list[Hypothesis]] | None]]:
        """Yields batches with their n-best lists, in their order, and behind these the batches whose search failed."""
        failed: list[tuple[_Batch, None]] = []
        self.stop.clear()
        try:
            outcomes = in_threads(
                lambda batch: self._attempt(batch.input_ids, batch.candidates), batches, self.threads
            )
            for batch, outcome in zip(batches, outcomes, strict=True):
                if isinstance(outcome, str):
                    failed.append((batch, None))
                else:
                    yield batch, outcome
        except BaseException:
            # An interruption need not wait for the batches under way.
            self.stop.set()
            raise
        yield from failed

    def _one_by_one(self, batch: _Batch) -> list[list[Hypothesis] | str]:
        """Searches for each sentence of a batch alone, with nothing else in memory; gives the reasons of failures."""
        # The candidates stay those of the whole batch, so that all but the sentence by which it failed are translated
        # as if it had not.
        outcomes = [self._attempt([ids], batch.candidates) for ids in batch.input_ids]
        return [outcome if isinstance(outcome, str) else outcome[0] for outcome in outcomes]

    def _attempt(
        self, input_ids: Sequence[list[int]], candidates: torch.Tensor | None
    ) -> list[list[Hypothesis]] | str:
        # The error ends here: its traceback would keep the tensors of the batch in memory during the next attempt.
        try:
            hypotheses = self._search(input_ids, candidates)
            if not all(math.isfinite(item.log_prob) for nbest in hypotheses for item in nbest):
                return "the search failed: the model's probabilities are not finite"
            return hypotheses
        except (MemoryError, torch.OutOfMemoryError):
            return "the search ran out of memory"
        except RuntimeError as error:
            return f"the search failed: {(str(error).splitlines() or [type(error).__name__])[0][:200]}"

    def _check_search(self, failure: str) -> None:
        """Distinguishes sentences that cannot be translated from a model or a device that no longer works."""
        if isinstance(self._attempt([self.translatable or self._ordinary_source()], None), str):
            raise ModelError(
                f"{failure}; nor can any other",
                path=self.model.name_or_path or None,
                remedy="try the model with evaluate-nmt, or fewer beams if memory ran out",
            )

    def _ordinary_source(self) -> list[int]:
        """Makes a source as long as most sentences, of the first units that are not special."""
        special = set(self.tokenizer.all_special_ids)
        units = [unit for unit in range(int(self.model.config.source_vocab_size)) if unit not in special]
        return [*(units * _ORDINARY_UNITS)[:_ORDINARY_UNITS], int(self.tokenizer.eos_token_id)]

    def _search(self, input_ids: Sequence[list[int]], candidates: torch.Tensor | None) -> list[list[Hypothesis]]:
        options = self.options
        return translate_batch(
            self.search_model,
            self.tokenizer,
            input_ids,
            num_beams=options.num_beams,
            num_return_sequences=options.num_return_sequences,
            length_penalty=options.length_penalty,
            constraints=options.constraints,
            candidates=candidates,
            scorer=self.model,
            matrices=self.matrices,
            stop=self.stop,
        )


def threads_for(device: torch.device, *, fast: bool = True) -> int:
    """Returns how many batches are worked on at once: on a processor one a thread of PyTorch, elsewhere one."""
    most = MOST_THREADS if fast else MOST_PLAIN_THREADS
    return min(most, torch.get_num_threads()) if device.type == "cpu" else 1
