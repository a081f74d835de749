"""A translation model that can only say some of its words: fewer rows in the output layer, the rest as it is."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from .ensemble import RnnSearchEnsemble

_SPECIAL_IDS = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")


@torch.no_grad()
def restrict_vocabulary(model: PreTrainedModel, candidates: Tensor) -> PreTrainedModel:
    """Makes a model over some target units with the weights of the given one (Jean et al. 2015 §3.3).

    Only the chosen rows of the output layer and of the target embedding are copied and multiplied. The units of the
    new model are numbered 0, 1, … in the order of `candidates`, so `candidates[units]` are the old ones.

    Args:
        model: An RNNsearch model or an ensemble of them.
        candidates: Ids of target units in ascending order without repetition, (candidates,); the padding, start and
            end token must be among them.

    Raises:
        ValueError: If `candidates` are not ascending, or lack a special token.
    """
    if isinstance(model, RnnSearchEnsemble):
        members: list[Any] = [restrict_vocabulary(member, candidates) for member in model.members]
        return RnnSearchEnsemble(members).train(model.training)
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
