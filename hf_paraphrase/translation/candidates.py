"""Candidate vocabularies: the few target units that a batch of sentences may be translated with (Jean et al. 2015).

:class:`CandidateVocabulary` chooses them, and :func:`restrict_vocabulary` makes a model that can say nothing else:
fewer rows in the output layer, the rest as it is.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from .lexical_table import LexicalTable

_SPECIAL_IDS = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")


class CandidateVocabulary:
    """Chooses the target units for a batch: frequent ones, and likely translations of its source units.

    Args:
        table: The lexical table of the model's units.
        frequent: How many of the most frequent target units are always among them (K; paper 000: 10,000).
        per_unit: How many translations of every source unit are (K'; paper 000: 25).
        always: Units that are among them in any case: the special ones.
    """

    def __init__(self, table: LexicalTable, *, frequent: int, per_unit: int, always: Iterable[int]) -> None:
        self.table = table
        self.per_unit = per_unit
        # Stable, so that of equally frequent units the smaller numbers come first.
        most_frequent = np.argsort(-table.target_counts, kind="stable")[:frequent]
        self.always = np.union1d(most_frequent, np.fromiter(always, dtype=np.int64))

    def for_batch(
        self, input_ids: Sequence[Sequence[int]], references: Sequence[Sequence[int]] | None = None
    ) -> torch.Tensor:
        """Returns the candidates of a batch, one list for all its sentences, in ascending order, (candidates,).

        Args:
            input_ids: Source units of every sentence.
            references: Target units of every reference, if they shall be among the candidates. This is what paper 000
                does, and it tells the search which rare words the reference has.
        """
        unit_lists = [self.always]
        for unit in {unit for ids in input_ids for unit in ids}:
            begin, end = self.table.offsets[unit], self.table.offsets[unit + 1]
            unit_lists.append(self.table.targets[begin : min(end, begin + self.per_unit)].astype(np.int64))
        for units in references or []:
            unit_lists.append(np.asarray(units, dtype=np.int64))
        return torch.from_numpy(np.unique(np.concatenate(unit_lists)))


@torch.no_grad()
def restrict_vocabulary(model: PreTrainedModel, candidates: Tensor) -> PreTrainedModel:
    """Makes a model over some target units with the weights of the given one (Jean et al. 2015 §3.3).

    Only the chosen rows of the output layer and of the target embedding are copied and multiplied. The units of the
    new model are numbered 0, 1, … in the order of `candidates`, so `candidates[units]` are the old ones.

    The model is RNNsearch; the candidates, (candidates,), are in ascending order, padding, start and end among them.
    """
    candidates = candidates.to(model.device)
    if not bool((candidates.diff() > 0).all()):
        raise ValueError("candidates must be in ascending order, each once")
    restricted = _shallow_copy(model)
    restricted.config = copy.copy(model.config)
    restricted.generation_config = copy.deepcopy(model.generation_config)
    for settings in (restricted.config, restricted.generation_config):
        for name in _SPECIAL_IDS:
            value = getattr(settings, name, None)
            if value is not None:
                setattr(settings, name, _renumbered(value, candidates))
    restricted.config.vocab_size = len(candidates)
    decoder = _shallow_copy(model.decoder)
    decoder.embeddings = nn.Embedding.from_pretrained(model.decoder.embeddings.weight[candidates])
    restricted.decoder = decoder
    output = nn.utils.skip_init(nn.Linear, model.lm_head.in_features, len(candidates), device=model.device)
    output.weight = nn.Parameter(model.lm_head.weight[candidates], requires_grad=False)
    output.bias = nn.Parameter(model.lm_head.bias[candidates], requires_grad=False)
    restricted.lm_head = output
    return restricted


def _shallow_copy(module: Any) -> Any:
    """Copies a module but none of its parts, so that putting in other parts leaves the original as it was."""
    copied = copy.copy(module)
    copied._modules = dict(module._modules)
    return copied


def _renumbered(value: int | list[int], candidates: Tensor) -> int | list[int]:
    if isinstance(value, list):
        return [number for item in value for number in [_renumbered(item, candidates)] if isinstance(number, int)]
    place = int(torch.searchsorted(candidates, value))
    if place == len(candidates) or int(candidates[place]) != value:
        raise ValueError(f"unit {value}, a special token, is not among the candidates")
    return place
