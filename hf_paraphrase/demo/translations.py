"""One sentence translated: its n-best list with measures, the attention, and the pairs that a person keeps."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..artefacts.artefact import Artefact, Card
from ..artefacts.provenance import read_provenance
from ..data.folder import DataFolder, write_split
from ..data.schema import BACK_TRANSLATED, BITEXT, with_column
from ..errors import InputError, OutputError, UsageError
from ..filtering.measuring import add_measures

MEASURES = ("overlap", "bleu", "cost")
_OF_A_REFERENCE = ("overlap_1", "overlap_2", "overlap_3", "bleu")
_NO_REFERENCE = "-"
_COMMAND = "demo"


@dataclass(frozen=True)
class Attention:
    """The attention of the last layer.

    Attributes:
        source: The units of the source.
        target: The units of the translation, with the end token.
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
    from ..translation.back_translation import back_translated
    from ..translation.search_settings import SearchOptions
    from ..translation.translator import Translator

    options = SearchOptions(num_beams=beams, num_return_sequences=beams)
    languages = source_language(model), str(getattr(model.config, "target_lang", None) or "en")
    row = ("1", source, reference or _NO_REFERENCE, *languages)
    bitext = pa.Table.from_pylist([dict(zip(BITEXT.names, row, strict=True))], schema=BITEXT)
    pairs, report = back_translated(Translator(model, tokenizer, options), bitext)
    if not pairs.num_rows:
        raise InputError(f"there is no translation: {report['skipped'][0]['reason']}", remedy="type another sentence")
    measured = add_measures(pairs, MEASURES)
    if reference:
        return measured
    measured = with_column(measured, "sentence1", pa.array([""] * pairs.num_rows))
    for name in _OF_A_REFERENCE:
        measured = with_column(measured, name, pa.array([float("nan")] * pairs.num_rows))
    return measured


def attention(model: Any, tokenizer: Any, source: str, translation: str) -> Attention:
    """Computes the attention while the model reads a translation, in the units of its tokenizer."""
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
        names = [backend.id_to_token(unit) for unit in source_ids]
    weights = output.cross_attentions[-1][0].float()
    if weights.dim() == 3:
        # Of a model with several heads, their mean.
        weights = weights.mean(0)
    return Attention(names, tokenizer.convert_ids_to_tokens(target_ids), weights[len(start) - 1 :].cpu().numpy())


def keep_pairs(folder: str | os.PathLike[str], pairs: pa.Table, *, model: str) -> int:
    """Adds pairs to a data folder, which is created if necessary; existing pairs are not added again."""
    if not pairs.num_rows:
        raise UsageError("no translation is marked", remedy="mark those to keep")
    if any(not text.strip() for text in pairs.column("sentence1").to_pylist()):
        raise UsageError("a pair needs a reference as its first side", remedy="type it, and translate again")
    path = Path(folder).expanduser()
    rows = pairs.select(BACK_TRANSLATED.names).cast(BACK_TRANSLATED).to_pylist()
    models = [model]
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        record = read_provenance(path) if path.is_dir() else {}
        if record.get("command") != f"hf-paraphrase {_COMMAND}":
            raise OutputError("the folder contains other files", path=path, remedy="give another folder")
        rows = DataFolder(path).table("train", BACK_TRANSLATED.names).to_pylist() + rows
        models = [*record.get("settings", {}).get("models", []), model]
    distinct = {(row["source"], row["sentence1"], row["sentence2"]): row for row in reversed(rows)}
    kept = list(distinct.values())[::-1]
    ids: dict[tuple[str, str], str] = {}
    for row in kept:
        row["id"] = ids.setdefault((row["source"], row["sentence1"]), str(len(ids) + 1))
    models = list(dict.fromkeys(models))
    languages = sorted({"en", *(str(row["source_lang"]) for row in kept)})
    with Artefact(path, command=_COMMAND, settings={"models": models}, overwrite=True) as artefact:
        write_split(artefact.staging, "train", [pa.Table.from_pylist(kept, schema=BACK_TRANSLATED)], BACK_TRANSLATED)
        values = {"title": path.resolve().name, "rows": len(kept), "models": models, "language": languages}
        artefact.finish(results={"pairs": len(kept)}, card=Card("kept", values))
    return len(kept)
