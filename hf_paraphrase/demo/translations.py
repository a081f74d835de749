"""One sentence translated: its n-best list with measures, and where the model looked for each unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.schema import BITEXT
from ..errors import InputError
from ..filtering.measuring import add_measures

MEASURES = ("overlap", "bleu", "cost")
_OF_A_REFERENCE = ("overlap_1", "overlap_2", "overlap_3", "bleu")
_NO_REFERENCE = "-"


@dataclass(frozen=True)
class Attention:
    """Where the model looked.

    Attributes:
        target: Those of the translation, with the end.
        weights: For each unit of the translation the weights of those of the source (target, source); a row adds up
            to 1.
    """

    source: list[str]
    target: list[str]
    weights: NDArray[np.float32]


def source_language(model: Any) -> str:
    """Returns the language code that a model translates from, by its configuration."""
    return str(getattr(model.config, "source_lang", None) or "en")


def nbest_list(model: Any, tokenizer: Any, source: str, reference: str, *, beams: int) -> pa.Table:
    """Translates a sentence into as many translations as the beam is wide.

    Returns:
        The columns of back-translated pairs and of :data:`MEASURES`, the best translation first; without a reference
        `sentence1` is empty, and the measures that need it are NaN.
    """
    from ..translation.back_translator import back_translated
    from ..translation.search_settings import SearchOptions
    from ..translation.translator import Translator

    options = SearchOptions(num_beams=beams, num_return_sequences=beams)
    row = (
        "1",
        source,
        reference or _NO_REFERENCE,
        source_language(model),
        str(getattr(model.config, "target_lang", None) or "en"),
    )
    bitext = pa.table(dict(zip(BITEXT.names, ([value] for value in row), strict=True)), schema=BITEXT)
    pairs, report = back_translated(Translator(model, tokenizer, options), bitext)
    if not pairs.num_rows:
        raise InputError(f"there is no translation: {report['skipped'][0]['reason']}", remedy="type another sentence")
    measured = add_measures(pairs, MEASURES)
    if reference:
        return measured
    nothing = {"sentence1": pa.array([""] * pairs.num_rows)}
    nothing |= {name: pa.array([float("nan")] * pairs.num_rows) for name in _OF_A_REFERENCE}
    for name, values in nothing.items():
        measured = measured.set_column(measured.schema.get_field_index(name), name, values)
    return measured


def attention(model: Any, tokenizer: Any, source: str, translation: str) -> Attention:
    """Computes where the model looks while it reads out a translation, cut into units as its tokenizer cuts it."""
    import torch

    from ..translation.bitext import normalized_sources
    from ..translation.loading import decoder_start, end_units, source_units, target_units

    sources = normalized_sources(model, [source], source_language(model))
    (source_ids,) = source_units(model, tokenizer, sources, truncation=True)
    start = decoder_start(model)
    target_ids = [*target_units(tokenizer, [translation])[0], end_units(model, tokenizer)[0]]
    if model.config.model_type != "rnn_search":
        # Faster kernels keep no weights.
        model.set_attn_implementation("eager")
    with torch.inference_mode():
        output = model(
            input_ids=torch.tensor([source_ids], device=model.device),
            attention_mask=torch.ones(1, len(source_ids), dtype=torch.long, device=model.device),
            decoder_input_ids=torch.tensor([[*start, *target_ids[:-1]]], device=model.device),
            use_cache=False,
            output_attentions=True,
            return_dict=True,
        )
    backend = getattr(tokenizer, "source_tokenizer", None)
    names = tokenizer.convert_ids_to_tokens(source_ids)
    if backend is not None:
        names = [backend.id_to_token(number) for number in source_ids]
    weights = output.cross_attentions[-1][0].float()
    if weights.dim() == 3:
        # Of a model with several heads, their mean in the last layer.
        weights = weights.mean(0)
    return Attention(names, tokenizer.convert_ids_to_tokens(target_ids), weights[len(start) - 1 :].cpu().numpy())
