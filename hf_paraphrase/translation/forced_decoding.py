"""Scores translations under a translation model by teacher forcing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutput

from ..encoders.backends.padded_batches import batch_by_length
from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
from ..models.stepwise_decoder import AttentionStep, SourceProjections, StepwiseDecoder
from ..text.normalization import is_blank
from ..tokenization.fast_tokenize import list_of_texts
from ..tokenization.ragged_ids import pad_lists
from .fast_search import is_rnn_search, log_normalizers
from .loading import decoder_prefix_ids, encode_sources, eos_token_ids, positions, source_limit

_ROWS_PER_BATCH = 640
_LOGITS_PER_BATCH = 1 << 27
"""Logits (rows * steps * vocabulary) computed at once when hypotheses are scored: half a gibibyte in fp32."""
_LOGITS_AT_ONCE = 1 << 24
"""Logits (rows * vocabulary) in memory together: 64 MiB in fp32."""
_ENERGIES_AT_ONCE = 1 << 23
"""Elements of the attention's hidden layer (rows * source length * attention) in memory together."""


class TranslationScores(NamedTuple):
    """Log-probabilities and lengths of translations.

    Attributes:
        log_probs: Σ log p of the subwords and the end token in nats, float64 (translations,); NaN where the source or
            the translation is empty or longer than the model reads.
        num_tokens: The number of subwords without the end token, int64 (translations,).
    """

    log_probs: np.ndarray
    num_tokens: np.ndarray


@torch.inference_mode()
def score_translations(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sources: str | Sequence[str],
    translations: str | Sequence[str],
) -> TranslationScores:
    """Compute log p(translation | source) of each pair; a single text is a list of one.

    The tokenizer splits a translation into subwords. Beam search may have composed the same text from other subwords,
    so the scores in its n-best list can differ.
    """
    sources, translations = list_of_texts(sources), list_of_texts(translations)
    log_probs, num_tokens = np.full(len(sources), np.nan), np.zeros(len(sources), dtype=np.int64)
    if not sources:
        return TranslationScores(log_probs, num_tokens)
    input_ids = encode_sources(model, tokenizer, sources)
    subwords = tokenizer(text_target=translations, add_special_tokens=False, verbose=False)["input_ids"]
    num_tokens[:] = [len(row) for row in subwords]
    end = eos_token_ids(model, tokenizer)[0]
    max_source = source_limit(model, tokenizer) or np.inf
    max_target = (positions(model) or np.inf) - len(decoder_prefix_ids(model))
    fits = np.array([0 < len(ids) <= max_source for ids in input_ids])
    fits &= (num_tokens > 0) & (num_tokens <= max_target) & np.array([not is_blank(text) for text in translations])
    chosen = np.flatnonzero(fits).tolist()
    lengths = [len(subwords[index]) + 1 for index in chosen]
    for batch in scoring_batches(lengths, int(model.config.vocab_size)):
        indices = [chosen[position] for position in batch]
        batch_ids, mask = padded_sources(model, tokenizer, [input_ids[index] for index in indices])
        hypotheses = [[*subwords[index], end] for index in indices]
        log_probs[indices] = hypothesis_scores(model, batch_ids, mask, range(len(indices)), hypotheses)
    return TranslationScores(log_probs, num_tokens)


def padded_sources(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, input_ids: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor]:
    """Return the subwords and the mask of sources (batch, source length) on the device of the model."""
    subwords, mask = map(torch.from_numpy, pad_lists(input_ids, int(tokenizer.pad_token_id)))
    return subwords.to(model.device), mask.long().to(model.device)


@torch.no_grad()
def hypothesis_scores(
    model: PreTrainedModel, sources: Tensor, mask: Tensor, rows: Sequence[int], hypotheses: Sequence[Sequence[int]]
) -> list[float]:
    """Compute Σ log p of the subwords of hypotheses after the tokens that begin every translation.

    The scores of `generate` depend on its precision and its processors. Sources and their mask are (batch, source
    length), `rows` has the source row of each hypothesis.
    """
    if is_rnn_search(model):
        return prefix_tree_scores(model, sources, mask, rows, hypotheses)
    start = decoder_prefix_ids(model)
    own: Any = model
    annotations = own.get_encoder()(input_ids=sources, attention_mask=mask, return_dict=True).last_hidden_state
    scores = [0.0] * len(hypotheses)
    for chosen in scoring_batches([len(subwords) for subwords in hypotheses], int(model.config.vocab_size)):
        filled, _ = pad_lists([[*start, *hypotheses[position]] for position in chosen], -100)
        targets = torch.from_numpy(filled).to(sources.device)
        own_rows = torch.tensor([rows[position] for position in chosen], device=sources.device)
        logits = model(
            encoder_outputs=BaseModelOutput(last_hidden_state=annotations[own_rows]),
            attention_mask=mask[own_rows],
            decoder_input_ids=targets[:, :-1].clamp(min=0),
            use_cache=False,
            return_dict=True,
        ).logits
        logits, targets = logits[:, len(start) - 1 :], targets[:, len(start) :]
        log_probs = logits.float().log_softmax(-1).gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        # On the CPU, because not every device supports double precision.
        totals = log_probs.masked_fill(targets == -100, 0.0).cpu().double().sum(1).tolist()
        for position, total in zip(chosen, totals, strict=True):
            scores[position] = total
    return scores


def scoring_batches(lengths: Sequence[int], vocab_size: int) -> Iterator[list[int]]:
    """Yield indices of hypotheses of similar length in batches whose logits fit in memory; leave empty ones out."""
    return batch_by_length(lengths, _ROWS_PER_BATCH, _LOGITS_PER_BATCH // vocab_size)


# ----- lists of RNNsearch: every source is encoded once, and every distinct prefix of a list is read once


@torch.no_grad()
def prefix_tree_scores(
    model: RnnSearchForConditionalGeneration,
    input_ids: Tensor,
    attention_mask: Tensor,
    sentences: Sequence[int],
    hypotheses: Sequence[Sequence[int]],
) -> list[float]:
    """Compute Σ log p of the subwords of each hypothesis by teacher forcing; 0 for an empty hypothesis.

    `sentences` has the source row of each hypothesis.
    """
    device, vocabulary = input_ids.device, int(model.config.vocab_size)
    annotations = model.encoder(input_ids, attention_mask).last_hidden_state
    steps = StepwiseDecoder.for_search(model)
    projections = model.decoder.project_annotations(annotations, attention_mask)
    source = SourceProjections.for_search(projections, steps.dtype)

    # Depth by depth of the prefix tree. `active` are the hypotheses that are longer than the depth, `rows` their
    # prefixes, `owners` the sentence of each prefix, ascending.
    lengths = np.array([len(subwords) for subwords in hypotheses], dtype=np.int64)
    totals = np.zeros(len(hypotheses))
    active = np.flatnonzero(lengths)
    if not active.size:
        return totals.tolist()
    subwords, _ = pad_lists(hypotheses, 0)
    owners, rows = np.unique(np.asarray(sentences)[active], return_inverse=True)
    state, word_readout = steps.start(annotations)[torch.from_numpy(owners).to(device)], None
    positions_of: list[tuple[np.ndarray, np.ndarray]] = []
    parts: list[Tensor] = []
    for depth in range(int(lengths.max())):
        attended = _attend(steps, state, owners, source)
        readout = attended.readout if word_readout is None else attended.readout + word_readout
        keys = rows * vocabulary + subwords[active, depth]
        distinct, position = np.unique(keys, return_inverse=True)
        positions_of.append((active, position + sum(map(len, parts))))
        parts.append(_log_probs(steps, readout, distinct // vocabulary, distinct % vocabulary))
        longer = lengths[active] > depth + 1
        active = active[longer]
        if active.size:
            distinct, rows = np.unique(keys[longer], return_inverse=True)
            parents, words = distinct // vocabulary, torch.from_numpy(distinct % vocabulary).to(device)
            word_gates, word_readout = steps.read_words(words)
            state = steps.next_state(attended.select(torch.from_numpy(parents).to(device)), word_gates)
            owners = owners[parents]
    # Once for all depths, because it synchronizes with a GPU.
    log_probs = torch.cat(parts).cpu().double().numpy()
    for chosen, position in positions_of:
        totals[chosen] += log_probs[position]
    return totals.tolist()


def _attend(steps: StepwiseDecoder, state: Tensor, sentences: np.ndarray, source: SourceProjections) -> AttentionStep:
    """Attend from decoder states (rows, hidden) ordered by sentence; sentences with equally many rows share a call."""
    # So lists of one hypothesis take one call, and unequal lists need no padding.
    length, size = source.keys.shape[1:]
    owners, first, counts = np.unique(sentences, return_index=True, return_counts=True)
    parts: list[AttentionStep] = []
    order: list[np.ndarray] = []
    for count in np.unique(counts).tolist():
        chosen = np.flatnonzero(counts == count)
        together = max(1, _ENERGIES_AT_ONCE // (length * size * count))
        for start in range(0, len(chosen), together):
            some = chosen[start : start + together]
            rows = (first[some][:, None] + np.arange(count)).ravel()
            order.append(rows)
            own = source.select(torch.from_numpy(owners[some]).to(state.device))
            parts.append(steps.attend(state[torch.from_numpy(rows).to(state.device)], own))
    back = torch.from_numpy(np.argsort(np.concatenate(order))).to(state.device)
    columns = list(zip(*(part[:3] for part in parts), strict=True))
    state, gates, readout = (torch.cat(tensors).index_select(0, back) for tensors in columns)
    return AttentionStep(state, gates, readout, parts[0].weights[:0])


def _log_probs(steps: StepwiseDecoder, readout: Tensor, rows: np.ndarray, subwords: np.ndarray) -> Tensor:
    """Compute the log-probabilities of subwords (continuations,) after ascending rows of readouts."""
    size = max(1, _LOGITS_AT_ONCE // steps.num_outputs)
    parts: list[Tensor] = []
    for start in range(0, len(readout), size):
        logits = steps.logits(readout[start : start + size])
        low, high = np.searchsorted(rows, [start, start + size])
        own = torch.from_numpy(rows[low:high] - start).to(readout.device)
        chosen = torch.from_numpy(subwords[low:high]).to(readout.device)
        parts.append(logits[own, chosen].float() - log_normalizers(logits)[own])
    return torch.cat(parts)
